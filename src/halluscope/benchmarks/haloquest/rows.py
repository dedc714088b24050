"""Reads HaloQuest's questions from the dataset, or from haloquest-eval.csv."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, ending
from halluscope.foreign import brief
from halluscope.judging.graders.judged import Criterion, as_option
from halluscope.reading import tables
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Source, once_by_id, read_columns, read_once

IMAGE_TYPES = ("generated", "real")
TYPES = ("false premises", "visual challenge", "insufficient context")
"""The types of hallucination that questions provoke, as upstream writes them."""

PARTS = (*IMAGE_TYPES, *(kind.replace(" ", "_") for kind in TYPES))
"""The types of images and questions, as in the names of scores: the groups of the leaderboard."""

BETWEEN = ";"
"""The separator between a question's right answers in the authors' file."""

CRITERIA = (Criterion("correct", bool),)
"""The parts of a verdict on a response."""

_UPSTREAM = {
    "id": "",
    "file_name": "image_name",
    "url": "url",
    "image_type": "image type",
    "type": "hallucination type",
    "question": "question",
    "answers": "groundtruth responses",
}
"""Our columns -> their names in haloquest-eval.csv, where the first column has no name."""

_UNNAMED = "Unnamed: 0"
"""The name that pandas gives a column without a name."""


@dataclass(frozen=True)
class HaloQuestion:
    """A question of HaloQuest.

    Attributes:
        id: its place in the authors' file, 0 to 607.
        file_name: the file of the image.
        image_type: one of `IMAGE_TYPES`.
        type: one of `TYPES`.
        question: the text that the LVLM is asked.
        answers: the right answers that people wrote; a response that agrees with any of them is right.
        url: the address where the image was published.
        form: the parallel form that the question belongs to; "" for the original.
    """

    id: int
    file_name: str
    image_type: str
    type: str
    question: str
    answers: tuple[str, ...]
    url: str = ""
    form: str = ""

    @property
    def parts(self) -> tuple[str, str]:
        """The two of `PARTS` that it belongs to."""
        return self.image_type, PARTS[len(IMAGE_TYPES) + TYPES.index(self.type)]

    @property
    def row(self) -> dict[str, Any]:
        """The question as a row of the dataset, without the image."""
        return {name: value for name, value in asdict(self).items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(HaloQuestion))
NEEDED = COLUMNS[:6]
"""The columns that the metric needs."""


def load(sources: Sequence[str]) -> list[HaloQuestion]:
    """Read the dataset: built folders, Hub ids, or haloquest-eval.csv.

    Raises:
        ValueError: for a file or dataset in another format, or a repeated id.
        FileNotFoundError: if a file does not exist.
    """
    return read_all((row for source in sources for row in _rows_of(source)), ", ".join(sources))


def _rows_of(source: str) -> Iterable[Any]:
    named = Source.of(source)
    if ending(Path(named.name)) == ".csv":
        return read_upstream(named.path)
    rows: Iterable[Any] = read_columns(source, COLUMNS, NEEDED, "the dataset haloquest")
    return rows


def read_upstream(file: Readable) -> list[HaloQuestion]:
    """Read haloquest-eval.csv, in the order of the file.

    Raises:
        BuildError: for a file in another format, a broken row, or a repeated id.
        FileNotFoundError: if there is no such file.
    """
    try:
        questions = once_by_id((read(row, where), where) for where, row in tables.rows(file))
    except ValueError as error:
        raise BuildError(str(error)) from error
    if not questions:
        raise BuildError(f"{file} holds no rows; expected HaloQuest's questions: haloquest-eval.csv.")
    return questions


def inputs(
    questions: Sequence[HaloQuestion], *, judgements: Any = None, responses: str = ""
) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows.

    Args:
        questions: the rows.
        judgements: a file of judgements, or the judgements themselves, as the metric takes them.
        responses: the name of the responses that were judged.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("judgements", judgements, responses, ids, CRITERIA)}


def read_all(rows: Iterable[Any], where: str = "references") -> list[HaloQuestion]:
    """Read rows of the dataset, or of haloquest-eval.csv.

    Raises:
        ValueError: for an invalid row, or a repeated id.
    """
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> HaloQuestion:
    """Read a row. A question that was read before is returned unchanged.

    Raises:
        ValueError: for a missing field, a value of the wrong kind, or an unknown type.
    """
    if isinstance(row, HaloQuestion):
        return row
    if not isinstance(row, Mapping):
        raise ValueError(
            f"{where} is {brief(row)}; expected a row of the dataset haloquest, or of haloquest-eval.csv."
        )
    names = _UPSTREAM if _UPSTREAM["answers"] in row else {}
    given = _of_upstream(row) if names else dict(row)
    if missing := [names.get(name) or name for name in NEEDED if name not in given]:
        raise ValueError(
            f"{where} has no {' and no '.join(map(repr, missing))}; expected a row of the dataset haloquest, or of "
            "haloquest-eval.csv."
        )
    found = Fields(given, where, names)
    return HaloQuestion(
        id=found.whole("id", or_digits=bool(names)),
        file_name=found.text("file_name"),
        image_type=found.one_of("image_type", IMAGE_TYPES),
        type=found.one_of("type", TYPES),
        question=found.text("question"),
        answers=_answers(found),
        url=str(given.get("url") or ""),
        form=found.form,
    )


def _of_upstream(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the authors' file under the dataset's column names, with the columns that it has."""
    named = {column: row[name] for column, name in _UPSTREAM.items() if name in row}
    if "id" not in named and _UNNAMED in row:
        named["id"] = row[_UNNAMED]
    if isinstance(named["answers"], str):
        named["answers"] = [
            " ".join(text.split()) for text in named["answers"].split(BETWEEN) if text.strip()
        ]
    return named


def _answers(found: Fields) -> tuple[str, ...]:
    """Return the right answers: at least one, none of them blank."""
    expected = "at least one right answer, each a text"
    answers = found.words("answers", expected)
    if not answers or not all(text.strip() for text in answers):
        raise found.wrong("answers", expected)
    return answers
