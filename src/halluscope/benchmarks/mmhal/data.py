"""MMHal-Bench's rows."""

from dataclasses import dataclass

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows

# In the order in which the authors' script prints them
TYPES = (
    "attribute",
    "adversarial",
    "comparison",
    "counting",
    "relation",
    "environment",
    "holistic",
    "other",
)


@dataclass(frozen=True)
class Question(Row):
    """A question about a photograph."""

    id: int
    image_id: str
    file_name: str | None  # the photograph's name in the authors' folder
    image_url: str | None
    question: str
    answer: str  # a person's
    type: str
    topic: str
    contents: tuple[str, ...]  # objects in the image, not all of them


class Questions(Rows[Question]):
    row_type = Question
    dataset = "mmhal"
    file = "response_template.json"
    needed = ("id", "image_id", "question", "answer", "type", "topic", "contents")
    upstream = {
        "answer": "gt_answer",
        "type": "question_type",
        "topic": "question_topic",
        "contents": "image_content",
        "image_url": "image_src",
    }
    marker = "gt_answer"

    def parse(self, row: Fields) -> Question:
        image_url = row.text_or_none("image_url")
        return Question(
            id=row.whole("id"),
            image_id=row.text("image_id"),
            question=row.text("question"),
            answer=row.text("answer"),
            type=row.one_of("type", TYPES),
            topic=row.text("topic"),
            contents=row.words("contents"),
            image_url=image_url,
            file_name=image_url.rpartition("/")[2] if image_url else None,
            form=row.form,
        )


QUESTIONS = Questions()
