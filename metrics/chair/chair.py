"""CHAIR for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.hub import module


class Chair(module.Module):
    """See `halluscope.benchmarks.chair.metric.compute` for every option and result."""

    benchmark = "chair"
    row = {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
    }
