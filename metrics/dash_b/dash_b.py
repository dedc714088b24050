"""DASH-B for `evaluate`: a thin module over the installed package `halluscope`."""

import datasets

from halluscope.benchmarks.dash_b.build import COLUMNS
from halluscope.benchmarks.dash_b.data import QUESTIONS
from halluscope.hub import module


class DashB(module.Module):
    """See `halluscope.benchmarks.dash_b.metric.compute` for every option and result."""

    benchmark = "dash_b"
    row = {"predictions": datasets.Value("string"), "references": module.without_image(COLUMNS)}
    read_row = staticmethod(QUESTIONS.read)
