"""HaloQuest for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.haloquest.rows import read
from halluscope.hub import module

_ROW = {
    "id": datasets.Value("int64"),
    "file_name": datasets.Value("string"),
    "image_type": datasets.Value("string"),
    "type": datasets.Value("string"),
    "question": datasets.Value("string"),
    "answers": datasets.List(datasets.Value("string")),
    "url": datasets.Value("string"),
}


class HaloQuest(module.Module):
    """See `halluscope.benchmarks.haloquest.metric.compute` for every option and result."""

    benchmark = "haloquest"
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(read)
