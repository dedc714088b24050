"""Shows HaloQuest's rows: the response next to the answers that people wrote, and the verdict."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.foreign import heard
from halluscope.reporting.shown import UNREADABLE, Fact, Item, Kind, disagree, said, several
from halluscope.reporting.tables import is_defined, percent

WRONG = "wrong"

VERDICTS: Mapping[bool | None, tuple[str, Kind, float]] = {
    True: ("right", "good", 0.0),
    False: (WRONG, "bad", 1.0),
    None: (UNREADABLE, "open", 0.5),
}
"""Whether a response is right -> the verdict's name, kind and badness."""


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
        verdict, kind, badness = VERDICTS[row["correct"]]
        yield Item(
            id=str(row["id"]),
            text=text,
            image=asked["file_name"],
            question=asked["question"],
            facts=[Fact("verdict", [(verdict, kind)]), *_facts(row, asked)],
            errors=[] if row["correct"] else [verdict],
            parts={"image": asked["image_type"], "type": asked["type"]},
            disputed=disagree(row),
            badness=badness,
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Return what the accuracy says, in a sentence."""
    if not is_defined(scores["accuracy"]):
        return "The accuracy is undefined: no response has a readable verdict."
    return f"{percent(scores['accuracy'])} of 100 judged responses agree with an answer that people wrote."


def _facts(row: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[Fact]:
    if row.get("point"):
        yield Fact("its main point, according to the judge", [(heard(row["point"], 1000), "plain")])
    yield several("right answers", asked["answers"])
