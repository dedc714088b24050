"""How HQH's results and rows are shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.benchmarks.hqh.claims import places
from halluscope.benchmarks.hqh.metric import METRIC
from halluscope.judging.verdicts import Criterion
from halluscope.reporting.judged_report import Display, JudgedReport
from halluscope.reporting.report_items import Fact, Kind, Mark
from halluscope.reporting.tables import Values, filled, is_defined
from halluscope.sanitize import external_text

LONGEST_QUOTE = 300  # how many characters of a claim are shown


@dataclass(frozen=True)
class ShownClaims(Display):
    """How a number of claims is shown: each is an error."""

    def kind(self, value: float | None) -> Kind:
        if value is None:
            return "open"
        if value == 0:
            return "good"
        return "bad"


class HQHReport(JudgedReport):
    metric = METRIC
    columns = (  # of Table IV, after the length of the responses
        "mean_words",
        "main_hal/object",
        "main_hal/attribute",
        "main_hal/scene",
        "main_hal",
        "extra_hal",
        "overall_hal",
    )
    groups = "main_hal"
    intervals = {"main_hal": "main", "overall_hal": "overall"}
    criteria = {
        "correct": Display("main answer", "wrong answer", good=1, missing="not judged"),
        "extra_claims": ShownClaims(
            "extra claims that contradict the image", "extra claims", good=0, missing="not looked for"
        ),
    }
    known = {"answer": "right answer", "caption": "caption", "details": "regions"}
    parts = {"type": "type", "level": "level"}
    unrated = "not judged"
    meaning_defined = (
        "{overall_hal} of 100 responses hallucinate: the main answer is wrong in {main_hal} of 100, and there are "
        "{extra_hal:.2f} extra claims per response that contradict the image."
    )
    meaning_without_claims = (
        "{main_hal} of 100 main answers are wrong; the overall rate is undefined, because nobody looked for extra "
        "claims."
    )
    meaning_undefined = "The rate of hallucination is undefined: no response was judged."

    def gaps(self, result: Values) -> Iterator[str]:
        yield from super().gaps(result)
        counts = result["counts"]["all"]
        if counts["judged"] and counts["extra_claims"] is None:
            yield "nobody looked for extra claims: there is no extra rate and no overall rate"
        elif counts["judged_in_full"] < counts["judged"]:
            yield (
                f"overall covers only the {counts['judged_in_full']:,} of {counts['judged']:,} judged responses in "
                "which extra claims were looked for; it may be below main"
            )

    def meaning(self, scores: Values) -> str:
        if is_defined(scores["main_hal"]) and not is_defined(scores["overall_hal"]):
            return filled(self.meaning_without_claims, scores)
        return super().meaning(scores)

    def marks(self, row: Values, text: str) -> Sequence[Mark]:
        """Return where the response has the claims that count."""
        marks = []
        for number, claim in enumerate(row.get("evidence", ()), start=1):
            for start, end in places(claim, text):
                marks.append(Mark(start, end, "bad", f"claim {number}, which contradicts the image"))
        return sorted(marks)

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        yield from super().verdict(row, text)
        unplaced: list[tuple[str, Kind]] = []
        for claim in row.get("evidence", ()):
            if not places(claim, text):
                unplaced.append((external_text(claim, LONGEST_QUOTE), "bad"))
        if unplaced:
            yield Fact("claims quoted in other words", unplaced)

    def words(self, criterion: Criterion, display: Display, value: Any) -> str:
        if value is not None and criterion.kind is int:
            return f"{value:,}"
        return super().words(criterion, display, value)

    def badness(self, row: Values) -> float:
        """Return how many faults a response has."""
        faults = row["extra_claims"] or 0  # None if nobody looked for them
        if row["correct"] is False:
            faults += 1
        return float(faults)


VIEW = HQHReport()
