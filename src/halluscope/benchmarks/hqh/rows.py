"""Reads HQH's questions: free-form questions of eight types in three levels (section IV.A)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.foreign import brief
from halluscope.judging.graders.judged import Criterion, as_option
from halluscope.reading.fields import Fields
from halluscope.reading.rows import read_each, read_once

LEVELS = {
    "existence": "object",
    "count": "object",
    "attribute": "attribute",
    "action": "attribute",
    "relation": "scene",
    "comparison": "scene",
    "environment": "scene",
    "OCR": "scene",
}
"""The types, as upstream writes them ("attribute" asks for colours), and the level of each (section IV.A)."""

CRITERIA = (Criterion("correct", bool), Criterion("extra_claims", int, 1_000_000))
"""The parts of a verdict on a response. A count of extra claims above the limit is a mistake."""

_UPSTREAM = {"question": "instruction", "answer": "ground_truth"}
"""Our columns -> their names in HQH.json."""


@dataclass(frozen=True)
class FreeQuestion:
    """A question of HQH.

    Attributes:
        id: unique.
        image_id: the image's id in Visual Genome.
        question: the text that the LVLM is asked.
        answer: the short right answer.
        type: one of `LEVELS`.
        caption: a sentence about the image; None if unknown.
        details: the annotated regions of the image, one per line; None if unknown.
        form: the parallel form that the question belongs to; "" for the original.
    """

    id: int
    image_id: int
    question: str
    answer: str
    type: str
    caption: str | None = None
    details: str | None = None
    form: str = ""

    @property
    def level(self) -> str:
        """The level of its type: "object", "attribute" or "scene"."""
        return LEVELS[self.type]

    @property
    def row(self) -> dict[str, int | str | None]:
        """The question as a row of the dataset, without the image."""
        return {
            "id": self.id,
            "image_id": self.image_id,
            "question": self.question,
            "answer": self.answer,
            "type": self.type,
            "level": self.level,
            "caption": self.caption,
            "details": self.details,
        }


COLUMNS = tuple(FreeQuestion.__dataclass_fields__)
"""The dataset's columns that the metric reads; captions and details may be absent."""


def load(sources: Sequence[str]) -> list[FreeQuestion]:
    """Read the dataset: built folders, Hub ids, or HQH.json.

    Raises:
        ValueError: for a file or dataset in another format, or a repeated id.
        FileNotFoundError: if a file does not exist.
    """
    rows = read_each(sources, COLUMNS, COLUMNS[:5], "the dataset hqh")
    return read_all(rows, ", ".join(sources))


def inputs(
    questions: Sequence[FreeQuestion], *, judgements: Any = None, responses: str = ""
) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows.

    Args:
        questions: the rows.
        judgements: a file of judgements, or the judgements themselves, as the metric takes them.
        responses: the name of the responses that were judged.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("judgements", judgements, responses, ids, CRITERIA)}


def read_all(rows: Iterable[Any], where: str = "references") -> list[FreeQuestion]:
    """Read rows of the dataset, or of HQH.json.

    Raises:
        ValueError: for an invalid row, or a repeated id.
    """
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> FreeQuestion:
    """Read a row. A question that was read before is returned unchanged.

    Raises:
        ValueError: for a missing field, a value of the wrong kind, or an unknown type.
    """
    if isinstance(row, FreeQuestion):
        return row
    if not isinstance(row, Mapping):
        raise ValueError(f"{where} is {brief(row)}; expected a row of the dataset hqh, or of HQH.json.")
    names = _UPSTREAM if "instruction" in row else {}
    found = Fields({name: row.get(names.get(name, name)) for name in COLUMNS}, where, names)
    return FreeQuestion(
        id=found.whole("id"),
        image_id=found.whole("image_id"),
        question=found.text("question"),
        answer=found.text("answer"),
        type=found.one_of("type", LEVELS),
        caption=found.text_or_none("caption"),
        details=found.text_or_none("details"),
        form=found.form,
    )
