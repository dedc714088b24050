"""HQH for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.hqh.rows import read
from halluscope.hub import module

_ROW = {
    "id": datasets.Value("int64"),
    "image_id": datasets.Value("int64"),
    "question": datasets.Value("string"),
    "answer": datasets.Value("string"),
    "type": datasets.Value("string"),
    "level": datasets.Value("string"),
    "caption": datasets.Value("string"),
    "details": datasets.Value("string"),
}


class HQH(module.Module):
    """See `halluscope.benchmarks.hqh.metric.compute` for every option and result."""

    benchmark = "hqh"
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(read)
