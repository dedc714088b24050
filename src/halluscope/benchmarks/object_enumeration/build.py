"""Builds object_enumeration: a list of objects, places and absences for each image, or for each of LLaVA's samples."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Features, List, Value
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.benchmarks.object_enumeration import negatives
from halluscope.benchmarks.object_enumeration.conversations import Sample, enumerated, new_list, read_samples
from halluscope.benchmarks.object_enumeration.enumeration import INSTRUCTION, Enumeration, Fitting, listed
from halluscope.benchmarks.object_enumeration.visual_genome import Scene, read_scenes
from halluscope.building import output
from halluscope.building.command import Builder, Order
from halluscope.building.output import Table
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.files.writing import check_new
from halluscope.reading import coco
from halluscope.reading.coco import Boxes

FEATURES = Features(
    {
        "id": Value("string"),
        "image_id": Value("int64"),
        "file_name": Value("string"),
        "objects": List({"name": Value("string"), "place": Value("string")}),
        "absent": List(Value("string")),
        "instruction": Value("string"),
        "response": Value("string"),
    }
)

# Yields all samples, each with the index of its picture, or with None if the sample stays unchanged.
Samples = Callable[[], Iterator[tuple[Sample, int | None]]]


def make(
    order: Order,
    *,
    visual_genome: Path | None = None,
    instructions: Path | None = None,
    conversations: Path | None = None,
    clip: bool = False,
) -> Path:
    """Build object_enumeration."""
    out = order.target()
    if conversations is not None:
        _check_place(conversations, out)
    sources = {"annotations": order.fetch("annotations")}
    for name in ("objects", "image_data") if visual_genome else ():
        sources[name] = order.fetch(name, visual_genome, "--visual-genome")
    if instructions is not None:
        sources["instructions"] = order.fetch("instructions", instructions, "--instructions")
    files = {name: source.path for name, source in sources.items()}

    table = coco.read_boxes(files["annotations"])
    check(table, order.spec, order.subset)
    numbers = facts(table)
    complete = order.spec.matches(numbers, order.subset)
    fit, scenes = Fitting(clip), dict[int, Scene]()
    if visual_genome is not None:
        image_ids = {picture.image_id for picture in table.pictures}
        scenes = read_scenes(files["image_data"], files["objects"], image_ids, {*table.classes}, fit)
    known = enumerations(table, scenes, fit)
    samples = _samples(table, files.get("instructions"))
    numbers |= counts(samples, table, known, scenes) | {"boxes_cut": fit.cut, "boxes_left_out": fit.left_out}
    with new_list(conversations) as add:
        rows = Table(FEATURES, _rows(samples, table, known, add), order.spec.split)
        return output.write(order.spec, [rows], numbers, sources, complete, out)


def check(table: Boxes, spec: Spec, subset: bool = False) -> None:
    """Check that the dataset can be built from the annotations."""
    known = vocabularies.load(spec.vocabulary or "coco").classes
    if not subset and (unknown := [name for name in table.classes if name not in known]):
        raise BuildError(
            f"The annotations have the class {unknown[0]!r}, which is not one of the {len(known)} classes of the "
            f"vocabulary {spec.vocabulary!r}; expected COCO's annotations. Pass --subset if you mean others."
        )
    ids = [picture.image_id for picture in table.pictures]
    if ids[0] < 0 or ids[-1] > negatives.MOST:
        raise BuildError(
            f"The annotations have the image id {ids[0] if ids[0] < 0 else ids[-1]}; expected one from 0 to "
            f"{negatives.MOST:,}, because it is the seed for drawing absent classes. Renumber the images."
        )


def facts(table: Boxes) -> dict[str, Any]:
    """Count the annotations for stats.json."""
    return {
        "images": len(table.pictures),
        "images_with_objects": int(np.count_nonzero(np.diff(table.starts))),
        "annotations": len(table.kinds),
        "classes": len(table.classes),
    }


def enumerations(table: Boxes, scenes: Mapping[int, Scene], fit: Fitting) -> list[Enumeration]:
    """Return the enumeration of each picture."""
    present = list(table.present())
    co_occur = negatives.together(present, len(table.classes))
    kind_of = {name: kind for kind, name in enumerate(table.classes)}
    found = []
    for place, picture in enumerate(tqdm(table.pictures, desc="enumerating", unit="image", disable=None)):
        there = present[place]
        if scene := scenes.get(picture.image_id):
            named = sorted(kind_of[name] for name in scene.names)
            chances = negatives.chances(co_occur, named, never=np.union1d(there, named))
        else:
            chances = negatives.chances(co_occur, there)
        absent = tuple(table.classes[kind] for kind in negatives.draw(picture.image_id, chances))
        found.append(Enumeration(scene.objects if scene else _objects(table, place, fit), absent))
    return found


def counts(
    samples: Samples, table: Boxes, known: Sequence[Enumeration], scenes: Mapping[int, Scene]
) -> dict[str, int]:
    """Count the rows for stats.json."""
    of: Counter[str] = Counter()
    for _, place in samples():
        of["samples"] += 1
        if place is None:
            of["samples_left_as_they_are"] += 1
            continue
        of["rows"] += 1
        of["rows_of_visual_genome"] += table.pictures[place].image_id in scenes
        of["rows_with_absences_alone"] += not known[place].objects
        of["rows_with_fewer_absences"] += len(known[place].absent) < negatives.NEGATIVES
        of["objects"] += len(known[place].objects)
        of["absences"] += len(known[place].absent)
    if not of["rows"]:
        raise BuildError(
            f"None of the {of['samples']:,} samples is about one of the {len(table.pictures):,} images of the "
            "annotations. Are these instructions about COCO's train images?"
        )
    names = (
        *("rows", "rows_with_absences_alone", "rows_with_fewer_absences", "rows_of_visual_genome"),
        *("objects", "absences", "samples_left_as_they_are"),
    )
    return {name: of[name] for name in names}


def _check_place(conversations: Path, out: Path) -> None:
    if conversations.resolve().is_relative_to(out):
        raise BuildError(
            f"--conversations {conversations} is inside the folder to build, {out}; name another place."
        )
    check_new(conversations)


def _objects(table: Boxes, place: int, fit: Fitting) -> Any:
    picture = table.pictures[place]
    where = f"Image {picture.image_id} ({picture.file_name})"
    parts = (
        (table.classes[kind], fit(box, picture.width, picture.height, where)) for kind, box in table.of(place)
    )
    objects = [(name, part) for name, part in parts if part is not None]
    return listed(objects, picture.width, picture.height)


def _samples(table: Boxes, instructions: Readable | None) -> Samples:
    if instructions is not None:
        pictures = {picture.file_name: place for place, picture in enumerate(table.pictures)}
        return lambda: read_samples(instructions, pictures)
    return lambda: (
        ({"id": str(picture.image_id), "image": picture.file_name, "conversations": []}, place)
        for place, picture in enumerate(table.pictures)
    )


def _rows(
    samples: Samples, table: Boxes, known: Sequence[Enumeration], add: Callable[[Sample], None]
) -> Iterator[dict[str, Any]]:
    for sample, place in tqdm(samples(), desc="writing", unit="sample", disable=None):
        if place is None:
            add(sample)
            continue
        add(enumerated(sample, known[place]))
        picture = table.pictures[place]
        yield {
            "id": str(sample["id"]),
            "image_id": picture.image_id,
            "file_name": picture.file_name,
            "objects": [instance._asdict() for instance in known[place].objects],
            "absent": known[place].absent,
            "instruction": INSTRUCTION,
            "response": known[place].response,
        }


def _add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--visual-genome",
        type=Path,
        metavar="FOLDER",
        help="the folder of objects.json and image_data.json: list Visual Genome's objects for the images they cover",
    )
    option(
        "--instructions",
        type=Path,
        metavar="FILE",
        help="LLaVA's instructions (llava_instruct_150k.json or llava_v1_5_mix665k.json): write one row per sample",
    )
    option(
        "--conversations",
        type=Path,
        metavar="FILE",
        help="also write the samples to this new file, in the form that LLaVA trains on",
    )
    option(
        "--clip",
        action="store_true",
        help="cut boxes that extend beyond their picture, and leave out those outside it (default: an error)",
    )


BUILDER = Builder(
    name="object_enumeration",
    about="""Builds object_enumeration: each image's objects, their places, and what is absent (THRONE, section 6).

    halluscope build object_enumeration                                   # downloads COCO's annotations, 0.25 GB
    halluscope build object_enumeration --source instances_train2017.json --visual-genome vg --clip
    halluscope build object_enumeration --instructions llava_instruct_150k.json --conversations train.json

The dataset is training data. With --instructions there is one row per sample about an annotated image; --conversations
also writes the other samples, unchanged. Some of Visual Genome's boxes extend beyond their pictures; --clip cuts them.
""",
    source="instances_train2017.json, its zip, or a folder that holds it (default: download); with --subset any file "
    "of instances in COCO's form",
    make=make,
    add=_add,
)
