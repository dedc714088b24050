"""Counts by cluster: what scores are made from, and what intervals leave out one cluster at a time.

A cluster holds rows that depend on each other, such as the questions about one image.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halluscope.stats.intervals import NUMBERS_AT_ONCE, Counts, blocks_of, total_of
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints


class ClusterCounts(ABC):
    """Counts by cluster."""

    @abstractmethod
    def total(self) -> Counts:
        """Return the sums over the clusters: name -> [1, ...]."""

    @abstractmethod
    def blocks(self) -> Iterator[Counts]:
        """Yield the clusters' counts, some clusters at a time: name -> [clusters, ...]."""

    def kinds(self) -> Ints | None:
        """Return which of the clusters in `blocks` each cluster equals: [clusters]; None if `blocks` has them all."""
        return None


@dataclass(frozen=True)
class Tables(ClusterCounts):
    """Counts that are at hand for each cluster: name -> [clusters, ...]."""

    counts: Counts

    def total(self) -> Counts:
        return total_of(self.counts)

    def blocks(self) -> Iterator[Counts]:
        return blocks_of(self.counts)


@dataclass(frozen=True)
class Cells(ClusterCounts):
    """Rows, each counted once, in a cell of a table."""

    name: str  # of the table
    shape: tuple[int, ...]  # of the table
    cell: Ints  # the number of each row's cell in the flattened table: [rows]
    cluster: Ints | None = None  # the number of each row's cluster: [rows]; None if each row is a cluster

    def total(self) -> Counts:
        return {self.name: self._count(self.cell, 1)}

    def blocks(self) -> Iterator[Counts]:
        if self.cluster is None:
            cell = np.unique(self.cell)
            yield from self._blocks(cell, np.arange(len(cell)))
        else:
            order = np.argsort(self.cluster, kind="stable")
            yield from self._blocks(self.cell[order], self.cluster[order])

    def kinds(self) -> Ints | None:
        if self.cluster is not None:
            return None
        _, kinds = np.unique(self.cell, return_inverse=True)
        return kinds

    def _blocks(self, cell: Ints, cluster: Ints) -> Iterator[Counts]:
        """Yield counts of rows in the order of their clusters."""
        cells = math.prod(self.shape)
        clusters = int(cluster[-1]) + 1
        step = max(1, NUMBERS_AT_ONCE // cells)
        for first in range(0, clusters, step):
            clusters_here = min(step, clusters - first)
            start, end = np.searchsorted(cluster, [first, first + clusters_here])
            number = cluster[start:end] - first
            place = number * cells + cell[start:end]
            yield {self.name: self._count(place, clusters_here)}

    def _count(self, place: Ints, clusters: int) -> Floats:
        cells = math.prod(self.shape)
        counts = np.bincount(place, minlength=clusters * cells)
        return counts.reshape(clusters, *self.shape).astype(float)
