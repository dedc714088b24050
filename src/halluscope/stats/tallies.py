"""Computes scores that are a part over a whole, each a sum over clusters of rows (a set of questions, an image).

Rows of a cluster depend on each other, so intervals leave out clusters. If there are several tallies of the same rows,
one per repeat of the judging, a score is the mean over them.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import Counts, Range, blocks_of, leave_out, total_of
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.stated import of_scores

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Score -> its part and its whole, each [clusters]: counts or sums of weights. A part may also be a sum of shares.
Tally = Mapping[str, tuple[Ints | Floats, Ints | Floats]]


def tally_groups(
    parts: Mapping[str, tuple[Floats | Bools | Ints, Bools | Ints]],
    cluster: Ints,
    groups: Mapping[str, Bools],
) -> Tally:
    """Count scores by cluster over all rows and over those of each group, such as "accuracy/count".

    `parts` says per score what each row adds to the part and to the whole; `groups` says which
    rows belong to a group.
    """
    clusters = int(cluster.max()) + 1

    def summed(values: Floats | Bools | Ints) -> Floats:
        return np.bincount(cluster, weights=values, minlength=clusters).astype(np.float64)

    everything = np.ones(len(cluster), dtype=bool)
    return {
        f"{score}/{group}" if group else score: (summed(part * rows), summed(whole * rows).astype(np.int64))
        for group, rows in {"": everything, **groups}.items()
        for score, (part, whole) in parts.items()
    }


def cluster_values(tally: Tally) -> list[dict[str, float | None]]:
    """Return each cluster's value of each score; None if the cluster does not count for the score.

    If each row is its own cluster, these are the rows' values.
    """
    shares = rows_of({name: ratio(*counts) for name, counts in tally.items()})
    return [{name: None if np.isnan(share) else share for name, share in row.items()} for row in shares]


def sums(
    tallies: Sequence[Tally], named: Mapping[str, tuple[str, str]], groups: Iterable[str]
) -> dict[str, dict[str, float | None]]:
    """Return the parts and wholes of scores, summed over the tallies, for "all" and each group.

    `named` gives the names of each score's whole and part; a part is an integer if it has no fraction, and None if its
    whole is 0.
    """
    found: dict[str, dict[str, float | None]] = {}
    for group in ("", *groups):
        of = found.setdefault(group or "all", {})
        for score, names in named.items():
            key = f"{score}/{group}" if group else score
            part, whole = (float(sum(tally[key][index].sum() for tally in tallies)) for index in (0, 1))
            plain = int(part) if part.is_integer() else part
            of |= zip(names, (int(whole), plain if whole else None), strict=True)
    return found


def counts_of(tallies: Sequence[Tally]) -> dict[str, Floats]:
    """Return the parts and wholes of all scores: [clusters, repeats, scores]."""
    parts = []
    wholes = []
    for tally in tallies:
        parts.append(np.stack([part for part, _ in tally.values()], axis=1))
        wholes.append(np.stack([whole for _, whole in tally.values()], axis=1))
    return {"part": np.stack(parts, axis=1), "whole": np.stack(wholes, axis=1)}


def score_sums(sums: Counts, names: Sequence[str]) -> dict[str, Floats]:
    """Return scores [sums] of parts and wholes [sums, repeats, scores], as means over the repeats; NaN where a whole is
    0.
    """
    means = ratio(sums["part"], sums["whole"]).mean(axis=1)
    return dict(zip(names, means.T, strict=True))


def scores(tallies: Sequence[Tally]) -> dict[str, float]:
    """Return the scores, counting each cluster once."""
    return points(score_sums(total_of(counts_of(tallies)), list(tallies[0])))


def points(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first value of each score, whose values are [sums]; scores may be nested."""
    return {
        name: points(value) if isinstance(value, Mapping) else float(value[0])
        for name, value in scores.items()
    }


def spread(tallies: Sequence[Tally]) -> dict[str, tuple[float, float]]:
    """Return each score's least and greatest value over the tallies; NaN if a value is undefined."""
    each = [scores([counts]) for counts in tallies]
    values = {name: [row[name] for row in each] for name in each[0]}
    return {name: (float(np.min(row)), float(np.max(row))) for name, row in values.items()}


def uncertainty(
    tallies: Sequence[Tally],
    resampling: Bootstrap,
    ranges: Mapping[str, Range] | None = None,
) -> dict[str, Any]:
    """Return `interval` and `no_interval`, by leaving out clusters, if they are asked for."""
    if not resampling.resamples:
        return {}
    counts = counts_of(tallies)
    score = partial(score_sums, names=list(tallies[0]))
    left_out = leave_out(score, total_of(counts), blocks_of(counts), ranges)
    return of_scores(left_out, resampling.level)


def rows_of(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table that is given by its columns."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def numbers(keys: Sequence[Hashable]) -> Ints:
    """Number keys by their first appearance: the cluster of each row."""
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))


def standard_error(values: ArrayLike, clusters: Sequence[Hashable]) -> float:
    """Return the standard error of the mean of values [rows], in their unit; NaN for fewer than two clusters.

    It adds to the variance of independent rows the covariances of rows in the same cluster: Miller, "Adding Error Bars
    to Evals" (2024, arXiv:2411.00640), equation 4, as lmms-eval implements it.

    >>> round(standard_error([1, 0, 1, 0], "abcd"), 4), round(standard_error([1, 1, 0, 0], "aabb"), 4)
    (0.2887, 0.3819)
    """
    given, cluster = np.asarray(values, dtype=float), numbers(clusters)
    rows = len(given)
    if rows == 0 or cluster.max() == 0:
        return float("nan")
    away = given - given.mean()
    together = np.bincount(cluster, weights=away)
    squares = away @ away
    independent = squares / (rows - 1) / rows
    return float(np.sqrt(max(0.0, independent + (together @ together - squares) / rows**2)))
