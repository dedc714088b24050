"""Builds object_enumeration: a list of objects, places and absences for each image, or for each of LLaVA's samples."""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Features, List, Value
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.benchmarks.object_enumeration import enumeration
from halluscope.benchmarks.object_enumeration.enumeration import INSTRUCTION, Enumeration, Fitting, Scene
from halluscope.building import output
from halluscope.building.command import Builder, Order
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries
from halluscope.files.writing import check_new, new_file
from halluscope.reading import coco
from halluscope.reading.coco import Boxes
from halluscope.sanitize import short_repr

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

# A sample in LLaVA's files: {"id", "image", "conversations": [{"from": "human" or "gpt", "value"}]}.
Sample = dict[str, Any]

# Yields all samples, each with the index of its picture, or with None if the sample stays unchanged.
Samples = Callable[[], Iterator[tuple[Sample, int | None]]]

_OF_2014 = re.compile(r"COCO_(?:train|val)2014_")


def make(
    order: Order,
    *,
    visual_genome: Path | None = None,
    instructions: Path | None = None,
    conversations: Path | None = None,
    clip: bool = False,
    no_negatives: bool = False,
) -> Path:
    """Build object_enumeration; without negatives, an image without objects has no enumeration."""
    out = order.target()
    if conversations is not None:
        if conversations.resolve().is_relative_to(out):
            raise BuildError(
                f"--conversations {conversations} is inside the folder to build, {out}; name another place."
            )
        check_new(conversations)
    sources = {"annotations": order.fetch("annotations")}
    for name in ("objects", "image_data") if visual_genome else ():
        sources[name] = order.fetch(name, visual_genome, "--visual-genome")
    if instructions is not None:
        sources["instructions"] = order.fetch("instructions", instructions, "--instructions")
    files = {name: source.path for name, source in sources.items()}

    table = coco.read_boxes(files["annotations"])
    vocabulary, ids = order.spec.vocabulary or "coco", [picture.image_id for picture in table.pictures]
    known_classes = vocabularies.load(vocabulary).classes
    if not order.subset and (unknown := [name for name in table.classes if name not in known_classes]):
        raise BuildError(
            f"The annotations have the class {unknown[0]!r}, which is not one of the {len(known_classes)} classes of "
            f"the vocabulary {vocabulary!r}; expected COCO's annotations. Pass --subset if you mean others."
        )
    if ids[0] < 0 or ids[-1] > enumeration.MOST:
        raise BuildError(
            f"The annotations have the image id {ids[0] if ids[0] < 0 else ids[-1]}; expected one from 0 to "
            f"{enumeration.MOST:,}, because it is the seed for drawing absent classes. Renumber the images."
        )
    numbers: dict[str, Any] = {
        "images": len(ids),
        "images_with_objects": int(np.count_nonzero(np.diff(table.starts))),
        "annotations": len(table.kinds),
        "classes": len(table.classes),
    }
    complete = order.spec.matches(numbers, order.subset)
    fit, scenes = Fitting(clip), dict[int, Scene]()
    if visual_genome is not None:
        scenes = enumeration.read_scenes(files["image_data"], files["objects"], {*ids}, {*table.classes}, fit)
    known = enumerations(table, scenes, fit)
    if no_negatives:
        known = [one._replace(absent=()) for one in known]
    samples = _samples(table, known, files.get("instructions"))
    numbers |= counts(samples, table, known, scenes) | {"boxes_cut": fit.cut, "boxes_left_out": fit.left_out}
    with new_list(conversations) as add:
        rows = Table(FEATURES, _rows(samples, table, known, add), order.spec.split)
        return output.write(order.spec, [rows], numbers, sources, complete, out)


def enumerations(table: Boxes, scenes: Mapping[int, Scene], fit: Fitting) -> list[Enumeration]:
    """Return the enumeration of each picture."""
    present = list(table.present())
    co_occur = enumeration.together(present, len(table.classes))
    kind_of = {name: kind for kind, name in enumerate(table.classes)}
    found = []
    for place, picture in enumerate(tqdm(table.pictures, desc="enumerating", unit="image", disable=None)):
        there = present[place]
        if scene := scenes.get(picture.image_id):
            named = sorted(kind_of[name] for name in scene.names)
            chances = enumeration.chances(co_occur, named, never=np.union1d(there, named))
        else:
            chances = enumeration.chances(co_occur, there)
        absent = tuple(table.classes[kind] for kind in enumeration.draw(picture.image_id, chances))
        if scene:
            objects = scene.objects
        else:
            where, size = f"Image {picture.image_id} ({picture.file_name})", (picture.width, picture.height)
            parts = ((table.classes[kind], fit(box, *size, where)) for kind, box in table.of(place))
            objects = enumeration.listed([(name, part) for name, part in parts if part is not None], *size)
        found.append(Enumeration(objects, absent))
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
        of["rows_with_fewer_absences"] += len(known[place].absent) < enumeration.NEGATIVES
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


def _samples(table: Boxes, known: Sequence[Enumeration], instructions: Readable | None) -> Samples:
    """Return the samples to write: those of the instructions, or one per image that has something to say."""
    there = [place for place, one in enumerate(known) if one.objects or one.absent]
    if instructions is not None:
        pictures = {table.pictures[place].file_name: place for place in there}
        return lambda: read_samples(instructions, pictures)
    return lambda: (
        ({"id": str(picture.image_id), "image": picture.file_name, "conversations": []}, place)
        for place in there
        for picture in [table.pictures[place]]
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


def read_samples(file: Readable, pictures: Mapping[str, int]) -> Iterator[tuple[Sample, int | None]]:
    """Yield samples, each with the index of its picture, if that is annotated."""
    for number, sample in enumerate(entries(file), 1):
        where = f"{file}: sample {number}"
        if not isinstance(sample, dict) or not isinstance(sample.get("image", ""), str):
            raise BuildError(
                f"{where} is {short_repr(sample)}; expected an object whose image is a file name."
            )
        parts = sample.get("image", "").split("/")
        tails = ["/".join(parts[start:]) for start in range(len(parts))]
        names = (*tails, _OF_2014.sub("", parts[-1]))
        picture = next((pictures[name] for name in names if name in pictures), None)
        if picture is not None:
            _check_sample(sample, where)
        yield sample, picture


def _check_sample(sample: Sample, where: str) -> None:
    """Check a sample before an enumeration is added to it."""
    if not isinstance(sample.get("id"), str | int):
        raise BuildError(f"{where} has id {short_repr(sample.get('id'))}; expected text or a whole number.")
    turns = sample.get("conversations")
    if not isinstance(turns, list) or not all(
        isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in ("from", "value"))
        for turn in turns
    ):
        raise BuildError(
            f"{where} (id {short_repr(sample['id'])}) has conversations {short_repr(turns)}; expected a list of "
            "objects with from and value, both text."
        )


def enumerated(sample: Sample, found: Enumeration) -> Sample:
    """Return a sample with the enumeration in front of its turns, whose placeholder of the image goes there."""
    turns = [
        {**turn, "value": turn["value"].replace("<image>", "").strip()}
        if "<image>" in turn["value"]
        else turn
        for turn in sample["conversations"]
    ]
    first = [{"from": "human", "value": INSTRUCTION}, {"from": "gpt", "value": found.response}]
    return {**sample, "conversations": [*first, *turns]}


@contextmanager
def new_list(path: Path | None) -> Iterator[Callable[[Sample], None]]:
    """Yield what adds a sample to a new JSON list, which appears when complete; without a path, nothing is written."""
    if path is None:
        yield lambda sample: None
        return
    with new_file(path) as file:
        before = "[\n"

        def add(sample: Sample) -> None:
            nonlocal before
            file.write(before + json.dumps(sample))
            before = ",\n"

        yield add
        file.write("\n]\n")


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
    option(
        "--no-negatives",
        action="store_true",
        help="list no absent classes (supplement, Table 5), nor images without objects",
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
