"""HallusionBench for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class HallusionBench(module.Module):
    """See `halluscope.benchmarks.hallusionbench.metric.compute` for every option and result."""

    benchmark = "hallusionbench"
