"""Differences of two models on the same rows: against exact tests, in simulations, and in cases of a few lines."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.stats import tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.paired import by_swapping, can_differ, difference, holm

P = st.floats(0, 1)


def resampled(tally, resampling):
    clusters = len(tally["score"][0])
    parts = [tallies.resampled([tally], weights)["score"] for weights in resampling.weights(clusters)]
    return tallies.scores([tally])["score"], np.concatenate(parts)


def compared(one, other, resampling):
    (value, values), (against, others) = (resampled(tally, resampling) for tally in (one, other))
    return difference(value, against, values, others, 999, resampling.level)


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
    same = np.arange(50) / 50
    found = difference(0.5, 0.5, same, same, 999)
    assert (found.value, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_what_is_undefined_is_left_out():
    some = np.array([0.2, np.nan, 0.4])
    assert difference(0.3, 0.1, some, np.array([0.1, 0.1, np.nan]), 999).low == pytest.approx(0.1)
    assert np.isnan(difference(np.nan, 0.1, some, some, 999).p)
    assert np.isnan(difference(0.1, 0.1, some, np.full(3, np.nan), 999).value)


def test_the_interval_excludes_0_where_p_is_small(rng):
    for shift in np.linspace(-3, 3, 25):
        moved = rng.normal(shift, 1, 999)
        found = difference(shift, 0, moved, np.zeros(999), 999)
        if abs(found.p - 0.05) > 0.005:  # there is something between two resamples
            assert (found.low > 0 or found.high < 0) is (found.p < 0.05)
        back = difference(0, shift, np.zeros(999), moved, 999)
        turned = (-found.value, -found.high, -found.low, found.p)
        assert (back.value, back.low, back.high, back.p) == pytest.approx(turned)


def test_swapping_is_the_exact_test(rng):
    """Against all 2^9 ways to swap nine images."""
    one, other = ({"score": tuple(np.sort(rng.integers(0, 5, (2, 9)), axis=0))} for _ in range(2))
    (parts, wholes), (others, of) = one["score"], other["score"]

    def apart(swap):
        swap = np.array(swap, dtype=bool)
        first = np.where(swap, others, parts).sum() / np.where(swap, of, wholes).sum()
        return abs(first - np.where(swap, parts, others).sum() / np.where(swap, wholes, of).sum())

    ways = [apart(swap) for swap in product((0, 1), repeat=9)]
    exact = np.mean(np.array(ways) >= ways[0] - 1e-12)
    assert by_swapping(one, other, Bootstrap(20_000))["score"] == pytest.approx(exact, abs=0.015)


def test_a_single_image_tells_nothing():
    """Percentiles of resamples would claim certainty."""
    one, other = ({"score": (np.array([hit, 0]), np.array([1, 0]))} for hit in (1, 0))
    assert by_swapping(one, other, Bootstrap(500))["score"] == 1.0
    assert can_differ(one, other, 0.05) == [] and by_swapping({}, {}, Bootstrap(5)) == {}


def test_few_differing_images_cannot_tell():
    """Five that all differ one way come about by chance in 2 of 32 cases, six in 2 of 64."""
    for count, expected in ((5, []), (6, ["score"])):
        one, other = ({"score": (np.full(count, hit), np.ones(count))} for hit in (1, 0))
        assert can_differ(one, other, 0.05) == expected


@pytest.mark.parametrize(("images", "p"), [(1, 1.0), (3, 0.25), (6, 0.03125), (9, 2 / 101)])
def test_few_images_tell_little(images, p):
    """If two models are equal, all of n images favour the same one with a probability of 2 / 2^n."""
    best, worst = np.ones(100), np.zeros(100)
    found = difference(1, 0, best, worst, images)
    assert found.p == pytest.approx(p)
    assert (found.low, found.high) == (1, 1) if images > 1 else np.isnan([found.low, found.high]).all()


def simulate(rng, images, gap=0.0):
    """Two models that err on the same hard images: counts of errors and mentions by image."""
    hard = rng.beta(2, 6, images)
    mentions = rng.integers(1, 8, (2, images))
    rates = np.clip([hard, hard + gap], 0, 1)
    return ({"score": (rng.binomial(n, rate), n)} for n, rate in zip(mentions, rates, strict=True))


def test_the_interval_covers_and_p_is_uniform(rng, times=250):
    """Of two equal models. perf/paired.py shows more of it."""
    pairs = [tuple(simulate(rng, 100)) for _ in range(times)]
    found = [compared(*pair, Bootstrap(199, seed)) for seed, pair in enumerate(pairs)]
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    assert abs(covered - 0.95) < 3 * np.sqrt(0.05 * 0.95 / times)
    swapped = [by_swapping(*pair, Bootstrap(199, seed))["score"] for seed, pair in enumerate(pairs)]
    uniform = (np.arange(times) + 0.5) / times
    for p in ([one.p for one in found], swapped):
        assert np.abs(np.sort(p) - uniform).max() < 1.63 / np.sqrt(times)  # Kolmogorov and Smirnov, at 0.01


def test_pairing_narrows_the_interval(rng):
    """Models that err on the same images."""
    one, other = simulate(rng, 400)
    paired = compared(one, other, Bootstrap(400))
    (value, values), (against, others) = (
        resampled(one, Bootstrap(400)),
        resampled(other, Bootstrap(400, seed=1)),
    )
    apart = difference(value, against, values, others, 999)
    assert paired.high - paired.low < 0.95 * (apart.high - apart.low)
