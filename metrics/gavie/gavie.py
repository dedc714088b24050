"""GAVIE for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class GAVIE(module.Module):
    """See `halluscope.benchmarks.gavie.metric.compute` for every option and result."""

    benchmark = "gavie"
