"""Shows HQH's rows: the right answer, and marks on the claims that a judge quotes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.hqh.prompts import places
from halluscope.foreign import heard
from halluscope.reporting.shown import Fact, Item, Kind, Mark, disagree, said, several
from halluscope.reporting.tables import is_defined, percent

WRONG, EXTRA, UNJUDGED = "wrong answer", "extra claims", "unjudged"

MAIN: Mapping[bool | None, tuple[str, Kind]] = {
    True: ("right", "good"),
    False: ("wrong", "bad"),
    None: ("not judged", "open"),
}
"""The first step of a verdict -> how it is shown."""


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order.

    Args:
        rows: the rows of a run's items.jsonl.
        options: the metric's options.
        voters: unused: this benchmark has no votes.
    """
    for row, text in zip(rows, said(rows, options), strict=True):
        asked = row["inputs"]["references"]
        found = {quote: places(quote, text) for quote in row.get("evidence", ())}
        yield Item(
            id=str(row["id"]),
            text=text,
            image=str(asked["image_id"]),
            question=asked["question"],
            marks=_marks(found),
            facts=[*_verdict(row, found), *_known(asked)],
            errors=_errors(row),
            parts={"type": asked["type"], "level": asked["level"]},
            disputed=disagree(row),
            badness=(row["correct"] is False) + (row["extra_claims"] or 0),
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Return what the overall rate of hallucination says, in a sentence."""
    main, extra = percent(scores["main_hal"]), scores["extra_hal"]
    if not is_defined(scores["main_hal"]):
        return "The rate of hallucination is undefined: no response was judged."
    if not is_defined(scores["overall_hal"]):
        return (
            f"{main} of 100 main answers are wrong; the overall rate is undefined, because nobody looked for extra "
            "claims."
        )
    return (
        f"{percent(scores['overall_hal'])} of 100 responses hallucinate: the main answer is wrong in {main} of 100, "
        f"and there are {extra:.2f} extra claims per response that contradict the image."
    )


def _marks(found: Mapping[str, Sequence[tuple[int, int]]]) -> list[Mark]:
    """Return one mark per part of each claim, in the order of the text."""
    marks = [
        Mark(start, end, "bad", f"claim {number}, which contradicts the image")
        for number, places in enumerate(found.values(), 1)
        for start, end in places
    ]
    return sorted(marks, key=lambda mark: (mark.start, mark.end))


def _errors(row: Mapping[str, Any]) -> list[str]:
    about = {WRONG: row["correct"] is False, EXTRA: bool(row["extra_claims"]), UNJUDGED: row["unjudged"]}
    return [error for error, is_so in about.items() if is_so]


def _verdict(row: Mapping[str, Any], found: Mapping[str, Sequence[tuple[int, int]]]) -> Iterator[Fact]:
    yield Fact("main answer", [MAIN[row["correct"]]])
    yield Fact("extra claims that contradict the image", [_number(row["extra_claims"])])
    if unplaced := [quote for quote, places in found.items() if not places]:
        yield Fact("claims quoted in other words", [(heard(quote, 300), "bad") for quote in unplaced])


def _number(claims: int | None) -> tuple[str, Kind]:
    if claims is None:
        return "not looked for", "open"
    return f"{claims:,}", "bad" if claims else "good"


def _known(asked: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the facts about the image."""
    yield Fact("right answer", [(asked["answer"], "plain")])
    if asked["caption"]:
        yield Fact("caption", [(asked["caption"], "plain")])
    if asked["details"]:
        yield several("regions", asked["details"].splitlines())
