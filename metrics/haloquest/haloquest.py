"""HaloQuest for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.haloquest.metric import GRADED
from halluscope.hub import module


class HaloQuest(module.Module):
    """See `halluscope.benchmarks.haloquest.metric.compute` for every option and result."""

    benchmark = "haloquest"
    row = {"predictions": datasets.Value("string"), "references": GRADED.features()}
    read_row = staticmethod(GRADED.read)
