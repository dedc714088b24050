"""GAVIE for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.gavie.build import COLUMNS
from halluscope.benchmarks.gavie.data import QUESTIONS
from halluscope.hub import module


class GAVIE(module.Module):
    """See `halluscope.benchmarks.gavie.metric.compute` for every option and result."""

    benchmark = "gavie"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
