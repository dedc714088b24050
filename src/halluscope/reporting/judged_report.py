"""The results and rows of a metric of verdicts, as text and as items of a page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.judged import BY_LENGTH, RATINGS, SPEAKS, Judged
from halluscope.judging.verdicts import UNREAD_REPLY, Criterion, reply_of
from halluscope.reporting.report_items import (
    UNREADABLE,
    Addends,
    Fact,
    Item,
    Kind,
    Mark,
    ToMark,
    judged_texts,
    several,
    verdicts_differ,
)
from halluscope.reporting.scores_report import ScoresReport
from halluscope.reporting.tables import Values, gap, is_defined, percent
from halluscope.sanitize import external_text

LONGEST_NOTE = 1000  # how many characters of a judge's reasons are shown
LONGEST_REPLY = 400  # how many of a reply in which nothing can be read


@dataclass(frozen=True)
class Display:
    """How a criterion's value is shown."""

    label: str
    error: str  # what is wrong with a response whose value is not good
    good: float  # the least good value
    missing: str = UNREADABLE  # what is shown where there is no value

    def kind(self, value: float | None) -> Kind:
        if value is None:
            return "open"
        if value >= self.good:
            return "good"
        return "bad"


class JudgedReport(ScoresReport):
    """How a benchmark's results and rows are shown."""

    metric: Judged
    criteria: Mapping[str, Display]
    notes: Mapping[str, str] = {}  # text of a verdict -> its label
    known: Mapping[str, str] = {}  # column of a row that helps to check a verdict -> its label
    parts: Mapping[str, str] = {}  # what a row is a part of, by its column
    unrated: str = "no readable verdict"  # what is said of responses that count in no score

    # Results

    def remarks(self, result: Values) -> Iterator[str]:
        yield from super().remarks(result)
        for name, rise in result.get(BY_LENGTH, {}).items():
            if is_defined(rise["value"]):
                yield f"{name} per 100 more words: {with_interval(rise)}"
        spoken = result.get(SPEAKS)
        if spoken:
            yield f"doubtful: {len(spoken):,} responses seem to speak to the judge ({SPEAKS} names them)"

    def gaps(self, result: Values) -> Iterator[str]:
        """Yield what the result says of responses that count in no score."""
        unread = result[self.metric.unread]
        if unread:
            yield f"{self.unrated}: {percent(unread)} % of the responses (they count in no score)"

    # Rows

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order."""
        for row, text in zip(rows, judged_texts(rows, options), strict=True):
            reference = row["inputs"]["references"]
            facts = list(self.verdict(row, text))
            facts += self.reasons(row)
            facts += self.facts(reference)
            yield Item(
                id=self.id_of(row),
                text=text,
                image=self.image_of(reference),
                marks=self.marks(row, text),
                question=reference["question"],
                facts=facts,
                errors=self.errors(row),
                parts={label: reference[column] for column, label in self.parts.items()},
                disputed=verdicts_differ(row),
                badness=self.badness(row),
                unread=bool(row[self.metric.unread]),
            )

    def id_of(self, row: Values) -> str:
        if "id" in row:
            return str(row["id"])
        return str(row["question"])

    def marks(self, row: Values, text: str) -> Sequence[Mark]:
        return ()

    def ordered(self) -> list[Criterion]:
        """Return the criteria in the order in which they are shown, the most important one first."""
        by_name = {criterion.name: criterion for criterion in self.metric.criteria}
        return [by_name[name] for name in self.criteria]

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        """Yield the value of each criterion; `text` is the response."""
        for criterion in self.ordered():
            display = self.criteria[criterion.name]
            value = row[criterion.name]
            kind = display.kind(value)
            words = self.words(criterion, display, value)
            if value is not None and row[self.metric.unread] and len(self.metric.criteria) == 1:
                words = f"{UNREADABLE}, which counts as {value}"
                kind = "open"
            yield Fact(display.label, [(words, kind)])

    def words(self, criterion: Criterion, display: Display, value: Any) -> str:
        """Return what a criterion's value is called."""
        if value is None:
            return display.missing
        if criterion.kind is bool:
            return "right" if value else "wrong"
        return f"{value:g} of {criterion.most}"

    def errors(self, row: Values) -> list[str]:
        """Return what is wrong with a response."""
        errors = []
        for name, display in self.criteria.items():
            if display.kind(row[name]) == "bad":
                errors.append(display.error)
        if row[self.metric.unread]:
            errors.append(self.metric.unread)
        return errors

    def badness(self, row: Values) -> float:
        """Return how bad a response is: the points that it lost by the first criterion, then by the others."""
        criteria = self.ordered()
        lost = []
        for criterion in criteria:
            value = row[criterion.name]
            if value is None:
                value = criterion.most / 2
            lost.append(criterion.most - value)
        weight = 10 * criteria[0].most
        return float(lost[0] + sum(lost[1:]) / weight)

    def reasons(self, row: Values) -> Iterator[Fact]:
        """Yield what the judge says about its verdict, or the reply in which none can be read."""
        for name, label in self.notes.items():
            if row.get(name):
                yield Fact(label, [(external_text(row[name], LONGEST_NOTE), "plain")])
        yield from unread_reply(row, [criterion.name for criterion in self.metric.criteria])

    def facts(self, reference: Values) -> Iterator[Fact]:
        """Yield what is known of a row, by which a person can check the verdict."""
        for name, label in self.known.items():
            texts = lines_of(reference[name])
            if any(texts):
                yield several(label, texts)

    # What people may mark

    def asks(self, row: Values) -> ToMark:
        """Return what people may mark of a row."""
        lines = []
        for fact in self.facts(row["inputs"]["references"]):
            texts = ", ".join(text for text, _ in fact.values)
            lines.append(f"{fact.name}: {texts}")
        verdicts = {}
        most = {}
        for criterion in self.metric.criteria:
            value = row[criterion.name]
            verdicts[criterion.name] = math.nan if value is None else float(value)
            most[criterion.name] = criterion.most
        return ToMark("\n".join(lines), verdicts, most)

    def counted(self, verdicts: Sequence[Mapping[str, float]]) -> dict[str, Addends]:
        """Return what each row adds to each score, by its verdicts: criterion -> number."""
        values = {}
        for criterion in self.metric.criteria:
            of_rows = [verdict.get(criterion.name, np.nan) for verdict in verdicts]
            values[criterion.name] = np.array(of_rows)
        counted = {}
        for name, adds in self.metric.adds(values).items():
            counted[name] = Addends(adds.values.astype(float), adds.counts.astype(float))
        return counted


def unread_reply(row: Values, criteria: Sequence[str] = ()) -> Iterator[Fact]:
    """Yield the reply of a judge in which nothing can be read, or the text that a user gave as such.

    Args:
        row: the row of a run.
        criteria: what a verdict says, by which a text is told from numbers.
    """
    reply = row.get(UNREAD_REPLY)
    if reply is None and criteria and all(row.get(name) is None for name in criteria):
        reply = reply_of(row["inputs"].get(RATINGS), criteria, RATINGS)
    if reply:
        yield Fact("unreadable reply", [(external_text(reply, LONGEST_REPLY), "open")])


def with_interval(change: Mapping[str, float]) -> str:
    """Return a change of points with its interval, if it has one."""
    number = gap(change["value"], True, (change.get("low", math.nan), change.get("high", math.nan)))
    if number.interval:
        return f"{number} ({number.interval})"
    return str(number)


def lines_of(value: str | Sequence[str] | None) -> Sequence[str]:
    """Return the lines of a text, or the texts of a list."""
    if value is None:
        return ()
    if isinstance(value, str):
        return value.splitlines()
    return value
