"""LLaVA-Bench for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.llava_bench.build import COLUMNS
from halluscope.benchmarks.llava_bench.data import QUESTIONS
from halluscope.hub import module


class LLaVABench(module.Module):
    """See `halluscope.benchmarks.llava_bench.metric.compute` for every option and result."""

    benchmark = "llava_bench"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
