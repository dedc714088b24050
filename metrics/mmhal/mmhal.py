"""MMHal-Bench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.mmhal.build import COLUMNS
from halluscope.benchmarks.mmhal.data import QUESTIONS
from halluscope.hub import module


class MMHal(module.Module):
    """See `halluscope.benchmarks.mmhal.metric.compute` for every option and result."""

    benchmark = "mmhal"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
