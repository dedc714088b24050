"""How MME's results and rows are shown."""

from halluscope.benchmarks.mme.metric import METRIC, SCORE
from halluscope.reporting.labelled_report import LabelledReport


class MmeReport(LabelledReport):
    metric = METRIC
    columns = ("hallucination", "perception", "cognition", "accuracy", "unreadable")
    groups = SCORE
    intervals = {"hallucination": "hallucination", "perception": "perception", "cognition": "cognition"}
    unreadable = "no yes or no can be read"
    meaning_defined = "{accuracy} % of the questions are answered rightly."
    meaning_undefined = "The score of the hallucination part is undefined."


VIEW = MmeReport()
