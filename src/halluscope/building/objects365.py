"""What THRONE on Objects365 reads beside the annotations: the corrected class names, and the paper's image ids."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace

from halluscope.building.coco import CocoTable
from halluscope.building.fetch import Readable
from halluscope.errors import BuildError


@dataclass(frozen=True)
class Name:
    """A class name as the annotations have it, and corrected."""

    published: str
    corrected: str


def read_names(file: Readable) -> dict[int, Name]:
    """Read the table of names: category id, published name, corrected name, without a header.

    Spaces around a name are dropped.

    Raises:
        BuildError: for a row of another form, or an id or a corrected name that comes twice.
    """
    names: dict[int, Name] = {}
    place: dict[str, int] = {}
    for number, row in enumerate(csv.reader(_lines(file)), 1):
        where = f"{file}, row {number}"
        if len(row) != 3 or not all(field.strip() for field in row):
            raise BuildError(
                f"{where} is {','.join(row)!r:.80}; expected category id, published name, corrected name."
            )
        category = _whole(row[0], where, "a category id")
        name = Name(row[1].strip(), row[2].strip())
        if category in names:
            raise BuildError(f"{where}: category {category} stands in an earlier row already.")
        if name.corrected in place:
            raise BuildError(
                f"{where}: {name.corrected!r} is the name of row {place[name.corrected]} too; names are unique."
            )
        names[category], place[name.corrected] = name, number
    return names


def read_ids(file: Readable) -> list[int]:
    """Read a list of image ids, one a line.

    Raises:
        BuildError: for a line that is no whole number, an id that comes twice, or no id at all.
    """
    place: dict[int, int] = {}
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        image_id = _whole(line, f"{file}, line {number}", "an image id")
        if image_id in place:
            raise BuildError(
                f"{file}, line {number}: image id {image_id} stands in line {place[image_id]} too."
            )
        place[image_id] = number
    if not place:
        raise BuildError(f"{file} holds no image id; expected one a line.")
    return list(place)


def correct(table: CocoTable, names: Mapping[int, Name]) -> CocoTable:
    """The annotations with the corrected class names. Annotations that have them already stay as they are.

    Raises:
        BuildError: when the table of names is of other categories than the annotations.
    """
    if len(names) != len(table.classes):
        raise BuildError(
            f"The table of names has {len(names):,} rows; expected one for each of the {len(table.classes):,} "
            "categories of the annotations."
        )
    if unknown := sorted(set(names) - set(table.class_ids)):
        raise BuildError(f"The table of names has category {unknown[0]}, which the annotations do not have.")
    corrected = {}
    for category, found in zip(table.class_ids, table.classes, strict=True):
        name = names[category]
        if found.strip() not in (name.published, name.corrected):
            raise BuildError(
                f"Category {category} is {found!r} in the annotations and {name.published!r} in the table of names; "
                "expected the same. Are these names of the same version of Objects365?"
            )
        corrected[found] = name.corrected
    return replace(
        table,
        classes=tuple(corrected[name] for name in table.classes),
        images=tuple(
            replace(image, objects=tuple(corrected[name] for name in image.objects)) for image in table.images
        ),
    )


def _lines(file: Readable) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"{file} cannot be read as text: {error}.") from error


def _whole(text: str, where: str, what: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit()):
        raise BuildError(f"{where}: {text!r:.80} is not a number; expected {what}.")
    return int(text)
