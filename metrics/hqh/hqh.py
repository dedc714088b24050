"""HQH for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class HQH(module.Module):
    """See `halluscope.benchmarks.hqh.metric.compute` for every option and result."""

    benchmark = "hqh"
