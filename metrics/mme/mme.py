"""MME for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class Mme(module.Module):
    """See `halluscope.benchmarks.mme.metric.compute` for every option and result."""

    benchmark = "mme"
