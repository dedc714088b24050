"""How DASH-B's results and rows are shown."""

from halluscope.benchmarks.dash_b.metric import METRIC
from halluscope.reporting.labelled_report import LabelledReport


class DashBReport(LabelledReport):
    metric = METRIC
    columns = ("accuracy", "tpr", "tnr", "harmonic_mean", "unreadable")
    intervals = {"accuracy": "accuracy", "tpr": "TPR", "tnr": "TNR", "harmonic_mean": "harmonic mean"}
    unreadable = "no yes or no can be read"


VIEW = DashBReport()
