"""HaloQuest for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class HaloQuest(module.Module):
    """See `halluscope.benchmarks.haloquest.metric.compute` for every option and result."""

    benchmark = "haloquest"
