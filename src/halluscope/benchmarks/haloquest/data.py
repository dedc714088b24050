"""HaloQuest's rows, as the dataset haloquest or the authors' file has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.stats.tallies import Bools

IMAGE_TYPES = ("generated", "real")
TYPES = ("false premises", "visual challenge", "insufficient context")

BETWEEN_ANSWERS = ";"  # in the authors' file

# What the column of ids may be called: it has no name in the authors' file, for which pandas puts another, and its own
# index without one before it; the last that a row has counts
NAMES_OF_ID = ("", "Unnamed: 0")

RIGHT_ANSWERS = "at least one right answer, each a text"


@dataclass(frozen=True)
class Question(Row):
    """A question about an image."""

    id: int
    file_name: str
    image_type: str
    type: str
    question: str
    answers: tuple[str, ...]  # people's; one of them suffices
    stated: str  # the right answers as the authors' file has them
    url: str  # where the image was published; "" if that is unknown


class Questions(Rows[Question]):
    row_type = Question
    dataset = "haloquest"
    file = "haloquest-eval.csv"
    needed = ("id", "file_name", "image_type", "type", "question", "answers")
    upstream = {
        "file_name": "image_name",
        "image_type": "image type",
        "type": "hallucination type",
        "answers": "groundtruth responses",
    }
    marker = "groundtruth responses"

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        values = super().renamed(row)
        for name in NAMES_OF_ID:
            if name in row:
                values["id"] = row[name]
        answers = values["answers"]
        if isinstance(answers, str):
            values["stated"] = answers
            values["answers"] = split_answers(answers)
        return values

    def parse(self, row: Fields) -> Question:
        answers = row.words("answers", RIGHT_ANSWERS)
        if not answers or not all(answer.strip() for answer in answers):
            raise row.wrong("answers", RIGHT_ANSWERS)
        return Question(
            id=row.whole("id"),
            file_name=row.text("file_name"),
            image_type=row.one_of("image_type", IMAGE_TYPES),
            type=row.one_of("type", TYPES),
            question=row.text("question"),
            answers=answers,
            stated=row.text_or_none("stated") or "; ".join(answers),
            url=row.text_or_none("url") or "",
            form=row.form,
        )


QUESTIONS = Questions()


def split_answers(text: str) -> list[str]:
    """Return the right answers of the authors' file.

    >>> split_answers("Six\\n; There are  six cups;")
    ['Six', 'There are six cups']
    """
    answers = []
    for answer in text.split(BETWEEN_ANSWERS):
        words = answer.split()
        if words:
            answers.append(" ".join(words))
    return answers


def groups_of(rows: Sequence[Question]) -> dict[str, Bools]:
    """Return which rows are of each type of image, of each type of question, and of both."""
    image_types = np.array([row.image_type for row in rows])
    types = np.array([row.type for row in rows])
    of_image_types: dict[str, Bools] = {name: image_types == name for name in IMAGE_TYPES}
    of_types: dict[str, Bools] = {name.replace(" ", "_"): types == name for name in TYPES}
    groups = of_image_types | of_types
    for image_type, is_of_image_type in of_image_types.items():
        for type_, is_of_type in of_types.items():
            groups[f"{image_type}/{type_}"] = is_of_image_type & is_of_type
    return groups
