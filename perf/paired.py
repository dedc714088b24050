"""Simulates pairs of models to check that `halluscope compare` distinguishes a real difference from chance.

    python perf/paired.py [--times 1000]

Two models err on the same images, some hard and some easy; errors and mentions are counted per image, as for CHAIR.
The script prints how often the 95 % interval of the difference contains the true difference. For the percentiles of
`difference` and for `by_swapping`, it prints how often p is below 0.05 and below 0.5, and how far p is from uniform
(Kolmogorov and Smirnov; for models without a difference, this exceeds 1.36 / sqrt(times) in 5 % of cases).
"""

import argparse

import numpy as np

from halluscope.stats import tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.paired import Difference, by_swapping, difference
from halluscope.stats.tallies import Tally

RESAMPLES = 500
ONE_RATE, MENTIONS = (2, 6), 8


def simulate(rng: np.random.Generator, images: int, gap: float) -> list[Tally]:
    """Return two models' errors and mentions per image; the second model's error rate is higher by `gap`."""
    hard = rng.beta(*ONE_RATE, images)
    mentions = rng.integers(1, MENTIONS, (2, images))
    rates = np.clip([hard, hard + gap], 0, 1)
    return [{"score": (rng.binomial(n, rate), n)} for n, rate in zip(mentions, rates, strict=True)]


def truth(gap: float, rng: np.random.Generator) -> float:
    """Return the difference of the two rates over so many images that chance is negligible."""
    hard = rng.beta(*ONE_RATE, 10**6)
    return float(hard.mean() - np.clip(hard + gap, 0, 1).mean())


def compared(one: Tally, other: Tally, resampling: Bootstrap) -> Difference:
    """Return the difference as `halluscope compare` computes it."""
    values = [tallies.scores([tally])["score"] for tally in (one, other)]
    (weights,) = resampling.weights(len(one["score"][0]))
    drawn = [tallies.resampled([tally], weights)["score"] for tally in (one, other)]
    return difference(values[0], values[1], drawn[0], drawn[1], len(one["score"][0]), resampling.level)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    rng = np.random.default_rng(0)
    print(f"{times} pairs each, {RESAMPLES} resamples")
    print("images   gap  covered  p<0.05  p<0.5  from uniform  swapped: p<0.05  p<0.5  from uniform")
    for images in (50, 200, 500):
        for gap in (0.0, 0.1):
            expected = truth(gap, rng)
            found, swapped = [], []
            for seed in range(times):
                one, other = simulate(rng, images, gap)
                found.append(compared(one, other, Bootstrap(RESAMPLES, seed)))
                swapped.append(by_swapping(one, other, Bootstrap(RESAMPLES, seed))["score"])
            covered = np.mean([one.low <= expected <= one.high for one in found])
            shown = [f"{images:6d}  {gap:4.1f}  {covered:7.3f}"]
            for p in (np.sort([one.p for one in found]), np.sort(swapped)):
                apart = np.abs(p - (np.arange(times) + 0.5) / times).max()
                shown.append(f"{np.mean(p < 0.05):6.3f}  {np.mean(p < 0.5):5.3f}  {apart:12.3f}")
            print("  ".join([shown[0], shown[1], "         " + shown[2]]), flush=True)


if __name__ == "__main__":
    main()
