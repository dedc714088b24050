"""Scores that are a part over a whole, each a sum over clusters of rows (a set of questions, an image).

Rows of a cluster depend on each other, so that an interval resamples clusters. Of several tallies of the same rows, one
a repeat of the judging, a score is the mean.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, ratio

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Tally = Mapping[str, tuple[Ints | Floats, Ints | Floats]]
"""Score -> its part and its whole, each [clusters]: counts, or sums of weights; a part may be a sum of shares."""


def grouped(
    parts: Mapping[str, tuple[Floats | Bools, Bools]], cluster: Ints, groups: Mapping[str, Bools]
) -> Tally:
    """Count scores by cluster, over all rows and over those of each group.

    Args:
        parts: score -> what each row adds to its part, and whether the row is in its whole: [rows].
        cluster: the number of each row's cluster: [rows].
        groups: name -> which rows belong to it: [rows].

    Returns:
        Each score, and each of each group, such as "accuracy/count".
    """
    clusters = int(cluster.max()) + 1

    def summed(values: Floats | Bools) -> Floats:
        return np.bincount(cluster, weights=values, minlength=clusters).astype(np.float64)

    everything = np.ones(len(cluster), dtype=bool)
    return {
        f"{score}/{group}" if group else score: (summed(part * rows), summed(whole & rows).astype(np.int64))
        for group, rows in {"": everything, **groups}.items()
        for score, (part, whole) in parts.items()
    }


def added(tally: Tally) -> list[dict[str, float | None]]:
    """What each cluster adds to the scores, None where it is in no whole.

    Where each row is a cluster of its own, that is what each row adds.
    """
    shares = {
        name: ratio(part.astype(np.float64), whole.astype(np.float64)).tolist()
        for name, (part, whole) in tally.items()
    }
    return [
        {name: None if np.isnan(share) else share for name, share in zip(shares, row, strict=True)}
        for row in zip(*shares.values(), strict=True)
    ]


def counted(
    tallies: Sequence[Tally], named: Mapping[str, tuple[str, str]], groups: Iterable[str]
) -> dict[str, dict[str, float | None]]:
    """What scores are made of, summed over the tallies, for "all" and each group.

    Args:
        tallies: as `grouped` makes them.
        named: score -> what its whole is called, and its part.
        groups: their names.

    Returns:
        Group -> each whole and each part; None for a part of nothing.
    """
    return {
        group or "all": {
            name: value
            for score, names in named.items()
            for name, value in zip(
                names, _totals(tallies, f"{score}/{group}" if group else score), strict=True
            )
        }
        for group in ("", *groups)
    }


def _totals(tallies: Sequence[Tally], score: str) -> tuple[int, float | None]:
    """A score's whole and its part, a whole number where it is one."""
    part, whole = (float(sum(tally[score][place].sum() for tally in tallies)) for place in (0, 1))
    plain = int(part) if part.is_integer() else part
    return int(whole), plain if whole else None


def resampled(tallies: Sequence[Tally], weights: Floats | None = None) -> dict[str, Floats]:
    """The scores [resamples], the mean of several tallies; NaN where the whole is 0.

    Args:
        tallies: of the same rows, at least one.
        weights: [resamples, clusters], how often each cluster counts; by default once.
    """
    clusters = len(next(iter(tallies[0].values()))[1])
    weights = np.ones((1, clusters)) if weights is None else weights
    return {
        name: np.mean(
            [ratio(weights @ counts[name][0], weights @ counts[name][1]) for counts in tallies], axis=0
        )
        for name in tallies[0]
    }


def scores(tallies: Sequence[Tally]) -> dict[str, float]:
    """The scores, each cluster once."""
    return {name: float(value[0]) for name, value in resampled(tallies).items()}


def spread(tallies: Sequence[Tally]) -> dict[str, tuple[float, float]]:
    """Each score's least and greatest value over the tallies; NaN if one of them is undefined."""
    each = [scores([counts]) for counts in tallies]
    values = {name: np.array([row[name] for row in each]) for name in each[0]}
    return {name: (float(row.min()), float(row.max())) for name, row in values.items()}


def uncertainty(tallies: Sequence[Tally], resampling: Bootstrap) -> dict[str, Any]:
    """`interval`, over resampled clusters, if one is asked for; `spread`, as `spread` has it, of several tallies."""
    found: dict[str, Any] = {}
    if resampling.resamples:
        clusters = len(next(iter(tallies[0].values()))[1])
        drawn = resampling.weights(clusters)
        found["interval"] = resampling.intervals(map(partial(resampled, tallies), drawn))
    if len(tallies) > 1:
        found["spread"] = spread(tallies)
    return found


def numbers(keys: Sequence[Hashable]) -> Ints:
    """Number keys by their first appearance: the cluster of each row."""
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
