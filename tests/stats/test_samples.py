"""What samples that people reviewed say of all rows: rates by strata, a judge's errors, and corrected scores."""

import math

import numpy as np
import pytest
from scipy import stats

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.judge_errors import Judged, calibration, error_rates
from halluscope.stats.ratios import wilson
from halluscope.stats.samples import Marked, corrected_score
from halluscope.stats.strata import Clustered, Stratum, clustered_error_rate, error_rate

# Rates by strata


def test_the_error_rates_of_table_3():
    """Rows (responses), judgements and errors of THRONE's supplement.

    CHAIR's 8.8 % as printed. THRONE's counts give 4.2 %, as does the paper's own formula; it prints 4.3 %.
    """
    agreed = Stratum(38350, 157, 4)
    chair = error_rate([agreed, Stratum(16650, 477, 111)])
    throne = error_rate([agreed, Stratum(16650, 376, 30)])
    assert (f"{chair['value']:.1%}", f"{throne['value']:.1%}") == ("8.8%", "4.2%")
    for rate in (chair, throne):
        assert 0 < rate["low"] < rate["value"] < rate["high"] < 1
    alone = error_rate([Stratum(10, 20, 3)])
    assert [alone["value"], alone["low"], alone["high"]] == pytest.approx([0.15, *wilson(3, 20)])


def test_judgements_that_err_together_tell_less():
    """Ten judgements per response that all err together give intervals as wide as one judgement per response."""
    wrong = (np.random.default_rng(0).random(200) < 0.2).astype(int)
    together = clustered_error_rate([Clustered(1, np.full(200, 10), 10 * wrong)])
    of_responses = error_rate([Stratum(1, 200, int(wrong.sum()))])
    assert together["value"] == pytest.approx(of_responses["value"])
    width = together["high"] - together["low"]
    assert width == pytest.approx(of_responses["high"] - of_responses["low"], rel=0.1)
    for rows in (3, 0):
        silent = Clustered(1, np.zeros(rows, int), np.zeros(rows, int))
        assert np.isnan([*clustered_error_rate([silent]).values()]).all()


def test_no_error_in_a_stratum_is_no_certainty():
    """Of 9 in 10 rows 20 responses have no error, of the others 10 of 40: Clopper's and Pearson's, put together."""
    strata = [
        Clustered(9, np.full(20, 5), np.zeros(20, int)),
        Clustered(1, np.ones(40, int), np.arange(40) < 10),
    ]
    rate = clustered_error_rate(strata)
    of_others = stats.binomtest(10, 40).proportion_ci()
    above = np.hypot(0.9 * (1 - 0.025 ** (1 / 20)), 0.1 * (of_others.high - 0.25))
    assert rate["value"] == pytest.approx(0.025)
    assert (rate["low"], rate["high"]) == pytest.approx((0.1 * of_others.low, 0.025 + above))


# A judge's errors


def test_weighted_error_rates_by_hand():
    """Four texts with two cells each; a text's weight is 1 / its chance.

    text  weight  judge  people        false yes       false no        wrong yes
    a     2       1 0    1 0           0 of 2          0 of 2          0 of 2
    b     2       1 1    0 1           2 of 2          0 of 2          2 of 4
    c     4       0 0    1 0           0 of 4          4 of 4          -
    d     4       1 -    1 (no label)  -               0 of 4          0 of 4
                                       2 / 8           4 / 12          2 / 10
    """
    weights = np.array([[2, 2], [2, 2], [4, 4], [4, 0]], dtype=float)
    yes = np.array([[1, 0], [1, 1], [0, 0], [1, 1]], dtype=bool)
    implied = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], dtype=bool)
    judged = Judged(yes, implied, weights)
    rates = error_rates({"all": judged, "class/dog": judged.among(np.array([True, False]))}, 0.95)
    overall = rates["all"]
    assert [overall[name] for name in ("labels", "texts", "implied")] == [7, 4, 4]
    values = [overall[name]["value"] for name in ("false_yes", "false_no", "wrong_yes")]
    assert values == pytest.approx([2 / 8, 4 / 12, 2 / 10])
    assert overall["false_yes"]["low"] <= overall["false_yes"]["value"] <= overall["false_yes"]["high"]
    assert rates["class/dog"]["false_yes"]["value"] == 1 and rates["class/dog"]["labels"] == 4


def test_no_error_in_the_sample_is_no_certainty():
    """Clopper's and Pearson's interval, with one trial per text: two labels of a text say hardly more than one."""
    yes = np.ones((5, 2), dtype=bool)
    rates = error_rates({"all": Judged(yes, yes, np.ones((5, 2)))}, 0.95)["all"]
    assert rates["wrong_yes"] == {"value": 0.0, "low": 0.0, "high": pytest.approx(1 - 0.025**0.2)}
    assert math.isnan(rates["false_yes"]["value"]) and math.isnan(rates["false_yes"]["high"])


def test_calibration_by_hand():
    """Two bins: at 0.9 people say yes to 3 of 4 by weight, at 0.2 to all: (4 x 0.15 + 1 x 0.8) / 5 = 0.28."""
    chances = np.array([[0.9, 0.2], [0.9, 0.9]])
    implied = np.array([[1, 1], [0, 1]], dtype=bool)
    result = calibration(chances, implied, np.array([[2.0, 1.0], [1.0, 1.0]]), 0.95)
    assert result["ece"]["value"] == pytest.approx(0.28)
    assert [(row["from"], row["votes"]) for row in result["bins"]] == [(0.2, 1), (0.9, 3)]
    assert result["bins"][1]["implied"] == pytest.approx(0.75)


# A grader's scores


def test_a_share_without_errors_has_jeffreys_interval():
    """Of 60 marked rows none is wrong: Beta(1/2, 60 1/2) reaches from 0 to 0.0411 (Brown, Cai and DasGupta 2001)."""
    rows = np.arange(60)
    marked = Marked(rows, np.zeros(60), np.ones(60), np.ones(60))
    score = corrected_score(np.zeros(60), marked, rows, 1.0, Bootstrap(20_000))
    assert score["value"] == 0
    assert score["low"] == pytest.approx(0, abs=0.001) and score["high"] == pytest.approx(0.0411, abs=0.003)
    few = Marked(rows[:20], np.zeros(20), np.ones(20), np.ones(20))  # too few marks correct nothing
    assert np.isnan(corrected_score(np.zeros(60), few, rows, 1.0, Bootstrap(10))["value"])


def test_a_corrected_score_by_hand():
    """900 rows are judged 0, 100 are judged 1; of 40 marked among each, people give 1 to 4 and to 30."""
    judged = np.repeat([0.0, 1.0], [900, 100])
    rows = np.concatenate([np.arange(40), 900 + np.arange(40)])
    people = np.concatenate([np.arange(40) < 4, np.arange(40) < 30]).astype(float)
    marked = Marked(rows, people, np.ones(80), np.repeat([40 / 900, 40 / 100], 40))
    score = corrected_score(judged, marked, np.arange(1000), 1.0, Bootstrap(2000))
    assert score["value"] == pytest.approx(0.9 * 4 / 40 + 0.1 * 30 / 40)
    # The standard error of a stratified share, with the strata's sizes drawn too (Cochran 1977, 5A.9)
    error = np.sqrt(0.9**2 * 0.1 * 0.9 / 40 + 0.1**2 * 0.75 * 0.25 / 40 + 0.9 * 0.1 * 0.65**2 / 1000)
    assert (score["high"] - score["low"]) / 2 / 1.96 == pytest.approx(error, rel=0.1)


def test_marks_of_a_verdict_stand_for_all_rows_of_that_verdict():
    """900 rows are judged 0 and 100 are judged 1. By luck 80 and 20 were marked, of which people give 1 to 8 and 15."""
    judged = np.repeat([0.0, 1.0], [900, 100])
    rows = np.concatenate([np.arange(80), 900 + np.arange(20)])
    people = np.concatenate([np.arange(80) < 8, np.arange(20) < 15]).astype(float)
    marked = Marked(rows, people, np.ones(100), np.full(100, 0.1))
    score = corrected_score(judged, marked, np.arange(1000), 1.0, Bootstrap(10))
    assert score["value"] == pytest.approx(0.9 * 8 / 80 + 0.1 * 15 / 20)


def test_verdicts_with_few_marks_are_joined():
    """Of 900, 60 and 40 rows judged 0, 1 and 2, 80, 8 and 9 are marked: too few of the last two, each for itself."""
    judged = np.repeat([0.0, 1.0, 2.0], [900, 60, 40])
    rows = np.concatenate([np.arange(80), 900 + np.arange(8), 960 + np.arange(9)])
    people = np.concatenate([np.arange(80) < 8, np.ones(8), np.arange(9) < 5]).astype(float)
    marked = Marked(rows, people, np.ones(97), np.full(97, 0.1))
    score = corrected_score(judged, marked, np.arange(1000), 1.0, Bootstrap(10))
    assert score["value"] == pytest.approx(0.9 * 8 / 80 + 0.1 * 13 / 17)
