"""HallusionBench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.hallusionbench.metric import GRADED
from halluscope.hub import module

_ROW = {
    "category": datasets.Value("string"),
    "subcategory": datasets.Value("string"),
    "set_id": datasets.Value("int64"),
    "figure_id": datasets.Value("int64"),
    "question_id": datasets.Value("int64"),
    "visual_input": datasets.Value("int64"),
    "question": datasets.Value("string"),
    "gt_answer": datasets.Value("string"),
    "gt_answer_details": datasets.Value("string"),
}


class HallusionBench(module.Module):
    """See `halluscope.benchmarks.hallusionbench.metric.compute` for every option and result."""

    benchmark = "hallusionbench"
    row = {"predictions": datasets.Value("string"), "references": _ROW}
    read_row = staticmethod(GRADED.read)
