"""Builds throne_objects365: images of Objects365 v2's validation set with the classes in them (THRONE, section 5.3).

Besides the annotations it reads the corrected class names and the paper's list of image ids.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from halluscope.benchmarks.throne import presence
from halluscope.benchmarks.throne.sampling import natural_k_shot
from halluscope.building.command import Builder, Order
from halluscope.building.fetch import fetch
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_text
from halluscope.inputs import id_of
from halluscope.reading import coco
from halluscope.reading.coco import CocoTable
from halluscope.reading.tables import cells
from halluscope.sanitize import short_repr

SHOTS = 14


def make(
    order: Order,
    *,
    names: Path | None = None,
    ids: Path | None = None,
    sample: bool = False,
    shots: int = SHOTS,
    seed: int = 0,
) -> Path:
    """Build throne_objects365.

    The published sha256 of the annotations is unknown, so any file in their format is accepted.
    """
    out, spec = order.target(), order.spec
    ids = ids or (None if sample else _beside(order, "ids"))
    if (ids is None) != sample:
        raise BuildError(
            f"Which images? Name the paper's list with --ids FILE ({spec.sources['ids'].url}, CC BY-NC 4.0), "
            "or draw new images with --sample; not both."
        )
    named = names or _beside(order, "names")
    sources = {
        "annotations": order.fetch("annotations"),
        "names": fetch(spec.sources["names"], "--names", named, order.cache, order.subset),
        **({} if sample else {"ids": order.fetch("ids", ids, "--ids")}),
    }
    corrections = read_names(sources["names"].path)
    wanted = None if sample else read_ids(sources["ids"].path)
    table = correct(coco.read_annotations(sources["annotations"].path), corrections)
    presence.check_classes(table, spec)
    if wanted is None:
        classes_of = {image.image_id: image.objects for image in table.images}
        wanted = natural_k_shot(classes_of, shots, len(table.classes), seed)
    drawn = {"shots": shots, "seed": seed} if sample else None
    return presence.write(order, table.only(wanted), sources, out, drawn)


def _beside(order: Order, name: str) -> Path | None:
    """Return a list in the source folder, if it is there under its published name."""
    file = order.source / order.spec.sources[name].url.rpartition("/")[2] if order.source else None
    return file if file and file.is_file() else None


def _add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--names", type=Path, help="Detic's table of corrected names (default: from --source, or download)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--ids", type=Path, help="a file of image ids, one per line (default: from --source)")
    which.add_argument("--sample", action="store_true", help="draw new images with the natural K-shot method")
    option(
        "--shots", type=int, default=SHOTS, help="with --sample: K, images per class (default: %(default)s)"
    )
    option("--seed", type=int, default=0, help="with --sample: the seed of the draw (default: %(default)s)")


BUILDER = Builder(
    name="throne_objects365",
    about="""Builds throne_objects365: images of Objects365 v2's validation set with the classes in them.

The annotations and images come from https://www.objects365.org/ after registration:

    halluscope build throne_objects365 --source zhiyuan_objv2_val.json --images val --ids objects365_subset.txt
    halluscope build throne_objects365 --source zhiyuan_objv2_val.json --images val --sample --seed 1

--ids is the paper's list of 5,110 images (CC BY-NC 4.0; its URL is in datasets/throne_objects365/spec.toml); --sample
draws the same number of new images in the same way. --images holds the patch folders, with or without the folders
images/v1 and images/v2 above them.
""",
    source="zhiyuan_objv2_val.json, or a folder that holds it (and the lists of names and ids)",
    images="the folder or the zip of the patch folders",
    make=make,
    add=_add,
)


@dataclass(frozen=True)
class Name:
    """A class name, as published in the annotations and as corrected."""

    published: str
    corrected: str


def read_names(file: Readable) -> dict[int, Name]:
    """Read the table of names: category id, published name, corrected name, without a header.

    Spaces around a name are dropped.
    """
    names: dict[int, Name] = {}
    place: dict[str, int] = {}
    for number, row in enumerate(cells(read_text(file), str(file)), 1):
        where = f"{file}, row {number}"
        if len(row) != 3 or not all(field.strip() for field in row):
            raise BuildError(
                f"{where} is {short_repr(','.join(row))}; expected category id, published name, corrected name."
            )
        category = _whole(row[0], where, "a category id")
        name = Name(row[1].strip(), row[2].strip())
        if category in names:
            raise BuildError(f"{where}: category {category} is already in an earlier row.")
        if name.corrected in place:
            raise BuildError(
                f"{where}: {short_repr(name.corrected)} is also the name in row {place[name.corrected]}; names must be "
                "unique."
            )
        names[category], place[name.corrected] = name, number
    return names


def read_ids(file: Readable) -> list[int]:
    """Read a list of image ids, one per line."""
    place: dict[int, int] = {}
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if not line.strip():
            continue
        image_id = _whole(line, f"{file}, line {number}", "an image id")
        if image_id in place:
            raise BuildError(
                f"{file}, line {number}: image id {image_id} is already in line {place[image_id]}."
            )
        place[image_id] = number
    if not place:
        raise BuildError(f"{file} holds no image ids; expected one per line.")
    return list(place)


def correct(table: CocoTable, names: Mapping[int, Name]) -> CocoTable:
    """Return the annotations with the corrected class names; those already corrected stay unchanged."""
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
                f"Category {category} is {short_repr(found)} in the annotations and {short_repr(name.published)} in "
                "the table of names; expected the same name. Are these the names of the same version of Objects365?"
            )
        corrected[found] = name.corrected
    return replace(
        table,
        classes=tuple(corrected[name] for name in table.classes),
        images=tuple(
            replace(image, objects=tuple(corrected[name] for name in image.objects)) for image in table.images
        ),
    )


def _whole(text: str, where: str, what: str) -> int:
    if (number := id_of(text)) is None:
        raise BuildError(f"{where}: {short_repr(text.strip())} is not a number; expected {what}.")
    return number
