"""HQH for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.hqh.build import COLUMNS
from halluscope.benchmarks.hqh.data import QUESTIONS
from halluscope.hub import module


class HQH(module.Module):
    """See `halluscope.benchmarks.hqh.metric.compute` for every option and result."""

    benchmark = "hqh"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
