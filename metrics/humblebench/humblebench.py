"""HumbleBench for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class HumbleBench(module.Module):
    """See `halluscope.benchmarks.humblebench.metric.compute` for every option and result."""

    benchmark = "humblebench"
