"""Builds throne_coco and throne_objects365: images, each with the classes that are in it (THRONE, sections 4.1, 5.3).

Objects365 v2 also needs the corrected class names and the paper's list of image ids. New images are drawn as the
paper's were: by the natural K-shot of Lee et al., "Rethinking Few-Shot Object Detection on a Multi-Domain Benchmark"
(ECCV 2022), which keeps the classes' frequencies and loses no class.
"""

import random
from collections.abc import Collection, Mapping, Sequence
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
from halluscope.building.images import missing
from halluscope.building.output import Order
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_text
from halluscope.options import Option, check_effect
from halluscope.paths import path_of
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
    out = order.target()
    annotations = order.fetch("annotations")
    table = read_annotations(annotations.path)
    return write(order, table, {"annotations": annotations}, out)


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
    if not sample:
        check_effect(
            {"shots": shots, "seed": seed},
            ["shots", "seed"],
            "no images are drawn, which takes --sample",
            usual={"shots": SHOTS, "seed": 0},
        )
    out = order.target()
    if ids is None and not sample:
        ids = beside(order, "ids")
    if (ids is None) != sample:
        raise BuildError(
            f"Which images? Name the paper's list with --ids FILE ({order.spec.sources['ids'].url}, CC BY-NC 4.0), "
            "or draw new images with --sample; not both."
        )
    sources = {
        "annotations": order.fetch("annotations"),
        "names": order.fetch("names", names or beside(order, "names"), "--names", alone=True),
    }
    if ids is not None:
        sources["ids"] = order.fetch("ids", ids, "--ids")
    corrections = read_names(sources["names"].path)
    if ids is not None:
        image_ids = read_ids(sources["ids"].path)
    table = correct(read_annotations(sources["annotations"].path), corrections)
    draw = {}
    if ids is None:
        classes_of = dict(zip(table.image_ids, table.objects(), strict=True))
        image_ids = natural_k_shot(classes_of, shots, len(table.classes), seed)
        draw["sample"] = {"shots": shots, "seed": seed}
    else:
        check_ids(image_ids, table)
    is_chosen = np.isin(table.image_ids, image_ids)
    return write(order, table.only(is_chosen.tolist()), sources, out, draw)


def beside(order: Order, name: str) -> Path | None:
    """Return a list in the source folder, under its published name; None if it is not there."""
    if not order.source:
        return None
    file_name = order.spec.sources[name].url.rpartition("/")[2]
    file = Path(order.source, file_name)
    if not file.is_file():
        return None
    return file


def check_ids(image_ids: Sequence[int], table: CocoTable) -> None:
    """Check that the annotations have all these images."""
    unknown = sorted(set(image_ids) - set(table.image_ids))
    if unknown:
        raise BuildError(
            f"{len(unknown):,} of the {len(image_ids):,} image ids are not among the {len(table.image_ids):,} images "
            f"of the annotations, such as {unknown[0]}. Are these the annotations of the same split?"
        )


def write(
    order: Order,
    table: CocoTable,
    sources: Mapping[str, Fetched],
    out: Path,
    draw: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Get the images, check everything, and write the dataset; `draw` says how its images were drawn, if they were."""
    if order.spec.vocabulary is not None:
        vocabulary = vocabularies.load(order.spec.vocabulary)
        vocabulary.check_known(table.classes, f"annotations of {order.spec.title}")
    sources = dict(sources)
    if order.with_images:
        sources["images"] = order.fetch("images", order.images, "--images", alone=True)
        if order.only_images_present:
            table = with_files(table, sources["images"].path)
    objects = table.objects()
    rows = []
    for image_id, name, classes in zip(table.image_ids, table.file_names, objects, strict=True):
        row = {
            "image_id": image_id,
            "image": name,
            "file_name": name,
            "prompt": METRIC.prompt,
            "objects": classes,
        }
        rows.append(row)
    counts = counts_of(table, objects)
    counts.update(draw)
    return order.write(out, rows, COLUMNS, counts, sources, complete=not draw)


def with_files(table: CocoTable, images: Readable) -> CocoTable:
    """Return the table of the images whose files are there."""
    absent = set(missing(table.file_names, images))
    is_there = [name not in absent for name in table.file_names]
    if not any(is_there):
        raise BuildError(f"None of the {len(is_there):,} images that the annotations name exists.")
    return table.only(is_there)


def counts_of(table: CocoTable, objects: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return what the dataset's card says of its size; `objects` are the classes in each image."""
    per_image = [len(classes) for classes in objects]
    per_class = table.present().sum(axis=0).tolist()
    return {
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
    }


def read_names(file: Readable) -> dict[int, tuple[str, str]]:
    """Read the table of names without a header: category id -> the published name, and the corrected one.

    Spaces around a name are dropped.
    """
    names: dict[int, tuple[str, str]] = {}
    all_corrected = set()
    for number, row in enumerate(cells(read_text(file), str(file)), 1):
        fields = [field.strip() for field in row]
        category = None
        if len(fields) == 3 and fields[1] and fields[2]:
            category = id_of(fields[0])
        if category is None or category in names or fields[2] in all_corrected:
            raise BuildError(
                f"{file}, row {number} is {short_repr(','.join(row))}; expected category id, published name, corrected "
                "name, each id and each corrected name once."
            )
        names[category] = (fields[1], fields[2])
        all_corrected.add(fields[2])
    return names


def read_ids(file: Readable) -> list[int]:
    """Read a list of image ids, one per line."""
    image_ids: dict[int, None] = {}  # in the order of the file
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if not line.strip():
            continue
        image_id = id_of(line)
        if image_id is None or image_id in image_ids:
            raise BuildError(
                f"{file}, line {number} is {short_repr(line.strip())}; expected an image id, each once."
            )
        image_ids[image_id] = None
    if not image_ids:
        raise BuildError(f"{file} holds no image ids; expected one per line.")
    return list(image_ids)


def correct(table: CocoTable, names: Mapping[int, tuple[str, str]]) -> CocoTable:
    """Return the annotations with the corrected class names; those already corrected stay unchanged."""
    in_one_only = set(names) ^ set(table.class_ids)
    if in_one_only:
        raise BuildError(
            f"The table of names has {len(names):,} rows; expected one for each of the {len(table.classes):,} "
            f"categories of the annotations. Category {max(in_one_only)} is in only one of them."
        )
    corrected = []
    for category, name in zip(table.class_ids, table.classes, strict=True):
        if name.strip() not in names[category]:
            raise BuildError(
                f"Category {category} is {short_repr(name)} in the annotations and {short_repr(names[category][0])} "
                "in the table of names; expected the same name. Are these the names of the same version of Objects365?"
            )
        corrected.append(names[category][1])
    return replace(table, classes=tuple(corrected))


def natural_k_shot(
    classes_of: Mapping[int, Collection[str]], shots: int, classes: int, seed: int = 0
) -> list[int]:
    """Draw `shots` x `classes` images uniformly, then swap in an image for each class that has none.

    The image swapped out is never the one kept for a class. The order of the images does not matter.
    """
    size = shots * classes
    pool = sorted(image for image, present in classes_of.items() if present)
    if not 0 < size <= len(pool):
        raise BuildError(
            f"{shots} x {classes:,} = {size:,} images were asked for, but {len(pool):,} of the {len(classes_of):,} "
            "images hold any class. Name another number with --shots."
        )
    # One key per image instead of random.sample: of the generator's methods, only random() will never change.
    generator = random.Random(seed)
    shuffled = sorted(pool, key=lambda _: generator.random())
    selected = shuffled[:size]
    rest = shuffled[size:]
    kept_for: dict[str, int] = {}  # class -> the first image that holds it
    for image in selected:
        keep(image, classes_of[image], kept_for)
    all_classes = set().union(*classes_of.values())
    swapped_in = []
    for cls in sorted(all_classes - kept_for.keys()):
        if cls in kept_for:  # an image swapped in for another class holds it
            continue
        image = next(image for image in rest if cls in classes_of[image])
        swapped_in.append(image)
        keep(image, classes_of[image], kept_for)
    needed = set(kept_for.values())
    spare = [image for image in selected if image not in needed]
    swapped_out = spare[len(spare) - len(swapped_in) :]
    return sorted(set(selected + swapped_in) - set(swapped_out))


def keep(image: int, classes: Collection[str], kept_for: dict[str, int]) -> None:
    """Keep an image for those of its classes that have none yet."""
    for cls in classes:
        kept_for.setdefault(cls, image)


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
    options=(
        Option(
            "names",
            "Detic's table of corrected names (default: from --source, or download)",
            type=path_of,
            metavar="FILE",
        ),
        Option(
            "ids", "a file of image ids, one per line (default: from --source)", type=path_of, metavar="FILE"
        ),
        Option("sample", "draw new images with the natural K-shot method", flag=True),
        Option("shots", "with --sample: K, images per class (default: 14)", type=int, metavar="N"),
        Option("seed", "with --sample: the seed of the draw (default: 0)", type=int, metavar="N"),
    ),
    make=make_objects365,
)
