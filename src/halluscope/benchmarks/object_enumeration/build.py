"""Builds object_enumeration: a list of objects, places and absences for each image, or for each of LLaVA's samples.

The objects are COCO's, or Visual Genome's in the images that it shares with COCO. Absent classes are those that often
occur with what is present (THRONE's supplement, section 5.2): the paper's pseudocode, line by line, so it gives the
same numbers; the dataset's card says how the lines that cannot run as printed are understood.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from datasets import Features, List, Value
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.building import output
from halluscope.building.command import Order, declared
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries
from halluscope.files.writing import check_new, new_file
from halluscope.reading import coco
from halluscope.reading.coco import Box, Boxes
from halluscope.sanitize import short_repr
from halluscope.stats.ratios import Floats

INSTRUCTION = "<image> Give a list of objects and locations in the image."

PER_CLASS = 3
NEGATIVES = 6
SHARPENED = 10
MOST = 2**32 - 1  # The largest image id that `numpy.random.RandomState` takes as its seed; the smallest is 0

# The names of the nine places, row by row; the paper prints only "bottom left".
PLACES = (
    ("top left", "top", "top right"),
    ("left", "center", "right"),
    ("bottom left", "bottom", "bottom right"),
)

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

# The largest objects, each with its place
Objects = list[tuple[str, str]]

# An image's objects, and the names of absent classes in the order of the draw
Enumeration = tuple[Objects, list[str]]

# A sample in LLaVA's files, {"id", "image", "conversations": [{"from": "human" or "gpt", "value"}]}, with the index of
# its picture, or with None if the sample stays unchanged
Sample = tuple[dict[str, Any], int | None]

# Takes a box, its picture's width and height, and its place for messages; returns the part inside the picture, if any
Fit = Callable[[Box, int, int, str], Box | None]

# The indices of some classes, in a list of all classes by category id
Kinds = Sequence[int] | NDArray[np.integer[Any]]


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
    classes = vocabularies.load(vocabulary).classes
    if not order.subset and (unknown := [name for name in table.classes if name not in classes]):
        raise BuildError(
            f"The annotations have the class {unknown[0]!r}, which is not one of the {len(classes)} classes of "
            f"the vocabulary {vocabulary!r}; expected COCO's annotations. Pass --subset if you mean others."
        )
    if ids[0] < 0 or ids[-1] > MOST:
        raise BuildError(
            f"The annotations have the image id {ids[0] if ids[0] < 0 else ids[-1]}; expected one from 0 to "
            f"{MOST:,}, because it is the seed for drawing absent classes. Renumber the images."
        )
    numbers: dict[str, Any] = {
        "images": len(ids),
        "images_with_objects": int(np.count_nonzero(np.diff(table.starts))),
        "annotations": len(table.kinds),
        "classes": len(table.classes),
    }
    complete = order.spec.matches(numbers, order.subset)
    boxes = dict.fromkeys(("boxes_cut", "boxes_left_out"), 0)
    fit: Fit = partial(fitted, boxes, clip)
    scenes: dict[int, tuple[Objects, set[str]]] = {}
    if visual_genome is not None:
        scenes = read_scenes(files["image_data"], files["objects"], {*ids}, {*table.classes}, fit)
    known = enumerations(table, scenes, fit)
    if no_negatives:
        known = [(objects, []) for objects, _ in known]
    files_of = {image.file_name: place for place, image in enumerate(table.pictures) if any(known[place])}

    def samples() -> Iterator[Sample]:
        """Yield the samples to write: those of the instructions, or one per image that has something to say."""
        if instructions is not None:
            yield from read_samples(files["instructions"], files_of)
        else:
            for file_name, place in files_of.items():
                yield {"id": str(ids[place]), "image": file_name, "conversations": []}, place

    each = [place for _, place in samples()]
    rows = [place for place in each if place is not None]
    if not rows:
        raise BuildError(
            f"None of the {len(each):,} samples is about one of the {len(ids):,} images of the "
            "annotations. Are these instructions about COCO's train images?"
        )
    numbers |= {
        "rows": len(rows),
        "rows_with_absences_alone": sum(not known[place][0] for place in rows),
        "rows_with_fewer_absences": sum(len(known[place][1]) < NEGATIVES for place in rows),
        "rows_of_visual_genome": sum(ids[place] in scenes for place in rows),
        "objects": sum(len(known[place][0]) for place in rows),
        "absences": sum(len(known[place][1]) for place in rows),
        "samples_left_as_they_are": len(each) - len(rows),
        **boxes,
    }
    with new_file(conversations) if conversations else nullcontext() as file:
        written = Table(FEATURES, _rows(samples(), table, known, file), order.spec.split)
        return output.write(order.spec, [written], numbers, sources, complete, out)


def enumerations(table: Boxes, scenes: Mapping[int, tuple[Objects, set[str]]], fit: Fit) -> list[Enumeration]:
    """Return the enumeration of each picture."""
    present, size = list(table.present()), len(table.classes)
    co_occur = np.zeros((size, size))  # the number of images in which two classes occur together
    for kinds in present:
        co_occur[np.ix_(kinds, kinds)] += 1
    np.fill_diagonal(co_occur, 0)
    found = []
    for place, picture in enumerate(tqdm(table.pictures, desc="enumerating", unit="image", disable=None)):
        there: Kinds = present[place]
        width, height = picture.width, picture.height
        if scene := scenes.get(picture.image_id):
            objects, names = scene
            named = [kind for kind, name in enumerate(table.classes) if name in names]
            likely = chances(co_occur, named, never=np.union1d(there, named))
        else:
            where = f"Image {picture.image_id} ({picture.file_name})"
            parts = ((table.classes[kind], fit(box, width, height, where)) for kind, box in table.of(place))
            objects, likely = listed(parts, width, height), chances(co_occur, there)
        found.append((objects, [table.classes[kind] for kind in draw(picture.image_id, likely)]))
    return found


def listed(objects: Iterable[tuple[str, Box | None]], width: int, height: int) -> Objects:
    """Return the largest objects, at most `PER_CLASS` per class; those without a box are left out."""
    of_class: Counter[str] = Counter()
    found = []
    boxes = [(name, box) for name, box in objects if box]
    for name, box in sorted(boxes, key=lambda one: -(one[1][2] * one[1][3])):
        of_class[name] += 1
        if of_class[name] <= PER_CLASS:
            found.append((name, place(box, width, height)))
    return found


def place(box: Box, width: int, height: int) -> str:
    """Return the place of a box's centre in a picture; a centre on a grid line belongs to the right or below.

    >>> place((0, 0, 20, 20), 90, 60), place((20, 30, 20, 20), 90, 60)
    ('top left', 'bottom')
    """
    x, y, wide, high = box
    line, side = (
        min(max(int(3 * centre / size), 0), 2)
        for centre, size in ((y + high / 2, height), (x + wide / 2, width))
    )
    return PLACES[line][side]


def fitted(counts: dict[str, int], clip: bool, box: Box, width: int, height: int, where: str) -> Box | None:
    """Return the part of a box inside its picture, and count those cut; without `clip`, such a box is an error."""
    part = coco.fitted(box, width, height)
    if part is not box and not clip:
        raise BuildError(
            f"{where} has the box [{', '.join(f'{number:g}' for number in box)}] (x, y, width, height), which extends "
            f"beyond its picture of {width} x {height} pixels. Are these annotations of the same images? If so, "
            "correct the file, or pass --clip to cut boxes to their picture, leave out those outside it, and count "
            "both."
        )
    if part is not box:
        counts["boxes_cut" if part else "boxes_left_out"] += 1
    return part


def chances(co_occur: Floats, present: Kinds, never: Kinds | None = None) -> Floats:
    """Return each class's chance of being drawn first [classes]; the sum is 1, or 0 if no class can be drawn."""
    barred = np.isin(np.arange(len(co_occur)), present if never is None else never)
    if len(present) == 0:
        return _shares(np.where(barred, 0.0, 1.0))
    rows = np.where(barred, 0.0, co_occur[np.asarray(present)])
    return _shares(_shares(_shares(rows).sum(axis=0)) ** SHARPENED)


def draw(image_id: int, probabilities: Floats) -> list[int]:
    """Draw the absent classes of an image: six, or as many as possible, in the order of the draw."""
    size = min(NEGATIVES, int(np.count_nonzero(probabilities)))
    if not size:
        return []
    rng = np.random.RandomState(image_id)
    drawn: list[int] = rng.choice(len(probabilities), size=size, p=probabilities, replace=False).tolist()
    return drawn


def _shares(values: Floats) -> Floats:
    sums = values.sum(axis=-1, keepdims=True)
    shares: Floats = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
    return shares


def read_scenes(
    image_data: Readable, objects: Readable, image_ids: set[int], classes: set[str], fit: Fit
) -> dict[int, tuple[Objects, set[str]]]:
    """Return Visual Genome's objects in the wanted images, and the classes it names; its images' sizes are its own."""
    shared: dict[int, tuple[int, int, int]] = {}
    for number, entry in enumerate(entries(image_data), 1):
        where = f"{image_data}: entry {number}"
        values = _fields(entry, where, "image_id", "coco_id", "width", "height")
        if values[1] is None:
            continue
        if any(type(one) is not int for one in values) or min(values[2:]) < 1:
            raise BuildError(
                f"{where} is {short_repr(entry)}; expected image_id, coco_id, width and height as whole numbers."
            )
        if values[1] in image_ids:
            shared[values[0]] = values[1], values[2], values[3]
    found: dict[int, tuple[Objects, set[str]]] = {}
    for number, entry in enumerate(entries(objects), 1):
        where = f"{objects}: entry {number}"
        image, held = _fields(entry, where, "image_id", "objects")
        if type(image) is not int or not isinstance(held, list):
            raise BuildError(f"{where} is {short_repr(entry)}; expected image_id, and a list of objects.")
        if image not in shared or (coco_id := shared[image][0]) in found:
            continue
        size, boxes, named = shared[image][1:], [], set[str]()
        for one in held:
            names, *box = _fields(one, where, "names", *"xywh")
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise BuildError(
                    f"{where} has an object with the names {short_repr(names)}; expected a list of text."
                )
            plain = [sys.intern(" ".join(name.lower().split())) for name in names if name.strip()]
            checked = coco.box_of(box, where)
            if plain:
                boxes.append((plain[0], fit(checked, *size, where)))
            named.update(plain)
        if listing := listed(boxes, *size):
            found[coco_id] = listing, named & classes
    if not found:
        raise BuildError(
            f"{objects} and {image_data} have no objects for any of the {len(image_ids):,} images of the "
            "annotations. Are these Visual Genome's files, and annotations of COCO's train images?"
        )
    return found


def _fields(entry: Any, where: str, *keys: str) -> list[Any]:
    for key in keys:
        if not isinstance(entry, dict) or key not in entry:
            raise BuildError(f"{where} holds {short_repr(entry)}; expected an object with {key}.")
    return [entry[key] for key in keys]


def read_samples(file: Readable, pictures: Mapping[str, int]) -> Iterator[Sample]:
    """Yield samples, each with the index of its picture, if that is annotated."""
    for number, sample in enumerate(entries(file), 1):
        where = f"{file}: sample {number}"
        if not isinstance(sample, dict) or not isinstance(sample.get("image", ""), str):
            raise BuildError(
                f"{where} is {short_repr(sample)}; expected an object whose image is a file name."
            )
        parts = sample.get("image", "").split("/")
        tails = ["/".join(parts[start:]) for start in range(len(parts))]
        names = (*tails, re.sub(r"COCO_(?:train|val)2014_", "", parts[-1]))
        picture = next((pictures[name] for name in names if name in pictures), None)
        if picture is not None:
            if not isinstance(sample.get("id"), str | int):
                raise BuildError(
                    f"{where} has id {short_repr(sample.get('id'))}; expected text or a whole number."
                )
            turns = sample.get("conversations")
            if not isinstance(turns, list) or not all(
                isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in ("from", "value"))
                for turn in turns
            ):
                raise BuildError(
                    f"{where} (id {short_repr(sample['id'])}) has conversations {short_repr(turns)}; expected a list "
                    "of objects with from and value, both text."
                )
        yield sample, picture


def _rows(
    samples: Iterable[Sample], table: Boxes, known: Sequence[Enumeration], file: IO[str] | None
) -> Iterator[dict[str, Any]]:
    """Yield the dataset's rows, and write all samples to a file, as a JSON list.

    The enumeration comes in front of a sample's turns, and the placeholder of the image goes there.
    """
    before = "[\n"
    for sample, place in tqdm(samples, desc="writing", unit="sample", disable=None):
        if place is not None:
            picture, (objects, absent) = table.pictures[place], known[place]
            lines = [
                *objects,
                *((name, "absent") for name in absent),
            ]  # with brackets as the paper prints them
            row = {"instruction": INSTRUCTION, "response": "\n".join(f"{one} [{at}]" for one, at in lines)}
            turns = [
                turn | {"value": turn["value"].replace("<image>", "").strip()}
                if "<image>" in turn["value"]
                else turn
                for turn in sample["conversations"]
            ]
            first = zip(("human", "gpt"), row.values(), strict=True)
            turns[:0] = [{"from": speaker, "value": value} for speaker, value in first]
            sample["conversations"] = turns
            yield {
                "id": str(sample["id"]),
                "image_id": picture.image_id,
                "file_name": picture.file_name,
                "objects": [{"name": name, "place": where} for name, where in objects],
                "absent": absent,
                **row,
            }
        if file:
            file.write(before + json.dumps(sample))
            before = ",\n"
    if file:
        file.write("\n]\n")


BUILDER = declared(__file__, "object_enumeration", make)
