"""HaloQuest for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.haloquest.build import COLUMNS
from halluscope.benchmarks.haloquest.data import QUESTIONS
from halluscope.hub import module


class HaloQuest(module.Module):
    """See `halluscope.benchmarks.haloquest.metric.compute` for every option and result."""

    benchmark = "haloquest"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
