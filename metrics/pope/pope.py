"""POPE for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.hub import module


class Pope(module.Module):
    """See `halluscope.benchmarks.pope.metric.compute` for every option and result."""

    benchmark = "pope"
    row = {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
