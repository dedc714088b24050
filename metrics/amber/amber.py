"""AMBER for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class Amber(module.Module):
    """See `halluscope.benchmarks.amber.metric.compute` for every option and result."""

    benchmark = "amber"
