"""THRONE for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.hub import module


class Throne(module.Module):
    """See `halluscope.benchmarks.throne.metric.compute` for every option and result."""

    benchmark = "throne"
    row = {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
    }
