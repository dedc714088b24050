"""Reads GAVIE's instructions, with Visual Genome's descriptions of the regions of their images."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from halluscope.foreign import brief
from halluscope.inputs import is_like_a_list
from halluscope.judging.graders.judged import Criterion, as_option
from halluscope.numbers import is_id
from halluscope.reading.fields import Fields
from halluscope.reading.rows import read_each, read_once

MOST = 10
CRITERIA = (Criterion("relevancy", float, MOST), Criterion("accuracy", float, MOST))
"""The parts of a verdict on a response."""


@dataclass(frozen=True)
class Region:
    """A region of an image, with a description.

    Attributes:
        phrase: what the region shows.
        x: its left edge, in pixels.
        y: its upper edge, in pixels.
        width: its width, in pixels.
        height: its height, in pixels.
    """

    phrase: str
    x: int
    y: int
    width: int
    height: int


PLACE = tuple(field.name for field in fields(Region))[1:]
"""The names of the numbers that place a region."""


@dataclass(frozen=True)
class Instruction:
    """An instruction of GAVIE.

    Attributes:
        id: unique; the place in evaluation_set.json, from 0.
        image_id: the image's id in Visual Genome.
        question: the instruction that the LVLM is given.
        regions: the described regions of the image; None if unknown.
        form: the parallel form that the instruction belongs to; "" for the original.
    """

    id: int
    image_id: int
    question: str
    regions: tuple[Region, ...] | None = None
    form: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """The instruction as a row of the dataset, without the image."""
        regions = None if self.regions is None else [asdict(region) for region in self.regions]
        return {"id": self.id, "image_id": self.image_id, "question": self.question, "regions": regions}


COLUMNS = tuple(field.name for field in fields(Instruction))
NEEDED = COLUMNS[:4]


def load(sources: Sequence[str]) -> list[Instruction]:
    """Read the dataset: built folders, Hub ids, or evaluation_set.json.

    Raises:
        ValueError: for a file or dataset in another format, or a repeated id.
        FileNotFoundError: if a file does not exist.
    """
    rows = read_each(sources, COLUMNS, NEEDED, "the dataset gavie")
    return read_all(rows, ", ".join(sources))


def inputs(questions: Sequence[Instruction], *, ratings: Any = None, responses: str = "") -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows.

    Args:
        questions: the rows.
        ratings: a file of ratings, or the ratings themselves, as the metric takes them.
        responses: the name of the responses that were rated.

    Raises:
        ValueError: as `halluscope.judging.graders.judged.read_given`.
    """
    ids = [question.id for question in questions]
    return {"references": questions, **as_option("ratings", ratings, responses, ids, CRITERIA)}


def read_all(rows: Iterable[Any], where: str = "references") -> list[Instruction]:
    """Read rows of the dataset, or of evaluation_set.json, where an instruction's id is its position.

    Raises:
        ValueError: for an invalid row, or a repeated id.
    """
    return read_once(rows, where, read)


def read(row: Any, where: str, number: int = 0) -> Instruction:
    """Read a row. An instruction that was read before is returned unchanged.

    Args:
        row: a row of the dataset, or of evaluation_set.json.
        where: the place of the row, for messages.
        number: its number among the rows, which is the id if a row has only image_id and question.

    Raises:
        ValueError: for a missing field, or a value of the wrong kind.
    """
    if isinstance(row, Instruction):
        return row
    if not isinstance(row, Mapping):
        raise ValueError(
            f"{where} is {brief(row)}; expected a row of the dataset gavie, or of evaluation_set.json."
        )
    is_upstreams = row.keys() == {"image_id", "question"}
    if not is_upstreams and (missing := [name for name in NEEDED if name not in row]):
        raise ValueError(f"{where} has no {', '.join(missing)}; expected a row of the dataset gavie.")
    found = Fields(row, where)
    return Instruction(
        id=number if is_upstreams else found.whole("id"),
        image_id=found.whole("image_id", or_digits=True),
        question=found.text("question"),
        regions=_regions(found),
        form=found.form,
    )


def _regions(found: Fields) -> tuple[Region, ...] | None:
    if (given := found.given.get("regions")) is None:
        return None
    if not is_like_a_list(given):
        raise found.wrong("regions", "a list of regions, or null")
    return tuple(region(one, f"{found.where}: regions[{number}]") for number, one in enumerate(given))


def region(given: Any, where: str) -> Region:
    """Read a region: a phrase, and its place in whole pixels.

    Raises:
        ValueError: for a value that is not a region.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("phrase"), str):
        raise ValueError(f"{where} is {brief(given)}; expected a region: {', '.join(('phrase', *PLACE))}.")
    for name in PLACE:
        if not is_id(given.get(name)):
            raise ValueError(
                f"{where}: {name} is {brief(given.get(name))}; expected a whole number of pixels."
            )
    return Region(given["phrase"], *(int(given[name]) for name in PLACE))
