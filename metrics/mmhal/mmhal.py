"""MMHal-Bench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.mmhal.rows import read
from halluscope.hub import module

_ROW = {
    "id": datasets.Value("int64"),
    "image_id": datasets.Value("string"),
    "image_url": datasets.Value("string"),
    "question": datasets.Value("string"),
    "answer": datasets.Value("string"),
    "type": datasets.Value("string"),
    "topic": datasets.Value("string"),
    "contents": datasets.List(datasets.Value("string")),
}


class MMHal(module.Module):
    """See `halluscope.benchmarks.mmhal.metric.compute` for every option and result."""

    benchmark = "mmhal"
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(read)
