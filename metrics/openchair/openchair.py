"""OpenCHAIR for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.hub import module


class OpenChair(module.Module):
    """See `halluscope.benchmarks.openchair.metric.compute` for every option and result."""

    benchmark = "openchair"
    row = {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
