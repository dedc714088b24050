"""AMBER for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.amber.build import COLUMNS
from halluscope.benchmarks.amber.data import ROWS
from halluscope.hub import module


class Amber(module.Module):
    """See `halluscope.benchmarks.amber.metric.compute` for every option and result."""

    benchmark = "amber"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(ROWS.read)
