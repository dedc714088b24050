"""HumbleBench's rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows

TYPES = (
    "Relation",
    "Attribute",
    "Category",
    "Location",
    "Weather",
    "Object",
)  # Object: only where E alone is right
LETTERS = ("A", "B", "C", "D", "E")  # of the choices; E is "none of the above"


@dataclass(frozen=True)
class Question(Row):
    """A question about an image, with five choices."""

    question_id: int
    file_name: str | None
    type: str
    question: str | None  # with its choices
    label: str  # the letter of the right answer


class Questions(Rows[Question]):
    row_type = Question
    dataset = "humblebench"
    file = "the authors' table"
    id = "question_id"
    needed = ("question_id", "type", "label")
    marker = ""

    def parse(self, row: Fields) -> Question:
        return Question(
            question_id=row.whole("question_id"),
            file_name=row.text_or_none("file_name"),
            type=row.one_of("type", TYPES),
            question=row.text_or_none("question"),
            label=row.one_of("label", LETTERS),
            form=row.form,
        )


QUESTIONS = Questions()


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec may state."""
    types = Counter(row.type for row in rows)
    numbers = {"questions": len(rows)}
    for name in TYPES:
        numbers[name] = types[name]
    numbers["images"] = len({row.file_name for row in rows})
    return numbers


def features(with_image: bool = False) -> dict[str, Any]:
    """Return the types of the dataset's columns."""
    from datasets import Image, Value

    columns = {"question_id": Value("int64"), "file_name": Value("string")}
    if with_image:
        columns["image"] = Image()
    for name in ("type", "question", "label"):
        columns[name] = Value("string")
    return columns
