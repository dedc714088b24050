"""Computes scores that are a part over a whole, each a sum over clusters of rows (a set of questions, an image).

Rows of a cluster depend on each other, so intervals leave out clusters.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats, ratio

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Score -> its part and its whole, each [clusters]: counts or sums of weights. A part may also be a sum of shares.
Tally = Mapping[str, tuple[Ints | Floats, Ints | Floats]]


def counts_of(tally: Tally) -> dict[str, Floats]:
    """Return the parts and wholes of all scores: [clusters, scores]."""
    parts = []
    wholes = []
    for part, whole in tally.values():
        parts.append(part)
        wholes.append(whole)
    return {"part": np.stack(parts, axis=1), "whole": np.stack(wholes, axis=1)}


def score_sums(sums: Counts, names: Sequence[str]) -> dict[str, Floats]:
    """Return scores [sums] of parts and wholes [sums, scores]; NaN where a whole is 0."""
    scores = ratio(sums["part"], sums["whole"])
    return dict(zip(names, scores.T, strict=True))


def scores_of(tally: Tally) -> dict[str, float]:
    """Return the scores over all clusters."""
    scores = {}
    for name, (part, whole) in tally.items():
        scores[name] = float(ratio(part.sum(), whole.sum()))
    return scores


def rows_of(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table that is given by its columns."""
    values = [column.tolist() for column in columns.values()]
    rows = []
    for row in zip(*values, strict=True):
        rows.append(dict(zip(columns, row, strict=True)))
    return rows


def table_of(cell: Ints, shape: tuple[int, ...]) -> Ints:
    """Return how many rows are in each cell of a table, by the number of each row's cell in the flattened table."""
    counts: Ints = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    return counts


def rows_by(values: Sequence[str], names: Iterable[str]) -> dict[str, Bools]:
    """Return which rows have each of these values, of those that some row has."""
    column = np.array(values)
    rows = {}
    for name in names:
        is_in = column == name
        if is_in.any():
            rows[name] = is_in
    return rows


def numbers(keys: Sequence[Hashable]) -> Ints:
    """Number keys by their first appearance: the cluster of each row."""
    different = dict.fromkeys(keys)
    number_of = dict(zip(different, range(len(different)), strict=True))
    return np.fromiter(map(number_of.__getitem__, keys), np.int64, len(keys))


def standard_error(values: ArrayLike, clusters: Sequence[Hashable]) -> float:
    """Return the standard error of the mean of values [rows], in their unit; NaN for fewer than two clusters.

    It adds to the variance of independent rows the covariances of rows in the same cluster: Miller, "Adding Error Bars
    to Evals" (2024, arXiv:2411.00640), equation 4, as lmms-eval implements it.

    >>> round(standard_error([1, 0, 1, 0], "abcd"), 4), round(standard_error([1, 1, 0, 0], "aabb"), 4)
    (0.2887, 0.3819)
    """
    amounts = np.asarray(values, dtype=float)
    cluster = numbers(clusters)
    rows = len(amounts)
    if rows == 0 or cluster.max() == 0:
        return float("nan")
    away = amounts - amounts.mean()
    away_of_cluster = np.bincount(cluster, weights=away)
    squares = away @ away
    independent = squares / (rows - 1) / rows
    covariances = (away_of_cluster @ away_of_cluster - squares) / rows**2
    return float(np.sqrt(max(0.0, independent + covariances)))
