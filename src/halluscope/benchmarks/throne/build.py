"""Builds throne_coco and throne_objects365: images, each with the classes that are in it (THRONE, sections 4.1, 5.3).

Objects365 v2 also needs the corrected class names and the paper's list of image ids. New images are drawn as the
paper's were: by the natural K-shot of Lee et al., "Rethinking Few-Shot Object Detection on a Multi-Domain Benchmark"
(ECCV 2022), which keeps the classes' frequencies and loses no class.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from datasets import Image, List, Value

from halluscope import vocabularies
from halluscope.benchmarks.throne.metric import METRIC
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched
from halluscope.building.output import Order, missing
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_text
from halluscope.reading.coco import CocoTable, read_annotations
from halluscope.reading.tables import cells
from halluscope.sanitize import short_repr
from halluscope.validation import id_of

SHOTS = 14

COLUMNS = {
    "image_id": Value("int64"),
    "image": Image(),
    "file_name": Value("string"),
    "prompt": Value("string"),
    "objects": List(Value("string")),
}


def make_coco(order: Order) -> Path:
    """Build throne_coco."""
    out = order.target()
    sources = {"annotations": order.fetch("annotations")}
    return write(order, read_annotations(sources["annotations"].path), sources, out)


def make_objects365(
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

    def beside(name: str) -> Path | None:
        """Return a list in the source folder, under its published name."""
        file = Path(order.source or "", spec.sources[name].url.rpartition("/")[2])
        return file if order.source and file.is_file() else None

    ids = ids or (None if sample else beside("ids"))
    if (ids is None) != sample:
        raise BuildError(
            f"Which images? Name the paper's list with --ids FILE ({spec.sources['ids'].url}, CC BY-NC 4.0), "
            "or draw new images with --sample; not both."
        )
    sources = {"annotations": order.fetch("annotations")}
    sources["names"] = order.fetch("names", names or beside("names"), "--names", alone=True)
    if ids:
        sources["ids"] = order.fetch("ids", ids, "--ids")
    corrections = read_names(sources["names"].path)
    wanted = read_ids(sources["ids"].path) if ids else []
    table = correct(read_annotations(sources["annotations"].path), corrections)
    if sample:
        classes_of = dict(zip(table.image_ids, table.objects(), strict=True))
        wanted = natural_k_shot(classes_of, shots, len(table.classes), seed)
    elif unknown := sorted({*wanted} - {*table.image_ids}):
        raise BuildError(
            f"{len(unknown):,} of the {len(wanted):,} image ids are not among the {len(table.image_ids):,} images of "
            f"the annotations, such as {unknown[0]}. Are these the annotations of the same split?"
        )
    some = table.only(np.isin(table.image_ids, wanted).tolist())
    return write(order, some, sources, out, {"sample": {"shots": shots, "seed": seed}} if sample else {})


def write(
    order: Order,
    table: CocoTable,
    sources: Mapping[str, Fetched],
    out: Path,
    drawn: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Get the images, check everything, and write the dataset; `drawn` says how its images were drawn, if they were."""
    if order.spec.vocabulary is not None:
        known = vocabularies.load(order.spec.vocabulary)
        known.check_known(table.classes, f"annotations of {order.spec.title}")
    if order.with_images:
        images = order.fetch("images", order.images, "--images", alone=True)
        sources = {**sources, "images": images}
        if order.only_images_present:
            absent = {*missing(table.file_names, images.path)}
            there = [name not in absent for name in table.file_names]
            if not any(there):
                raise BuildError(f"None of the {len(there):,} images that the annotations name exists.")
            table = table.only(there)
    objects = table.objects()
    per_image, per_class = [*map(len, objects)], table.present().sum(axis=0).tolist()
    counts = {
        "images": len(objects),
        "annotations": len(table.owners),
        "classes": len(table.classes),
        "objects_per_image": {
            "mean": round(sum(per_image) / len(per_image), 4),
            "min": min(per_image),
            "max": max(per_image),
        },
        "images_without_objects": per_image.count(0),
        "images_per_class": dict(zip(table.classes, per_class, strict=True)),
        **drawn,
    }
    rows = [
        {"image_id": image_id, "image": name, "file_name": name, "prompt": METRIC.prompt, "objects": names}
        for image_id, name, names in zip(table.image_ids, table.file_names, objects, strict=True)
    ]
    return order.write(out, rows, COLUMNS, counts, sources, complete=not drawn)


def read_names(file: Readable) -> dict[int, tuple[str, str]]:
    """Read the table of names without a header: category id -> the published name, and the corrected one.

    Spaces around a name are dropped.
    """
    names: dict[int, tuple[str, str]] = {}
    for number, row in enumerate(cells(read_text(file), str(file)), 1):
        identifier, *both = (field.strip() for field in row)
        category = id_of(identifier) if len(both) == 2 and all(both) else None
        if category is None or category in names or both[1] in {corrected for _, corrected in names.values()}:
            raise BuildError(
                f"{file}, row {number} is {short_repr(','.join(row))}; expected category id, published name, corrected "
                "name, each id and each corrected name once."
            )
        names[category] = both[0], both[1]
    return names


def read_ids(file: Readable) -> list[int]:
    """Read a list of image ids, one per line."""
    found: dict[int, int] = {}
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if line.strip():
            image_id = id_of(line)
            if image_id is None or image_id in found:
                raise BuildError(
                    f"{file}, line {number} is {short_repr(line.strip())}; expected an image id, each once."
                )
            found[image_id] = number
    if not found:
        raise BuildError(f"{file} holds no image ids; expected one per line.")
    return list(found)


def correct(table: CocoTable, names: Mapping[int, tuple[str, str]]) -> CocoTable:
    """Return the annotations with the corrected class names; those already corrected stay unchanged."""
    if {*names} != {*table.class_ids}:
        odd = max({*names} ^ {*table.class_ids})
        raise BuildError(
            f"The table of names has {len(names):,} rows; expected one for each of the {len(table.classes):,} "
            f"categories of the annotations. Category {odd} is in only one of them."
        )
    for category, found in zip(table.class_ids, table.classes, strict=True):
        if found.strip() not in names[category]:
            raise BuildError(
                f"Category {category} is {short_repr(found)} in the annotations and {short_repr(names[category][0])} "
                "in the table of names; expected the same name. Are these the names of the same version of Objects365?"
            )
    return replace(table, classes=tuple(names[category][1] for category in table.class_ids))


def natural_k_shot(
    classes_of: Mapping[int, Collection[str]], shots: int, classes: int, seed: int = 0
) -> list[int]:
    """Draw `shots` x `classes` images uniformly, then swap in an image for each class that has none.

    The image swapped out is never the one kept for a class. The order of the images does not matter.
    """
    pool, size = sorted(image for image, present in classes_of.items() if present), shots * classes
    if not 0 < size <= len(pool):
        raise BuildError(
            f"{shots} x {classes:,} = {size:,} images were asked for, but {len(pool):,} of the {len(classes_of):,} "
            "images hold any class. Name another number with --shots."
        )
    every = {cls for present in classes_of.values() for cls in present}
    # One key per image instead of random.sample: of the generator's methods, only random() will never change.
    generator = random.Random(seed)
    shuffled = sorted(pool, key=lambda _: generator.random())
    drawn, rest = shuffled[:size], shuffled[size:]
    kept = {cls: image for image in reversed(drawn) for cls in classes_of[image]}
    given = []
    for cls in sorted(every - kept.keys()):
        if cls not in kept:  # an image swapped in for another class may hold it
            image = next(image for image in rest if cls in classes_of[image])
            given.append(image)
            kept |= dict.fromkeys(set(classes_of[image]) - kept.keys(), image)
    needed = set(kept.values())
    spare = [image for image in drawn if image not in needed]
    return sorted({*drawn, *given} - set(spare[len(spare) - len(given) :]))


BUILDER = Builder(
    "throne_coco",
    about="""Builds throne_coco: the images of COCO val2017, each with the classes that are in it (THRONE, section 4.1).

    halluscope build throne_coco                                    # downloads about 1.1 GB
    halluscope build throne_coco --source instances_val2017.json --images val2017
    halluscope build throne_coco --source annotations --no-images   # a folder that holds the file
""",
    source="instances_val2017.json, its zip, or a folder that holds it (default: download)",
    images="the folder or the zip of val2017 (default: download)",
    make=make_coco,
)

OBJECTS365 = Builder(
    "throne_objects365",
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
    options={
        "--names": {
            "type": "path",
            "help": "Detic's table of corrected names (default: from --source, or download)",
        },
        "--ids": {"type": "path", "help": "a file of image ids, one per line (default: from --source)"},
        "--sample": {
            "action": "store_true",
            "help": "draw new images with the natural K-shot method",
        },
        "--shots": {
            "type": "whole",
            "default": 14,
            "help": "with --sample: K, images per class (default: %(default)s)",
        },
        "--seed": {
            "type": "whole",
            "default": 0,
            "help": "with --sample: the seed of the draw (default: %(default)s)",
        },
    },
    make=make_objects365,
)
