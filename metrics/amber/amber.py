"""AMBER for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.amber.rows import read
from halluscope.hub import module

_ROW = {
    "id": datasets.Value("int64"),
    "file_name": datasets.Value("string"),
    "prompt": datasets.Value("string"),
    "task": datasets.Value("string"),
    "dimension": datasets.Value("string"),
    "answer": datasets.Value("string"),
    "truth": datasets.List(datasets.Value("string")),
    "hallu": datasets.List(datasets.Value("string")),
}


class Amber(module.Module):
    """See `halluscope.benchmarks.amber.metric.compute` for every option and result."""

    benchmark = "amber"
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(read)
