"""DASH-B for `evaluate`: a thin module over the installed package `halluscope`."""

from halluscope.hub import module


class DashB(module.Module):
    """See `halluscope.benchmarks.dash_b.metric.compute` for every option and result."""

    benchmark = "dash_b"
