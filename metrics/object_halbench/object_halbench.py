"""Object HalBench for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class ObjectHalBench(module.Module):
    """See `halluscope.benchmarks.object_halbench.metric.compute` for every option and result."""

    benchmark = "object_halbench"
