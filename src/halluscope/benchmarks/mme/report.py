"""How MME's results and rows are shown."""

from halluscope.benchmarks.mme.metric import METRIC, SCORE
from halluscope.reporting.labelled_report import LabelledReport


class MmeReport(LabelledReport):
    metric = METRIC
    columns = ("hallucination", "perception", "cognition", "accuracy", "unreadable")
    groups = SCORE
    intervals = {"hallucination": "hallucination", "perception": "perception", "cognition": "cognition"}
    unreadable = "no yes or no can be read"
    meaning_defined = "Existence, count, position and color together have {hallucination:.1f} of 800 points."
    meaning_undefined = "The sum of existence, count, position and color is undefined."


VIEW = MmeReport()
