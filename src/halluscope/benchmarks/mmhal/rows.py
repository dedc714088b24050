"""MMHal-Bench's questions: eight types about twelve topics, and the files that hold them."""

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
"""What a verdict says of a response."""

_UPSTREAM = {
    "image_url": "image_src",
    "answer": "gt_answer",
    "type": "question_type",
    "topic": "question_topic",
    "contents": "image_content",
}
"""What response_template.json calls our columns."""


@dataclass(frozen=True)
class RatedQuestion:
    """A question of MMHal-Bench.

    Attributes:
        id: unique; its place in response_template.json, from 0.
        image_id: OpenImages'.
        question: as it is put to the LVLM.
        answer: a person's.
        type: one of `TYPES`.
        topic: what the image is about, such as "vehicle".
        contents: what OpenImages' labels say is in the image.
        image_url: where its photograph was published; None where that is not known.
        form: which parallel form it is of; "" for the original.
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
        """The image's file in the authors' folder of images."""
        return self.image_url.rpartition("/")[2] if self.image_url else None

    @property
    def row(self) -> dict[str, Any]:
        """The dataset's row of it, without the image."""
        told = asdict(self) | {"contents": list(self.contents), "file_name": self.file_name}
        return {name: value for name, value in told.items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(RatedQuestion))
NEEDED = COLUMNS[:7]


def load(sources: Sequence[str]) -> list[RatedQuestion]:
    """Read the dataset: built folders, Hub ids, or response_template.json.

    Raises:
        ValueError: for a file or dataset of another form, or an id that comes twice.
        FileNotFoundError: if a file does not exist.
    """
    rows = read_each(sources, COLUMNS, NEEDED, "the dataset mmhal")
    return read_all(rows, ", ".join(sources))


def inputs(questions: Sequence[RatedQuestion], *, ratings: Any = None, responses: str = "") -> dict[str, Any]:
    """What the metric takes of the dataset's rows.

    Args:
        questions: the rows.
        ratings: a file of ratings, or what the metric takes.
        responses: the name of the responses that were rated.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("ratings", ratings, responses, ids, (RATING,))}


def read_all(rows: Iterable[Any], where: str = "references") -> list[RatedQuestion]:
    """Read rows of the dataset, or of response_template.json, where a question's id is its place.

    Raises:
        ValueError: for a row that is none, or an id that comes twice.
    """
    return read_once(rows, where, read)


def read(row: Any, where: str, number: int = 0) -> RatedQuestion:
    """Read a row. A question that was read before stays as it is.

    Args:
        row: of the dataset, or of response_template.json.
        where: it stands.
        number: its place among the rows, which is its id where it has none.

    Raises:
        ValueError: for a missing field, one of another kind, or an unknown type.
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
