"""MMHal-Bench's rows, and what builds the dataset mmhal."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.building.command import Builder
from halluscope.building.output import Order
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
    question: str
    answer: str  # a person's
    type: str
    topic: str
    contents: tuple[str, ...]  # objects in the image, not all of them
    image_url: str | None
    file_name: str | None  # the photograph's name in the authors' folder


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


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    types = Counter(row.type for row in rows)
    numbers = {"questions": len(rows)}
    for name in TYPES:
        numbers[name] = types[name]
    numbers["images"] = len({row.image_id for row in rows})
    numbers["topics"] = len({row.topic for row in rows})
    return numbers


def features(with_image: bool = False) -> dict[str, Any]:
    """Return the types of the dataset's columns."""
    from datasets import Image, List, Value

    columns = {"id": Value("int64"), "image_id": Value("string"), "file_name": Value("string")}
    if with_image:
        columns["image"] = Image()
    for name in ("image_url", "question", "answer", "type", "topic"):
        columns[name] = Value("string")
    columns["contents"] = List(Value("string"))
    return columns


def make(order: Order) -> Path:
    """Build mmhal."""
    out = order.target()
    source = order.fetch("questions")
    rows = QUESTIONS.read_upstream(source.path)
    written: list[dict[str, Any]] = []
    for row in rows:
        columns_of_row = row.row
        columns_of_row["image"] = row.file_name
        written.append(columns_of_row)
    return order.write(out, written, features(with_image=True), counts(rows), {"questions": source})


BUILDER = Builder(
    "mmhal",
    about="""Builds mmhal: 96 free-form questions of eight types about images of OpenImages.

    halluscope build mmhal --source response_template.json
    halluscope build mmhal --source test_data.zip --images test_data.zip

Both are on the Hub in Shengcao1006/MMHal-Bench; the zip holds the questions and the photographs. Without --images
there is no column `image`; `image_url` tells where each photograph was published.
""",
    source="response_template.json, or a folder or zip that holds it",
    images="the folder of the photographs, or a zip that holds images/ (default: no column `image`)",
    make=make,
)
