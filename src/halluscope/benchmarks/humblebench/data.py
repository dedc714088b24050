"""HumbleBench's rows."""

from dataclasses import dataclass

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
