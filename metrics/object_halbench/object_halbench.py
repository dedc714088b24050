"""Object HalBench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.object_halbench.build import COLUMNS
from halluscope.benchmarks.object_halbench.data import IMAGES
from halluscope.hub import module


class ObjectHalBench(module.Module):
    """See `halluscope.benchmarks.object_halbench.metric.compute` for every option and result."""

    benchmark = "object_halbench"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(IMAGES.read)
