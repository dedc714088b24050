"""How HumbleBench's results and rows are shown."""

from collections.abc import Iterator

from halluscope.benchmarks.humblebench.metric import METRIC
from halluscope.reporting.labelled_report import LabelledReport
from halluscope.reporting.tables import Values, is_defined


class HumbleBenchReport(LabelledReport):
    metric = METRIC
    columns = ("accuracy", "balanced_accuracy", "e_accuracy", "unreadable")
    groups = "accuracy"
    intervals = {
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced accuracy",
        "e_accuracy": "E accuracy",
    }
    unreadable = "no letter, or more than one, can be read"

    def sizes(self, result: Values) -> Iterator[str]:
        for size in super().sizes(result):
            if is_defined(result["chance"]):
                size = f"{size}; by chance {result['chance']:.0%} would be right"
            yield size


VIEW = HumbleBenchReport()
