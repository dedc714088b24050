"""MMHal-Bench for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class MMHal(module.Module):
    """See `halluscope.benchmarks.mmhal.metric.compute` for every option and result."""

    benchmark = "mmhal"
