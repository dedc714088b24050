"""HallusionBench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.hallusionbench.build import COLUMNS
from halluscope.benchmarks.hallusionbench.data import QUESTIONS
from halluscope.hub import module

NEEDED = {}
for name, kind in COLUMNS.items():
    if name in QUESTIONS.needed or name == "gt_answer_details":
        NEEDED[name] = kind


class HallusionBench(module.Module):
    """See `halluscope.benchmarks.hallusionbench.metric.compute` for every option and result."""

    benchmark = "hallusionbench"
    row = {"predictions": datasets.Value("string"), "references": NEEDED}
    read_row = staticmethod(QUESTIONS.read)
