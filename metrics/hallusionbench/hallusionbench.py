"""HallusionBench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.hallusionbench.metric import GRADED
from halluscope.hub import module


class HallusionBench(module.Module):
    """See `halluscope.benchmarks.hallusionbench.metric.compute` for every option and result."""

    benchmark = "hallusionbench"
    row = {
        "predictions": datasets.Value("string"),
        "references": GRADED.features(*GRADED.needed, "gt_answer_details"),
    }
    read_row = staticmethod(GRADED.read)
