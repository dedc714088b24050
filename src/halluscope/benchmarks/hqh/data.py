"""HQH's rows, as the dataset hqh or the authors' file has them."""

from collections.abc import Sequence
from dataclasses import dataclass

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.stats.tallies import Bools, rows_by

# The level of each type (section IV.A)
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
TYPES = tuple(LEVELS)

# The questions of the type "attribute" are about colours; as a group it would have the name of its level
GROUP_OF_TYPE = {"attribute": "color"}


@dataclass(frozen=True)
class Question(Row):
    """A question about an image."""

    id: int
    image_id: int
    question: str
    answer: str
    type: str
    level: str
    caption: str | None  # a sentence about the image
    details: str | None  # the annotated regions of the image, one per line

    @property
    def has_image_data(self) -> bool:
        """Whether a judge can be told what the image shows."""
        return self.caption is not None or self.details is not None


class Questions(Rows[Question]):
    row_type = Question
    dataset = "hqh"
    file = "HQH.json"
    needed = ("id", "image_id", "question", "answer", "type")
    upstream = {"question": "instruction", "answer": "ground_truth"}
    marker = "instruction"
    before_image = "image_id"

    def parse(self, row: Fields) -> Question:
        type_ = row.one_of("type", TYPES)
        return Question(
            id=row.whole("id"),
            image_id=row.whole("image_id"),
            question=row.text("question"),
            answer=row.text("answer"),
            type=type_,
            level=LEVELS[type_],
            caption=row.text_or_none("caption"),
            details=row.text_or_none("details"),
            form=row.form,
        )


QUESTIONS = Questions()


def groups_of(rows: Sequence[Question]) -> dict[str, Bools]:
    """Return which rows are of each type and of each level that occurs."""
    groups = {}
    for type_, is_in in rows_by([row.type for row in rows], TYPES).items():
        groups[GROUP_OF_TYPE.get(type_, type_)] = is_in
    groups.update(rows_by([row.level for row in rows], dict.fromkeys(LEVELS.values())))
    return groups
