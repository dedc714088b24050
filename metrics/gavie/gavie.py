"""GAVIE for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.gavie.rows import PLACE, read
from halluscope.hub import module

_ROW = {
    "id": datasets.Value("int64"),
    "image_id": datasets.Value("int64"),
    "question": datasets.Value("string"),
    "regions": datasets.List(
        {"phrase": datasets.Value("string"), **{name: datasets.Value("int64") for name in PLACE}}
    ),
}


class GAVIE(module.Module):
    """See `halluscope.benchmarks.gavie.metric.compute` for every option and result."""

    benchmark = "gavie"
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(read)
