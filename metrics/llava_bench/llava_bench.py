"""LLaVA-Bench for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class LLaVABench(module.Module):
    """See `halluscope.benchmarks.llava_bench.metric.compute` for every option and result."""

    benchmark = "llava_bench"
