"""HaloQuest's questions, and the file that holds them: haloquest-eval.csv."""

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
"""The types of hallucination that questions tempt to, as upstream writes them."""

PARTS = (*IMAGE_TYPES, *(kind.replace(" ", "_") for kind in TYPES))
"""Both as they stand in a score's name: the groups that the leaderboard tells apart."""

BETWEEN = ";"
"""What divides the right answers of a question in the authors' file."""

CRITERIA = (Criterion("correct", bool),)
"""What a verdict on a response says."""

_UPSTREAM = {
    "id": "",
    "file_name": "image_name",
    "url": "url",
    "image_type": "image type",
    "type": "hallucination type",
    "question": "question",
    "answers": "groundtruth responses",
}
"""What haloquest-eval.csv calls our columns; the first column there has no name."""

_UNNAMED = "Unnamed: 0"
"""What pandas calls a column without a name."""


@dataclass(frozen=True)
class HaloQuestion:
    """A question of HaloQuest.

    Attributes:
        id: 0 to 607, its place in the authors' file.
        file_name: of the image.
        image_type: one of `IMAGE_TYPES`.
        type: one of `TYPES`.
        question: as it is put to the LVLM.
        answers: what people answered; a response that agrees with any of them is right.
        url: where the image was.
        form: which parallel form it is of; "" for the original.
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
        """Which of `PARTS` it belongs to."""
        return self.image_type, PARTS[len(IMAGE_TYPES) + TYPES.index(self.type)]

    @property
    def row(self) -> dict[str, Any]:
        """The dataset's row of it, without the image."""
        return {name: value for name, value in asdict(self).items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(HaloQuestion))
NEEDED = COLUMNS[:6]
"""The columns that the metric needs."""


def load(sources: Sequence[str]) -> list[HaloQuestion]:
    """Read the dataset: built folders, Hub ids, or haloquest-eval.csv.

    Raises:
        ValueError: for a file or dataset of another form, or an id that comes twice.
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
    """Read haloquest-eval.csv, in its order.

    Raises:
        BuildError: for a file of another form, a broken row, or an id that comes twice.
        FileNotFoundError: if there is no such file.
    """
    try:
        questions = once_by_id((read(row, where), where) for where, row in tables.rows(file))
    except ValueError as error:
        raise BuildError(str(error)) from error
    if not questions:
        raise BuildError(f"{file} holds no row; expected HaloQuest's questions: haloquest-eval.csv.")
    return questions


def inputs(
    questions: Sequence[HaloQuestion], *, judgements: Any = None, responses: str = ""
) -> dict[str, Any]:
    """What the metric takes of the dataset's rows.

    Args:
        questions: the rows.
        judgements: a file of judgements, or what the metric takes.
        responses: the name of the responses that were judged.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("judgements", judgements, responses, ids, CRITERIA)}


def read_all(rows: Iterable[Any], where: str = "references") -> list[HaloQuestion]:
    """Read rows of the dataset, or of haloquest-eval.csv.

    Raises:
        ValueError: for a row that is none, or an id that comes twice.
    """
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> HaloQuestion:
    """Read a row. A question that was read before stays as it is.

    Raises:
        ValueError: for a missing field, one of another kind, or an unknown type.
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
    """A row of the authors' file with the dataset's columns, as far as it has them."""
    named = {column: row[name] for column, name in _UPSTREAM.items() if name in row}
    if "id" not in named and _UNNAMED in row:
        named["id"] = row[_UNNAMED]
    if isinstance(named["answers"], str):
        named["answers"] = [
            " ".join(text.split()) for text in named["answers"].split(BETWEEN) if text.strip()
        ]
    return named


def _answers(found: Fields) -> tuple[str, ...]:
    """The right answers: at least one, none of them blank."""
    expected = "right answers, at least one, each a text"
    answers = found.words("answers", expected)
    if not answers or not all(text.strip() for text in answers):
        raise found.wrong("answers", expected)
    return answers
