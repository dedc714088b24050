"""Regions of images: read from rows, Visual Genome's own file, or the one that GAVIE's authors made of it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, bits, entries, entries_of
from halluscope.inputs import is_id, is_like_a_list
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr


@dataclass(frozen=True)
class Region:
    """A part of an image: what it shows, its upper left corner and its size, in pixels."""

    phrase: str
    x: int
    y: int
    width: int
    height: int


PLACE = ("x", "y", "width", "height")


def region(value: Any, where: str) -> Region:
    """Return a region: a phrase, and its place in whole pixels; a value that is none is a ValueError."""
    if not isinstance(value, Mapping) or not isinstance(value.get("phrase"), str):
        raise ValueError(
            f"{where} is {short_repr(value)}; expected a region: {', '.join(('phrase', *PLACE))}."
        )
    for name in PLACE:
        if not is_id(value.get(name)):
            raise ValueError(
                f"{where}: {name} is {short_repr(value.get(name))}; expected a whole number of pixels."
            )
    return Region(value["phrase"], *(int(value[name]) for name in PLACE))


def regions_of(row: Fields, column: str) -> tuple[Region, ...] | None:
    """Return the regions of a row; None if they are unknown."""
    if (value := row.given.get(column)) is None:
        return None
    if not is_like_a_list(value):
        raise row.wrong(column, "a list of regions, or null")
    return tuple(region(one, f"{row.where}: {column}[{number}]") for number, one in enumerate(value))


Described = dict[int, list[Region]]
"""Image id -> regions, in the order of the file."""


def read(file: Readable, image_ids: Collection[int]) -> Described:
    """Read the regions of the requested images.

    Args:
        file: region_descriptions.json, a list of {"id", "regions"}; or vg_annotation.json, which the authors' script
            reads: image id -> [{"caption", "bbox"}].
        image_ids: the ids of the requested images.

    Raises:
        BuildError: for a file in another format, or if it describes no region of a requested image.
    """
    found: Described = {}
    try:
        for image_id, one in (_own if _is_list(file) else _authors)(file, image_ids):
            found.setdefault(image_id, []).append(one)
    except BuildError:
        raise
    except ValueError as error:
        raise BuildError(f"{error} Get the file again.") from error
    if missing := sorted({*image_ids} - found.keys()):
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise BuildError(
            f"{file} describes no region of {len(missing):,} of the {len(image_ids):,} images: image id {shown}. Name "
            "Visual Genome's region_descriptions.json, or the authors' vg_annotation.json."
        )
    return found


def _is_list(file: Readable) -> bool:
    return next(bits(file), b"").removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _own(file: Readable, image_ids: Collection[int]) -> Iterator[tuple[int, Region]]:
    for place, entry in enumerate(entries(file), 1):
        where = f"{file}: entry {place}"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("regions"), list):
            raise BuildError(
                f"{where} is {short_repr(entry)}; expected an object with id and regions, a list."
            )
        image_id = entry.get("id")
        if isinstance(image_id, int) and image_id in image_ids:
            yield from ((image_id, region(one, where)) for one in entry["regions"])


def _authors(file: Readable, image_ids: Collection[int]) -> Iterator[tuple[int, Region]]:
    for name, entry in entries_of(file, *map(str, sorted(image_ids))):
        yield int(name), region(_of_authors(entry), f"{file}: the image {name}")


def _of_authors(entry: Any) -> Any:
    """Return an authors' entry as a region in our format; a value of another form is returned unchanged."""
    box = entry.get("bbox") if isinstance(entry, Mapping) else None
    if not isinstance(box, list) or len(box) != len(PLACE):
        return entry
    return {"phrase": entry.get("caption"), **dict(zip(PLACE, box, strict=True))}
