"""GAVIE's rows, as the dataset gavie or the authors' file has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.sanitize import short_repr
from halluscope.validation import is_id, is_like_a_list

PLACE = ("x", "y", "width", "height")


@dataclass(frozen=True)
class Region:
    """A part of an image: what it shows, its upper left corner and its size, in pixels."""

    phrase: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Question(Row):
    """An instruction about an image."""

    id: int
    image_id: int
    question: str
    regions: tuple[Region, ...] | None  # None if they are unknown

    @property
    def row(self) -> dict[str, Any]:
        columns = super().row
        if self.regions is not None:
            columns["regions"] = [dict(vars(region)) for region in self.regions]
        return columns


class Questions(Rows[Question]):
    row_type = Question
    dataset = "gavie"
    file = "evaluation_set.json"
    needed = ("id", "image_id", "question", "regions")
    marker = ""

    def features(self, with_image: bool = False) -> dict[str, Any]:
        from datasets import Image, List, Value

        columns = {"id": Value("int64"), "image_id": Value("int64")}
        if with_image:
            columns["image"] = Image()
        columns["question"] = Value("string")
        region = {"phrase": Value("string")}
        for name in PLACE:
            region[name] = Value("int64")
        columns["regions"] = List(region)
        return columns

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        values = super().renamed(row)
        values.setdefault("regions", None)
        return values

    def parse(self, row: Fields) -> Question:
        return Question(
            id=row.whole("id"),
            image_id=row.whole("image_id"),
            question=row.text("question"),
            regions=regions_of(row),
            form=row.form,
        )


QUESTIONS = Questions()


def regions_of(row: Fields) -> tuple[Region, ...] | None:
    """Return the regions of a row; None if they are unknown."""
    values = row.values.get("regions")
    if values is None:
        return None
    if not is_like_a_list(values):
        raise row.wrong("regions", "a list of regions, or null")
    regions = []
    for number, value in enumerate(values):
        regions.append(region_of(value, f"{row.where}: regions[{number}]"))
    return tuple(regions)


def region_of(value: Any, where: str) -> Region:
    """Return the region that a mapping describes; a value that is none is a ValueError."""
    if not is_region(value):
        raise ValueError(
            f"{where} is {short_repr(value)}; expected a region: phrase, and {', '.join(PLACE)} in whole pixels."
        )
    return Region(
        phrase=value["phrase"],
        x=int(value["x"]),
        y=int(value["y"]),
        width=int(value["width"]),
        height=int(value["height"]),
    )


def is_region(value: Any) -> bool:
    """Whether a value has what describes a region."""
    if not isinstance(value, Mapping) or not isinstance(value.get("phrase"), str):
        return False
    return all(is_id(value.get(name)) for name in PLACE)
