"""The results and rows of a metric of right answers, as text and as items of a page."""

from collections.abc import Iterator, Sequence

from halluscope.labelled import ACCURACY, LabelledRows
from halluscope.reporting.report_items import UNREADABLE, Fact, Item, answer_kind, judged_texts
from halluscope.reporting.scores_report import ScoresReport
from halluscope.reporting.tables import Values, percent

WRONG = "wrong"  # the error of a response that is read as a wrong answer


class LabelledReport(ScoresReport):
    """How a benchmark's results and rows are shown."""

    metric: LabelledRows
    unreadable: str  # what is said of responses that cannot be read, as in "...: 3.0 % of the responses"
    meaning_defined = "{accuracy} % of the questions are answered rightly."
    meaning_undefined = "The accuracy is undefined."

    def gaps(self, result: Values) -> Iterator[str]:
        if result["unreadable"]:
            yield f"{self.unreadable}: {percent(result['unreadable'])} % of the responses (they are wrong)"

    def items(self, rows: Sequence[Values], options: Values, voters: object = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order."""
        for row, text in zip(rows, judged_texts(rows, options), strict=True):
            reference = row["inputs"]["references"]
            yield Item(
                id=str(row["id"]),
                text=text,
                image=self.image_of(reference),
                question=reference["question"],
                facts=self.facts(row),
                errors=self.errors(row),
                badness=self.badness(row),
            )

    def facts(self, row: Values) -> list[Fact]:
        """Return a row's right answer, and how its response was read."""
        kind = answer_kind(row["read"], row["label"])
        return [
            Fact("label", [(row["label"], "plain")]),
            Fact("read as", [(row["read"] or UNREADABLE, kind)]),
        ]

    def errors(self, row: Values) -> list[str]:
        """Return what is wrong with a response."""
        if row[ACCURACY]:
            return []
        if row["read"] is None:
            return [UNREADABLE]
        return [WRONG]

    def badness(self, row: Values) -> float:
        """Return 1 for a wrong answer, and a half for an unreadable response."""
        if row[ACCURACY]:
            return 0.0
        if row["read"] is None:
            return 0.5
        return 1.0
