"""A graded benchmark's result as tables and remarks, and its rows as items, as the data file declares them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.benchmark import Benchmark
from halluscope.graded.metric import Graded
from halluscope.graded.rows import Values
from halluscope.judging.verdicts import Criterion
from halluscope.registry import benchmark
from halluscope.reporting import tables
from halluscope.reporting.report_items import (
    UNREADABLE,
    Fact,
    Item,
    Kind,
    Mark,
    judged_texts,
    several,
    verdicts_differ,
)
from halluscope.reporting.tables import (
    Named,
    Report,
    Table,
    best_first,
    filled,
    group_table,
    is_defined,
    scored,
    table,
)
from halluscope.sanitize import external_text


class View:
    """How a graded benchmark's results and rows are shown; a subclass holds what its data file cannot say."""

    def __init__(self, graded: Graded) -> None:
        self.graded, self.data = graded, graded.data["report"]
        self.criteria = {one.name: one for one in graded.criteria}
        self.lines = [(self.criteria[name], one) for name, one in self.data.get("verdict", {}).items()]

    @property
    def record(self) -> Benchmark:
        return benchmark(self.graded.name)

    # The result

    def report(self, results: Named, **options: Any) -> Report:
        """Return tables of scores, the best result first, and remarks on each result."""
        remarks = {name: [*self.remarks(one), f"signature: {one['signature']}"] for name, one in results}
        return tables.report(self.tables(results, **options), remarks)

    def tables(self, results: Named, **_: Any) -> list[Table]:
        is_points, best = self.record.is_points, best_first(self.record, results)
        groups = self.data.get("groups")
        of_groups = [group_table(best, groups, is_points)] if groups else []
        return [table(best, self.data["columns"], is_points), *of_groups]

    def remarks(self, result: Values) -> Iterator[str]:
        yield from (filled(text, result) for name, text in self.data["remarks"].items() if result.get(name))
        yield from self.gaps(result)
        over = f"interval over {self.graded.over}"
        for key, text in (("interval", over), ("spread", "lowest and highest of the repeats")):
            shown = [
                f"{label} {ends}"
                for name, label in self.data["intervals"].items()
                if (
                    ends := scored(
                        None, self.record.is_points(name), result.get(key, {}).get(name, ())
                    ).interval
                )
            ]
            if shown:
                yield f"{text}: {', '.join(shown)}"

    def gaps(self, result: Values) -> Iterator[str]:
        """Yield what else the result says of responses that count in no score."""
        yield from ()

    def meaning(self, scores: Values) -> str:
        return filled(self.data[self.sentence(scores)], scores)

    def sentence(self, scores: Values) -> str:
        """Return the name of the text in the data file that says what the scores mean."""
        return "meaning" if is_defined(scores[self.record.principal]) else "undefined"

    # The rows

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order.

        Args:
            rows: the rows of a run's items.jsonl.
            options: the metric's options.
            voters: unused: this benchmark has no votes.
        """
        for row, text in zip(rows, judged_texts(rows, options), strict=True):
            asked = row["inputs"]["references"]
            image = asked[self.graded.dataset["image_key"]]
            yield Item(
                id=str(row["id"] if "id" in row else row["question"]),
                text=text,
                image=None if image is None else str(image),
                marks=self.marks(row, text),
                question=asked["question"],
                facts=[*self.verdict(row, text), *self.reasons(row), *self.known(asked)],
                errors=self.errors(row),
                parts={label: asked[column] for label, column in self.data.get("parts", {}).items()},
                disputed=verdicts_differ(row),
                badness=self.badness(row),
            )

    def marks(self, row: Values, text: str) -> Sequence[Mark]:
        return ()

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        for criterion, line in self.lines:
            value = row[criterion.name]
            kind = self.kind(criterion, line, value)
            if value is None:
                words = line.get("missing", UNREADABLE)
            elif row[self.graded.unread] and len(self.criteria) == 1:
                words, kind = f"{UNREADABLE}, which counts as {value}", "open"
            elif criterion.kind is bool:
                words = "right" if value else "wrong"
            else:
                words = f"{value:,}" if "limit" in line else f"{value:g} of {criterion.most}"
            yield Fact(line["label"], [(words, kind)])

    def kind(self, criterion: Criterion, line: Values, value: Any) -> Kind:
        """Return the kind of a value: it is good from `good` on, by default the largest one, or up to a `limit`."""
        if value is None:
            return "open"
        is_good = value <= line["limit"] if "limit" in line else value >= line.get("good", criterion.most)
        return "good" if is_good else "bad"

    def errors(self, row: Values) -> list[str]:
        wrong = [line["error"] for of, line in self.lines if self.kind(of, line, row[of.name]) == "bad"]
        return [*wrong, *[self.graded.unread] * bool(row[self.graded.unread])]

    def badness(self, row: Values) -> float:
        """Return how bad a response is: the points that it lost by the first criterion, then by the others."""
        values = [(of.most, row[of.name]) for of, _ in self.lines]
        lost = [most / 2 if value is None else most - value for most, value in values]
        return float(lost[0] + sum(lost[1:]) / (10 * values[0][0]))

    def reasons(self, row: Values) -> Iterator[Fact]:
        for name, label in self.data.get("notes", {}).items():
            if row.get(name):
                yield Fact(label, [(external_text(row[name], 1000), "plain")])

    def known(self, asked: Values) -> Iterator[Fact]:
        for name, label in self.data.get("known", {}).items():
            value = asked[name]
            texts = value.splitlines() if isinstance(value, str) else value or ()
            if any(texts):
                yield several(label, [one["phrase"] if isinstance(one, Mapping) else one for one in texts])

    # What people may mark

    def asks(self, row: Values) -> tuple[str, dict[str, tuple[Any, int]]]:
        """Return what is known of a row, and for each criterion the judge's value and the largest possible one."""
        facts = self.known(row["inputs"]["references"])
        known = [f"{fact.name}: {', '.join(text for text, _ in fact.values)}" for fact in facts]
        return "\n".join(known), {one.name: (row[one.name], one.most) for one in self.criteria.values()}

    def counted(self, values: Sequence[Mapping[str, float]]) -> Any:
        """Return what each row adds to each score, and whether it counts, by verdicts: criterion -> number."""
        return self.graded.parts(
            {name: np.array([of.get(name, np.nan) for of in values]) for name in self.criteria}
        )
