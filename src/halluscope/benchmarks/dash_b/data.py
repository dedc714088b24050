"""DASH-B's rows: of the dataset, of the authors' two lists of images, and of the answers that they published."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.reading.datasets import Source
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.sanitize import short_repr

LIST = "dash_benchmark_"  # the authors' lists have this name, and that of a half
HALVES = {"neg": "no", "pos": "yes"}  # a list, of images without the object or with it -> the right answer
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
    upstream = {"file_name": "img_id", "object": "object_name", "answer": "gt"}
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
        files = []
        for source in sources:
            path = Source.of(source).path
            is_list = path.suffix == ".json" and path.stem.removeprefix(LIST) in HALVES
            if not is_list:
                return super().load(sources)
            files.append((path.stem.removeprefix(LIST), path))
        return self.read_lists(files)

    def read_lists(self, files: Iterable[tuple[str, Readable]]) -> list[Question]:
        """Read the authors' lists, each given as its half and its file, in this order."""
        rows: list[Question] = []
        for half, file in files:
            rows += self.read_all(rows_of_list(file, HALVES[half], len(rows)), str(file))
        return rows


QUESTIONS = Questions()


def rows_of_list(file: Readable, answer: str, first: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one of the authors' lists, numbered from `first` on."""
    for number, (source, name, image) in enumerate(images_of_list(file), first):
        yield {
            "question_id": number,
            "file_name": image,
            "source": source,
            "object": name,
            "question": QUESTION.format(name),
            "answer": answer,
        }


def images_of_list(file: Readable) -> list[tuple[str, str, str]]:
    """Return the images that a list holds, each as its source, the object, and the name of its file."""
    content = read_json(file)
    images = []
    try:
        for source, objects in content.items():
            for name, files in objects.items():
                for image in files:
                    if not isinstance(image, str):
                        raise TypeError
                    images.append((source, name, image))
    except (AttributeError, TypeError) as error:
        raise BuildError(
            f"{file} is {short_repr(content, 120)}; expected an object of sources, each with objects and file names."
        ) from error
    return images
