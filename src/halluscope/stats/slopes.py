"""The slope of a line through rows, whose interval leaves out one cluster of rows at a time."""

import math

import numpy as np

from halluscope.stats.beta import student_quantile
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints

# Rows that lie beside the line by less than this share of the greatest y lie on it.
ROUNDING = 1e-12


def slope(x: Floats, y: Floats, clusters: Ints, level: float | None = None) -> dict[str, float]:
    """Return by how much y rises per unit of x, by least squares: `value`, and with a level `low` and `high`.

    The interval is that of the jackknife (MacKinnon and White, Journal of Econometrics 29, 1985) over clusters, with
    Student's t for their number. NaN where all x are alike. The ends are NaN where all x are alike without one cluster,
    and where all rows lie on the line: then nothing says how far off it may be.

    Args:
        x: of each row: [rows].
        y: of each row: [rows].
        clusters: the cluster of each row, such as its image, from 0: [rows].
        level: of the interval, in (0, 1); None for no interval.
    """
    moments = np.stack([np.ones(len(x)), x, y, x * x, x * y], axis=1)
    by_cluster = np.zeros((int(clusters.max(initial=-1)) + 1, 5))
    np.add.at(by_cluster, clusters, moments)
    by_cluster = by_cluster[by_cluster[:, 0] > 0]
    total = by_cluster.sum(axis=0, keepdims=True)
    value = float(_slopes(total)[0])
    if level is None:
        return {"value": value}
    count = len(by_cluster)
    reach = math.nan
    if count > 2 and _is_beside_line(x, y, value):
        without = _slopes(total - by_cluster)
        variance = (count - 1) / count * ((without - without.mean()) ** 2).sum()
        reach = student_quantile(level, count - 1) * math.sqrt(variance)
    return {"value": value, "low": value - reach, "high": value + reach}


def _is_beside_line(x: Floats, y: Floats, slope: float) -> bool:
    """Whether some rows lie beside the line; False if there is none."""
    rest = y - slope * x
    return bool(np.ptp(rest) > ROUNDING * np.abs(y).max())


def _slopes(moments: Floats) -> Floats:
    """Return the slopes of rows with these sums of 1, x, y, x^2 and xy: [sums, 5] to [sums]."""
    rows, x, y, xx, xy = moments.T
    spread = rows * xx - x * x
    slopes = np.full(len(rows), np.nan)
    has_spread = spread > 1e-9 * rows * xx
    np.divide(rows * xy - x * y, spread, out=slopes, where=has_spread)
    return slopes
