"""DASH-B's rows: of the dataset, of the authors' two lists of images, and of the answers that they published."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.reading.datasets import Source
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.sanitize import short_repr

LIST = "dash_benchmark_"  # the authors' lists have this name, and that of a half
# a half, of images without the object or with it -> the right answer; rows are numbered in this order
HALVES = {"neg": "no", "pos": "yes"}
QUESTION = "Can you see a {} in this image. Please answer only with yes or no."


@dataclass(frozen=True)
class Question(Row):
    """A question about an object in an image."""

    question_id: int
    file_name: str
    source: str  # where the image comes from
    object: str
    question: str
    answer: str


class Questions(Rows[Question]):
    row_type = Question
    dataset = "dash_b"
    file = "the authors' answers"
    id = "question_id"
    needed = ("question_id", "file_name", "source", "object", "question", "answer")
    upstream = {"file_name": "img_id", "source": "dataset", "object": "object_name", "answer": "gt"}
    marker = "img_id"

    def parse(self, row: Fields) -> Question:
        return Question(
            question_id=row.whole("question_id"),
            file_name=row.text("file_name"),
            source=row.text("source"),
            object=row.text("object"),
            question=row.text("question"),
            answer=row.yes_or_no("answer"),
            form=row.form,
        )

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return one of the authors' answers by our names; it states no source, and often no question."""
        values = {"source": "answers"}
        if "object_name" in row:
            values["question"] = QUESTION.format(row["object_name"])
        values.update(super().renamed(row))
        return values

    def load(self, sources: Sequence[str]) -> list[Question]:
        """Read datasets, the authors' answers, or their lists."""
        paths = [Source.of(source).path for source in sources]
        if all(is_list(path) for path in paths):
            return self.read_lists([(half_in(path), path) for path in paths])
        return super().load(sources)

    def read_lists(self, files: Collection[tuple[str, Readable]]) -> list[Question]:
        """Read the authors' lists, each given as its half and its file, in the order of `HALVES`."""
        order = list(HALVES)
        rows: list[Question] = []
        for half, file in sorted(files, key=lambda half_and_file: order.index(half_and_file[0])):
            rows += self.read_all(rows_of_list(file, HALVES[half], len(rows)), str(file))
        return rows


QUESTIONS = Questions()


def is_list(path: Path) -> bool:
    """Whether a file is named as the authors' lists are, or as their halves."""
    return path.suffix == ".json" and half_in(path) in HALVES


def half_in(path: Path) -> str:
    """Return the half that the name of one of the authors' lists states."""
    return path.stem.removeprefix(LIST)


def rows_of_list(file: Readable, answer: str, first: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one of the authors' lists, numbered from `first` on."""
    number = first
    for source, objects in sources_of_list(file).items():
        for name, images in objects.items():
            for image in images:
                yield {
                    "question_id": number,
                    "file_name": image,
                    "source": source,
                    "object": name,
                    "question": QUESTION.format(name),
                    "answer": answer,
                }
                number += 1


def sources_of_list(file: Readable) -> dict[str, dict[str, list[str]]]:
    """Return what a list holds: the source of images -> an object -> the names of the images' files."""
    content = read_json(file)
    if not isinstance(content, dict) or not all(has_files(objects) for objects in content.values()):
        raise BuildError(
            f"{file} is {short_repr(content, 120)}; expected an object of sources, each with objects and file names."
        )
    return content


def has_files(value: Any) -> bool:
    """Whether a value of a JSON file has the names of files for each of some objects."""
    if not isinstance(value, dict):
        return False
    for images in value.values():
        if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
            return False
    return True
