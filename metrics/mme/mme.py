"""MME for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.mme.build import COLUMNS
from halluscope.benchmarks.mme.data import QUESTIONS
from halluscope.hub import module


class Mme(module.Module):
    """See `halluscope.benchmarks.mme.metric.compute` for every option and result."""

    benchmark = "mme"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
