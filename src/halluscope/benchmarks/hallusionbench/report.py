"""Shows HallusionBench's results like Tables 2 and 3, and its rows as control pairs, with why a response fails."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from halluscope.benchmarks.hallusionbench.scoring import CORRECT, FAILURES, INCORRECT, UNCERTAIN
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.reporting import tables
from halluscope.reporting.report_items import UNREADABLE, Fact, Item, Kind, judged_texts, verdicts_differ
from halluscope.reporting.tables import (
    Named,
    Report,
    Table,
    group_table,
    is_defined,
    percent,
    ranked,
    score,
    table,
)

LANGUAGE = FAILURES[1]
WORDS = {failure: failure.replace("_", " ") for failure in FAILURES[1:]}
VERDICTS = {INCORRECT: "incorrect", CORRECT: "correct", UNCERTAIN: "uncertain"}


class HallusionView(View):
    """How HallusionBench's results and rows are shown."""

    # The result

    def report(
        self, results: Named, *, rows: Sequence[Any] = (), protocol: str = "official", **_: Any
    ) -> Report:
        coin = [("random chance, expected", self.graded.chance(rows, protocol))] if rows else []  # type: ignore[attr-defined]
        best, by = ranked([*results, *coin], "aAcc"), self.data["by_category"]
        of_categories = [
            [name, of or "overall", *(score(result, f"{one}{of and '/'}{of}") for one in by)]
            for name, result in results
            for of in (*result["counts"], "")
        ]
        subcategories = group_table(
            results, "aAcc"
        )  # with the paper's names beside the data's where they differ
        named = {name: f"{name} ({of})" for name, of in self.data["paper_names"].items()}
        scores = [
            table(best, self.data["columns"], name="table 2"),
            table(best, self.data["analysis"], self.record.is_points, name="table 3"),
            Table("categories", ["responses", "category", *by], of_categories, left=2, ranked=True),
            replace(subcategories, header=[named.get(name, name) for name in subcategories.header]),
        ]
        remarks = {name: [*self.remarks(one), f"signature: {one['signature']}"] for name, one in results}
        return tables.report(scores, remarks)

    def gaps(self, result: Values) -> Iterator[str]:
        if "overall" in result:
            yield f"mean of aAcc, qAcc and fAcc: {percent(result['overall'])} %"
        if result["unread"]:
            yield f"unreadable: {percent(result['unread'])} % (counted as uncertain)"
        if result["uncertain"]:
            yield f"uncertain: {percent(result['uncertain'])} % (counted as right where there is no image)"

    def meaning(self, scores: Values) -> str:
        if not is_defined(scores["aAcc"]):
            return "The accuracy is undefined: there are no responses."
        right = f"{percent(scores['aAcc'])} of 100 responses are right"
        if scores["aAcc"] == 1:
            return f"{right}."
        if not is_defined(scores[LANGUAGE]):
            return f"{right}; why the others fail is undefined without the questions that have no image."
        language, vision, mixed = (percent(scores[failure]) for failure in WORDS)
        return (
            f"{right} (an uncertain one is right where no image is shown); of 100 others, {language} "
            f"ignore the image (language hallucination), {vision} misread it (visual illusion), and {mixed} are a mix."
        )

    # The rows

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order; the rows of a control pair form a group."""
        questions = [self._question(row) for row in rows]
        right: dict[Any, list[Any]] = defaultdict(list)
        for row, question in zip(rows, questions, strict=True):
            for group in (question.pair, question.figure):
                right[group].append(row["aAcc"])
        for row, question, text in zip(rows, questions, judged_texts(rows, options), strict=True):
            pair = right[question.pair]
            shares = {"control pair": pair, **({"figure": right[question.figure]} if question.figure else {})}
            asked_about = self.data["asked_about"][question.role]
            yield Item(
                id=row["question"],
                text=text,
                image=question.figure,
                question=question.question,
                group=question.pair,
                facts=[
                    Fact("asked about", [(asked_about, "plain")]),
                    Fact("right answer", [(self._answer(question), "plain")]),
                    *self._outcome(row, question),
                    *(
                        Fact(name, [(f"{sum(each)} of {len(each)} right", "good" if all(each) else "bad")])
                        for name, each in shares.items()
                    ),
                ],
                errors=self.errors(row),
                parts={
                    "category": question.category,
                    "subcategory": question.group,
                    "asked about": asked_about,
                },
                disputed=verdicts_differ(row),
                badness=pair.count(False) / len(pair) + (not row["aAcc"]),
            )

    def errors(self, row: Values) -> list[str]:
        failed = [] if row["aAcc"] else [WORDS.get(row["failure"]) or VERDICTS[row["correctness"]]]
        return [*failed, *([UNREADABLE] if row["unread"] else [])]

    def asks(self, row: Values) -> tuple[str, dict[str, tuple[Any, int]]]:
        question = self._question(row)
        about = self.data["asked_about"][question.role]
        return f"asked about: {about}\nright answer: {self._answer(question)}", {"right": (row["aAcc"], 1)}

    def counted(self, values: Sequence[Mapping[str, float]]) -> Any:
        right = np.array([of.get("right", np.nan) for of in values])
        known = ~np.isnan(right)
        return {"aAcc": (np.where(known, right, 0), known)}

    def _question(self, row: Values) -> Any:
        return self.graded.read(row["inputs"]["references"], "the row of a run")

    def _answer(self, question: Any) -> str:
        right, details = question.gt_answer, question.gt_answer_details
        return f"{right}: {details}" if details else str(right)

    def _outcome(self, row: Values, question: Any) -> Iterator[Fact]:
        kind: Kind = "good" if row["aAcc"] else "bad"
        said = VERDICTS[row["correctness"]]
        if row["unread"]:
            said, kind = "unreadable, which counts as uncertain", "open"
        elif row["aAcc"] and row["correctness"] != CORRECT:
            said = "uncertain, which is right without an image"
        yield Fact("verdict", [(said, kind)])
        if failure := row["failure"]:
            leaves = self.data["leaves"][failure]
            leaf = leaves.get(question.category if question.figure else "none") or leaves["any"]
            yield Fact("failure", [(f"{WORDS[failure]}: {leaf}", "bad")])
