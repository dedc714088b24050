"""Reads MMHal-Bench's questions: questions of eight types about twelve topics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from halluscope.foreign import brief
from halluscope.judging.graders.judged import Criterion, as_option
from halluscope.reading.fields import Fields
from halluscope.reading.rows import read_each, read_once

TYPES = (
    *("attribute", "adversarial", "comparison", "counting"),
    *("relation", "environment", "holistic", "other"),
)
"""The types, in the order in which the authors' script prints them."""

RATING = Criterion("rating", int, 6)
"""The one part of a verdict on a response."""

_UPSTREAM = {
    "image_url": "image_src",
    "answer": "gt_answer",
    "type": "question_type",
    "topic": "question_topic",
    "contents": "image_content",
}
"""Our columns -> their names in response_template.json."""


@dataclass(frozen=True)
class RatedQuestion:
    """A question of MMHal-Bench.

    Attributes:
        id: unique; the place in response_template.json, from 0.
        image_id: the image's id in OpenImages.
        question: the text that the LVLM is asked.
        answer: a person's answer.
        type: one of `TYPES`.
        topic: what the image is about, such as "vehicle".
        contents: what OpenImages' labels say is in the image.
        image_url: the address where the photograph was published; None if unknown.
        form: the parallel form that the question belongs to; "" for the original.
    """

    id: int
    image_id: str
    question: str
    answer: str
    type: str
    topic: str
    contents: tuple[str, ...]
    image_url: str | None = None
    form: str = ""

    @property
    def file_name(self) -> str | None:
        """The image's file name in the authors' folder of images."""
        return self.image_url.rpartition("/")[2] if self.image_url else None

    @property
    def row(self) -> dict[str, Any]:
        """The question as a row of the dataset, without the image."""
        told = asdict(self) | {"contents": list(self.contents), "file_name": self.file_name}
        return {name: value for name, value in told.items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(RatedQuestion))
NEEDED = COLUMNS[:7]


def load(sources: Sequence[str]) -> list[RatedQuestion]:
    """Read the dataset: built folders, Hub ids, or response_template.json.

    Raises:
        ValueError: for a file or dataset in another format, or a repeated id.
        FileNotFoundError: if a file does not exist.
    """
    rows = read_each(sources, COLUMNS, NEEDED, "the dataset mmhal")
    return read_all(rows, ", ".join(sources))


def inputs(questions: Sequence[RatedQuestion], *, ratings: Any = None, responses: str = "") -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows.

    Args:
        questions: the rows.
        ratings: a file of ratings, or the ratings themselves, as the metric takes them.
        responses: the name of the responses that were rated.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("ratings", ratings, responses, ids, (RATING,))}


def read_all(rows: Iterable[Any], where: str = "references") -> list[RatedQuestion]:
    """Read rows of the dataset, or of response_template.json, where a question's id is its position.

    Raises:
        ValueError: for an invalid row, or a repeated id.
    """
    return read_once(rows, where, read)


def read(row: Any, where: str, number: int = 0) -> RatedQuestion:
    """Read a row. A question that was read before is returned unchanged.

    Args:
        row: a row of the dataset, or of response_template.json.
        where: the place of the row, for messages.
        number: its number among the rows, which is the id if the row has no id.

    Raises:
        ValueError: for a missing field, a value of the wrong kind, or an unknown type.
    """
    if isinstance(row, RatedQuestion):
        return row
    if not isinstance(row, Mapping):
        raise ValueError(
            f"{where} is {brief(row)}; expected a row of the dataset mmhal, or of response_template.json."
        )
    names = _UPSTREAM if "gt_answer" in row else {}
    given: dict[str, Any] = {name: row.get(names.get(name, name)) for name in COLUMNS}
    if names and given["id"] is None:
        given["id"] = number
    found = Fields(given, where, names)
    return RatedQuestion(
        id=found.whole("id"),
        image_id=found.text("image_id"),
        question=found.text("question"),
        answer=found.text("answer"),
        type=found.one_of("type", TYPES),
        topic=found.text("topic"),
        contents=found.words("contents"),
        image_url=found.text_or_none("image_url"),
        form=found.form,
    )
