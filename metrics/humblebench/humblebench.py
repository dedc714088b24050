"""HumbleBench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.humblebench.build import COLUMNS
from halluscope.benchmarks.humblebench.data import QUESTIONS
from halluscope.hub import module


class HumbleBench(module.Module):
    """See `halluscope.benchmarks.humblebench.metric.compute` for every option and result."""

    benchmark = "humblebench"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
