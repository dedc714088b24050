"""HumbleBench's rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.responses.image_urls import file_in

# The first three are those of the table on the Hub; the authors' logs of "common" and "noise" have others
TYPES = ("Relation", "Attribute", "Object", "Category", "Location", "Weather")
NOISE = "noise_image.png"  # shown with all questions in the setting "noise", whichever image they are about
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
            file_name=row.text_or_none("file_name") or file_of(row.values.get("image")),
            type=row.one_of("type", TYPES),
            question=row.text_or_none("question"),
            label=row.one_of("label", LETTERS),
            form=row.form,
        )


QUESTIONS = Questions()


def file_of(image: Any) -> str | None:
    """Return the name of an image's file, which the authors' rows state by its path; None if they state none."""
    path = image
    if isinstance(image, Mapping):
        path = image.get("path")
    if not isinstance(path, str) or not path or file_in(path) == NOISE:
        return None
    return file_in(path)
