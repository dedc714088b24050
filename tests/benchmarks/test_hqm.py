"""HQM: the metric, the command `reliability`, and the shares behind content validity."""

import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope import registry
from halluscope.benchmark import LOWER
from halluscope.benchmarks.hqm import metric as hqm
from halluscope.stats.correlation import by_chance
from halluscope.stats.ratios import wilson

ROOT = Path(__file__).parents[2]


def test_worked_by_hand():
    """Scores 1 2 3 4 and 1 3 2 4: deviations -1.5 -.5 .5 1.5 and -1.5 .5 -.5 1.5.

    Pearson (2.25 - .25 - .25 + 2.25) / 5 = 0.8; Spearman 1 - 6 * 2 / (4 * 15) = 0.8; Kendall (5 - 1) / 6.
    """
    got = hqm.compute(predictions=[1, 2, 3, 4], references=[10, 30, 20, 40], indicator="parallel_forms")
    assert (got["pearson"], got["spearman"], got["kendall"]) == pytest.approx((0.8, 0.8, 4 / 6))
    assert got["models"] == 4 and got["undefined"] is None
    assert got["interval"]["pearson"] == (got["low"], got["high"])
    assert -1 <= got["low"] <= 0.8 <= got["high"] <= 1
    assert "|indicator:parallel_forms|interval:0.95,percentile,5000,seed0|" in got["signature"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=6))
def test_chance_is_a_count_of_orders(pairs):
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert math.isnan(by_chance(x, y))
        return
    found = abs(np.corrcoef(x, y)[0, 1])
    orders = [abs(np.corrcoef(x, np.array(order))[0, 1]) for order in permutations(y)]
    assert by_chance(x, y) == pytest.approx(np.mean([order >= found - 1e-9 for order in orders]))


def test_constant_scores_are_undefined_and_said_so():
    with pytest.warns(
        UserWarning, match="All second scores are 0.5: a correlation with a constant is undefined"
    ):
        got = hqm.compute(predictions=[1, 2, 3], references=[0.5, 0.5, 0.5], indicator="criterion")
    assert "All second scores are 0.5" in got["undefined"]
    assert all(math.isnan(got[name]) for name in ("pearson", "spearman", "kendall", "low", "high", "chance"))


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1, 2], [1, 2], {}, "There are 2 models; a correlation needs at least 3"),
        ([1, 2, math.inf], [1, 2, 3], {}, r"predictions\[2\] is inf; expected a number"),
        ([1, 2, 3], None, {}, "references is None; test_retest needs the models' scores in the second test"),
        ([1, 0, 2], None, {"indicator": "content"}, r"predictions\[2\] is 2; expected 1 for valid"),
    ],
)
def test_bad_input(first, second, options, message):
    with pytest.raises(ValueError, match=message):
        hqm.compute(first, second, **options)


# Content validity


def test_no_intervals():
    got = hqm.compute(predictions=[1, 2, 4], references=[1, 3, 4], bootstrap=0)
    assert math.isnan(got["low"]) and "|interval:no|" in got["signature"]


def test_content_validity():
    """84 of 100, as the paper's POPE. Wilson by hand with z = 1.96: middle (0.84 + 0.019208) / 1.038416."""
    got = hqm.compute(predictions=[1] * 84 + [0] * 16, indicator="content")
    assert got == hqm.compute(predictions=[True] * 84 + [False] * 16, indicator="content")
    assert (got["content"], got["valid"], got["rows"]) == (0.84, 84, 100)
    middle, half = 0.859208 / 1.038416, math.sqrt(0.84 * 0.16 * 0.038416 + 0.038416**2 / 4) / 1.038416
    assert (got["low"], got["high"]) == pytest.approx((middle - half, middle + half), abs=1e-5)
    assert "|indicator:content|interval:0.95,wilson|" in got["signature"]


@given(st.integers(1, 300), st.data())
def test_wilson_is_scipys(total, data):
    stats = pytest.importorskip("scipy.stats")
    count = data.draw(st.integers(0, total))
    expected = stats.binomtest(count, total).proportion_ci(method="wilson")
    assert wilson(count, total) == pytest.approx((expected.low, expected.high), abs=1e-9)


# The command


DIRECTED = [
    (one, name)
    for one in registry.benchmarks()
    for name, score in one.scores.items()
    if score.better and "/" not in name and "*" not in name
]


@pytest.mark.parametrize(("benchmark", "score"), DIRECTED, ids=lambda one: getattr(one, "name", one))
def test_every_score_faces_what_people_say(tmp_path, json_of, benchmark, score):
    """A model that people call better has a better score: the criterion is +1, whichever way either is better."""
    better = {"a": 0.1, "b": 0.2, "c": 0.4}
    worse = {model: 1 - value for model, value in better.items()}
    mine = worse if benchmark.scores[score].better == LOWER else better
    first = results(tmp_path / "first.json", SCORES, f"{benchmark.name}|x", **{score: mine})
    people = results(tmp_path / "people.json", SCORES, "review|x", agree=better, disagree=worse)
    for human in ([], ["--criterion-score", "agree"], ["--criterion-score", "disagree"]):
        command = ["study reliability", first, "--scores", score, "--criterion", people, *human]
        found = json_of(*command, "--bootstrap", 10)
        assert found["criterion"]["pearson"] == pytest.approx(1), human


def test_two_benchmarks_correlate_by_which_models_are_better(tmp_path, ran, json_of):
    higher = results(tmp_path / "a.json", SCORES, "throne|x", **{"f0.5_cls": SCORES})
    lower = results(tmp_path / "b.json", SCORES, "chair|x", chair_i={"a": 0.3, "b": 0.2, "c": 0.1})
    none = results(tmp_path / "c.json", SCORES, "pope|x", yes_ratio={"a": 0.3, "b": 0.2, "c": 0.1})
    r = math.sqrt(27 / 28)
    for files, scores, is_turned, expected in (
        ((higher, lower), ("f0.5_cls", "chair_i"), True, r),
        ((lower, higher), ("chair_i", "f0.5_cls"), True, r),
        ((higher, none), ("f0.5_cls", "yes_ratio"), False, -r),
    ):
        found = json_of("study correlate", *files, "--scores", *scores, "--bootstrap", 9)
        assert found["turned"] == is_turned == ("|turned:" in found["signature"])
        assert found["pearson"]["value"] == pytest.approx(expected)
    constant = results(tmp_path / "d.json", SCORES, "chair|x", chair_i=dict.fromkeys(SCORES, 0.5))
    command = ["study correlate", higher, constant, "--scores", "f0.5_cls", "chair_i", "--bootstrap", 9]
    assert "All second scores are 0.5" in ran(*command).out
    first = results(tmp_path / "e.json", SCORES)
    again = results(tmp_path / "f.json", dict.fromkeys(SCORES, 0.5))
    assert "All second scores are 0.5" in ran("study reliability", first, "--retest", again).out


def test_benchmarks_correlate_by_the_principal_score_of_each(tmp_path, json_of):
    """What is printed is what it would be if both scores were named."""
    throne = results(tmp_path / "a.json", SCORES, "throne|x", **{"f0.5_cls": {"a": 0.1, "b": 0.4, "c": 0.2}})
    chair = results(tmp_path / "b.json", SCORES, "chair|x", chair_i=SCORES)
    command = ["study correlate", throne, chair, "--bootstrap", 9]
    assert json_of(*command) == json_of(*command, "--scores", "f0.5_cls", "chair_i")


def test_a_score_that_is_undefined_for_all_models(tmp_path, refused):
    undefined = dict.fromkeys(SCORES)
    file = results(tmp_path / "first.json", SCORES, "chair|x", chair_i=undefined, other=SCORES)
    for command in (["study reliability", file, "--retest"], ["study correlate", file]):
        assert "chair_i is undefined for 3 of the 3 models, such as a." in refused(*command, file)


def results(path, scores, signature="pope|data:pope-9-0a1b2c3d|parser:strict|version:1", **more):
    rows = []
    for model, accuracy in scores.items():
        row = {"responses": model, "accuracy": accuracy, "signature": signature}
        rows.append(row | {score: values[model] for score, values in more.items()})
    path.write_text(json.dumps(rows))
    return str(path)


SCORES = {"a": 0.5, "b": 0.6, "c": 0.8}
YES = {"a": 0.9, "b": 0.5, "c": 0.4}


@pytest.fixture
def files(tmp_path):
    return {
        "first": results(tmp_path / "first.json", SCORES, yes_ratio=YES),
        # In another order: models are matched by name. 0.5 0.6 0.8 and 0.4 0.5 0.7 lie on a line.
        "retest": results(tmp_path / "retest.json", {"c": 0.7, "a": 0.4, "b": 0.5}, yes_ratio=YES),
        # Deviations -2/15 -1/30 1/6 and 1/6 -1/30 -2/15: Pearson -13/14.
        "parallel": results(
            tmp_path / "parallel.json",
            {"a": 0.8, "b": 0.6, "c": 0.5},
            "pope|data:pope-9-4e5f6a7b|parser:first-word|version:1",
            yes_ratio=YES,
        ),
    }


@pytest.mark.usefixtures("wide")
def test_table_1_and_2(files, ran):
    command = ["study reliability", files["first"], "--retest", files["retest"]]
    command += ["--parallel", files["parallel"], "--published", "--bootstrap", 9]
    out = ran(*command).out
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["pope [accuracy]"][2:] == ["1.000", "-0.929", "-", "-"]
    assert rows["POPE [Yes-or-No, Accuracy]"][3:] == ["0.9996", "0.3563", "0.8400", "0.9634"]
    assert rows["a"] == ["a", "0.500", "0.900", "0.800", "0.900"]
    assert "test-retest: 3 models; probability of a correlation this strong by chance: 0.167" in out
    assert "  not the same in both: parser: strict, then first-word" in out
    assert "  not the same in both: data: pope-9-0a1b2c3d, then pope-9-4e5f6a7b" in out
    assert out.count("not the same in both") == 2  # a second run asks the same


def test_bad_input_of_the_command(tmp_path, refused):
    file = results(tmp_path / "first.json", SCORES)
    more = results(tmp_path / "more.json", {**SCORES, "d": 0.1})
    assert "Nothing to compare with; name --retest" in refused("study reliability", file)
    assert "--retest has no result for 'd'" in refused("study reliability", more, "--retest", file)
    unknown = refused("study reliability", file, "--retest", file, "--scores", "f1")
    assert "has no score 'f1'; expected one of accuracy" in unknown
    two = refused("study reliability", file, "--retest", more, "--scores", "accuracy", "yes_ratio")
    assert "--scores names 2 scores; expected one, or --parallel" in two
    three = refused("study correlate", file, more, "--scores", "accuracy", "f1", "recall")
    assert "--scores names 3 scores; expected one, or one for each" in three
    assert "--leave-out names 'z', which is not in" in refused(
        "study correlate", file, more, "--leave-out", "z"
    )
    nobodys = results(tmp_path / "nobodys.json", SCORES, "mine|x")
    assert "holds results of no benchmark" in refused("study reliability", nobodys, "--retest", nobodys)
    form = ["study parallel", file, "--out", tmp_path / "form", "--first", tmp_path / "form/first"]
    assert "are the same place, or one is inside the other" in refused(*form)
