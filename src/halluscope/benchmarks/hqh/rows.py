"""HQH's questions: free-form ones of eight types in three levels (section IV.A), and the files that hold them."""

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
"""What a verdict says of an answer. More claims beside one are a mistake of whoever counted them."""

_UPSTREAM = {"question": "instruction", "answer": "ground_truth"}
"""What HQH.json calls our columns."""


@dataclass(frozen=True)
class FreeQuestion:
    """A question of HQH.

    Attributes:
        id: unique.
        image_id: Visual Genome's.
        question: as it is put to the LVLM.
        answer: the short right answer.
        type: one of `LEVELS`.
        caption: a sentence about the image; None where it is not known.
        details: the annotated regions of the image, one per line; None where they are not known.
        form: which parallel form it is of; "" for the original.
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
        """What its type is about: "object", "attribute" or "scene"."""
        return LEVELS[self.type]

    @property
    def row(self) -> dict[str, int | str | None]:
        """The dataset's row of it, without the image."""
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
"""The dataset's columns, as far as the metric needs them; captions and details may be absent."""


def load(sources: Sequence[str]) -> list[FreeQuestion]:
    """Read the dataset: built folders, Hub ids, or HQH.json.

    Raises:
        ValueError: for a file or dataset of another form, or an id that comes twice.
        FileNotFoundError: if a file does not exist.
    """
    rows = read_each(sources, COLUMNS, COLUMNS[:5], "the dataset hqh")
    return read_all(rows, ", ".join(sources))


def inputs(
    questions: Sequence[FreeQuestion], *, judgements: Any = None, responses: str = ""
) -> dict[str, Any]:
    """What the metric takes of the dataset's rows.

    Args:
        questions: the rows.
        judgements: a file of judgements, or what the metric takes.
        responses: the name of the responses that were judged.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("judgements", judgements, responses, ids, CRITERIA)}


def read_all(rows: Iterable[Any], where: str = "references") -> list[FreeQuestion]:
    """Read rows of the dataset, or of HQH.json.

    Raises:
        ValueError: for a row that is none, or an id that comes twice.
    """
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> FreeQuestion:
    """Read a row. A question that was read before stays as it is.

    Raises:
        ValueError: for a missing field, one of another kind, or an unknown type.
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
