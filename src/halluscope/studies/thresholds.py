"""How often a judge says what people say, against the share of the more frequent answer, and at which threshold.

A judge that votes for the likelier of yes and no (`likelier:MODEL`) says yes where its margin, log P(yes) - log P(no),
is above a threshold. The threshold is chosen on one half of what people marked, and measured on the other: the half
on which it was chosen would flatter it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from halluscope.reporting.tables import Json
from halluscope.stats.intervals import Range, blocks_of, interval, leave_out, total_of
from halluscope.stats.tallies import Bools, counts_of, numbers, score_sums
from halluscope.studies.judgement import digest

AGREE = "agree"
MAJORITY = "majority"
GAIN = "gain"
SHARES = (AGREE, MAJORITY, GAIN)

MEANING = {
    AGREE: "the share about which the judge says what people say",
    MAJORITY: "the share of people's more frequent answer, which needs no judge",
    GAIN: "the first of these shares minus the second, in percentage points",
}

RANGES = {GAIN: Range(-1.0, 1.0)}
BEYOND = 1.0  # by how much the least and the greatest threshold are beyond all margins, in nats


def shares(
    is_agreed: Bools, is_yes: Bools, clusters: Sequence[Hashable], level: float
) -> dict[str, dict[str, float]]:
    """Return `SHARES` of some rows, each with its interval, which leaves out clusters.

    Args:
        is_agreed: whether the judge says what people say: [rows].
        is_yes: whether people say yes: [rows].
        clusters: what rows that depend on each other share: [rows].
        level: of the intervals.
    """
    if not clusters:
        return {name: dict.fromkeys(("value", "low", "high"), np.nan) for name in SHARES}
    is_majority = is_yes if 2 * is_yes.sum() >= len(is_yes) else ~is_yes
    cluster = numbers(clusters)
    rows = np.bincount(cluster).astype(float)
    agreed = np.bincount(cluster, weights=is_agreed)
    majority = np.bincount(cluster, weights=is_majority)
    counts = counts_of({AGREE: (agreed, rows), MAJORITY: (majority, rows), GAIN: (agreed - majority, rows)})
    scores = leave_out(lambda sums: score_sums(sums, SHARES), total_of(counts), blocks_of(counts), RANGES)
    estimates = {}
    for name, score in scores.items():
        low, high = interval(score, level)
        estimates[name] = {"value": score.value, "low": low, "high": high}
    return estimates


def chosen(
    agreed_at: Callable[[float], Bools],
    margins: Sequence[float],
    is_yes: Bools,
    clusters: Sequence[Hashable],
    level: float,
) -> Json:
    """Choose the threshold with most agreement on one half of the clusters, and measure it on the other half.

    Args:
        agreed_at: returns, for a threshold, whether the judge says what people say: [rows].
        margins: all margins of the judge.
        is_yes: whether people say yes: [rows].
        clusters: what rows that depend on each other share; the digest of its name puts a cluster into a half: [rows].
        level: of the intervals.

    Returns:
        `threshold`, in nats; `chosen_on` and `measured_on`, numbers of rows; and `SHARES` of the other half.
    """
    is_first = np.array([int(digest(str(cluster)), 16) % 2 == 0 for cluster in clusters])
    best = 0.0
    most_agreed = -1
    for threshold in sorted(_candidates(margins), key=abs):
        agreed = int(agreed_at(threshold)[is_first].sum())
        if agreed > most_agreed:
            best = threshold
            most_agreed = agreed
    others = np.flatnonzero(~is_first)
    result: dict[str, Any] = {
        "threshold": best,
        "chosen_on": int(is_first.sum()),
        "measured_on": len(others),
    }
    clusters_of_others = [clusters[row] for row in others.tolist()]
    result.update(shares(agreed_at(best)[others], is_yes[others], clusters_of_others, level))
    return result


def _candidates(margins: Sequence[float]) -> list[float]:
    """Return thresholds between all margins, and beyond them on both sides."""
    values = np.unique(margins)
    candidates = [values[0] - BEYOND, values[-1] + BEYOND]
    candidates += ((values[1:] + values[:-1]) / 2).tolist()
    return [float(f"{candidate:.5g}") for candidate in candidates]
