"""Differences of two models on the same rows: against exact tests, in simulations, and in cases of a few lines."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, ttest_rel

from halluscope.stats import tallies
from halluscope.stats.intervals import AMOUNT, blocks_of, interval, leave_out, total_of
from halluscope.stats.paired import difference, holm
from halluscope.stats.ratio_pairs import FEWEST, ratio_differences

P = st.floats(0, 1)


def left_out(tally):
    """A score, and what it is without each cluster."""
    counts = tallies.counts_of(tally)
    found = leave_out(partial(tallies.score_sums, names=["score"]), total_of(counts), blocks_of(counts))
    return found["score"]


def compared(one, other, level=0.95):
    return difference(left_out(one), left_out(other), level)


def rows(right):
    """The counts of independent rows."""
    return {"score": (np.asarray(right, dtype=float), np.ones(len(right)))}


def test_holm_by_hand():
    """Of 4: 0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04, which is no smaller than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == [] and holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(P, min_size=1, max_size=12))
def test_holm_rejects_as_the_procedure_does(p):
    """Step by step: the smallest against level / n, the next against level / (n - 1), until one is not below."""
    corrected = holm(p)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for place, row in enumerate(np.argsort(p, kind="stable")):
            if p[row] * (len(p) - place) >= level:
                break
            rejected.add(int(row))
        assert {row for row, value in enumerate(corrected) if value < level} == rejected


def test_a_model_and_itself():
    same = rows([1] * 40 + [0] * 10)
    found = compared(same, same)
    assert (found.value, found.p) == (0.0, 1.0)
    assert -0.1 < found.low < 0 < found.high < 0.1  # another 50 rows may tell them apart


@given(st.integers(2, 40), st.integers(0, 2**40), st.integers(0, 2**40), st.sampled_from([0.5, 0.95]))
def test_the_interval_excludes_0_where_p_is_small(count, first, second, level):
    ones, others = ([number >> row & 1 for row in range(count)] for number in (first, second))
    found = compared(rows(ones), rows(others), level)
    assert -1 <= found.low <= found.value <= found.high <= 1 and found.low < found.high
    assert (found.low > 0 or found.high < 0) is (found.p < 1 - level)
    back = compared(rows(others), rows(ones), level)
    turned = (-found.value, -found.high, -found.low, found.p)
    assert (back.value, back.low, back.high, back.p) == pytest.approx(turned, abs=1e-9)


def test_newcombes_example():
    """Newcombe (1998, Table II): 36, 12, 2 and 0 of 50 pairs; method 10 gives 0.0569 to 0.3404 (by z, not by t)."""
    ones = [1] * 36 + [1] * 12 + [0] * 2
    others = [1] * 36 + [0] * 12 + [1] * 2
    found = compared(rows(ones), rows(others))
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.0569, 0.3404), abs=0.01)


def mentions(only_one, only_other, both=(0, 0)):
    """The counts of a class per image: (rightly named, named) by one model alone, by the other, and by both."""
    images = [
        (right * one, one, right * other, other)
        for (rights, of), (one, other) in zip(
            (only_one, only_other, both), ((1, 0), (0, 1), (1, 1)), strict=True
        )
        for right, times in ((1, rights), (0, of - rights))
        for _ in range(times)
    ]
    counts = np.array(images).reshape(-1, 4).T
    return {"score": tuple(counts[:2])}, {"score": tuple(counts[2:])}


def ratios(*counts):
    return ratio_differences(*mentions(*counts))["score"]


def test_the_same_wholes_are_mcnemars_test():
    """Of 200 images, 13 favour one model and 4 the other: chi squared is (13 - 4)^2 / 17."""
    hits = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [150, 13, 4, 33], axis=0).T
    one, other = ({"score": (row, np.ones(200))} for row in hits)
    assert ratio_differences(one, other)["score"].p == pytest.approx(math.erfc(math.sqrt(81 / 17 / 2)))


@pytest.mark.parametrize("events", [3, 10, 40])
def test_a_few_things_in_many_rows_are_counted_as_by_poisson(events):
    """Against the exact ends of a count, which Byar's formula is near: the upper one to a thousandth."""
    counted = np.zeros(40_000)
    counted[:events] = 1
    low, high = interval(replace(left_out(rows(counted)), range=AMOUNT), 0.95)
    assert len(counted) * high == pytest.approx(chi2.ppf(0.975, 2 * events + 2) / 2, rel=1e-3)
    assert len(counted) * low == pytest.approx(chi2.ppf(0.025, 2 * events) / 2, rel=0.03)


def test_mean_numbers_of_things_differ_as_in_a_paired_t_test():
    draws = np.random.default_rng(5)
    same = draws.poisson(20, 200)
    words = [same + draws.poisson(mean, 200) for mean in (30, 27)]
    one, other = (replace(left_out(rows(counted)), range=AMOUNT) for counted in words)
    found = difference(one, other, 0.95)
    expected = ttest_rel(*words)
    assert [found.low, found.high] == pytest.approx([*expected.confidence_interval()], abs=0.05)
    assert found.p == pytest.approx(expected.pvalue, rel=0.2)


def test_unequal_mentions_by_hand():
    """24 of 40 images and 9 of 10; 5 more are named by both, 3 of them rightly; p is 36 of 60."""
    one, other = (27 / 45, 12 / 15)
    p = 39 / 60
    right, wrong = (1 - p) ** 2, p**2
    alone = (24 * right + 16 * wrong) / 45**2 + (9 * right + 1 * wrong) / 15**2
    own = alone + (3 * right + 2 * wrong) * (1 / 45 - 1 / 15) ** 2
    pooled = (33 * right + 17 * wrong) / (45 * 15)
    alike = p * (1 - p) * (1 / 45 + 1 / 15) * 50 / 60
    found = ratios((24, 40), (9, 10), (3, 5))
    assert found.value == pytest.approx(one - other)
    assert found.p == pytest.approx(math.erfc(abs(one - other) / math.sqrt(2 * max(own, pooled, alike))))


SOME = st.integers(0, 30).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


@given(SOME, SOME, SOME)
def test_the_interval_of_a_ratio(one, other, both):
    """It holds the difference and never nothing else, and excludes 0 where p is small."""
    found, back = ratios(one, other, both), ratios(other, one, both)
    if min(one[1], other[1]) + both[1] < FEWEST:
        assert np.isnan(found.p)
    elif one[1] + other[1]:
        assert -1 <= found.low <= found.value <= found.high <= 1 and found.high - found.low > 0.01
        assert (found.low > 0 or found.high < 0) is (found.p < 0.05)
        assert (back.low, back.high, back.p) == pytest.approx((-found.high, -found.low, found.p), abs=1e-9)


def simulate(rng, images, gap=0.0):
    """Two models that err on the same hard images: counts of errors and mentions by image."""
    hard = rng.beta(2, 6, images)
    mentions = rng.integers(1, 8, (2, images))
    rates = np.clip([hard, hard + gap], 0, 1)
    return ({"score": (rng.binomial(n, rate), n)} for n, rate in zip(mentions, rates, strict=True))


def test_the_interval_covers_and_p_is_no_smaller_than_by_chance(rng, times=400):
    """Of two equal models. perf/paired.py and perf/coverage.py --intervals show more of it."""
    pairs = [tuple(simulate(rng, 100)) for _ in range(times)]
    found = [compared(*pair) for pair in pairs]
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    assert abs(covered - 0.95) < 3 * np.sqrt(0.05 * 0.95 / times)
    assert np.mean([one.p < 0.05 for one in found]) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / times)
    uniform = (np.arange(times) + 0.5) / times
    p = [ratio_differences(*pair)["score"].p for pair in pairs]
    assert np.abs(np.sort(p) - uniform).max() < 1.63 / np.sqrt(times)  # Kolmogorov and Smirnov, at 0.01
