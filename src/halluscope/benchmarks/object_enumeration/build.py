"""Builds object_enumeration: a list of objects, places and absences for each image, or for each of LLaVA's samples.

The objects are COCO's, or Visual Genome's in the images that it shares with COCO. Absent classes are those that often
occur with what is present (THRONE's supplement, section 5.2): the paper's pseudocode, line by line, so it gives the
same numbers; the dataset's card says how the lines that cannot run as printed are understood.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from datasets import Features, List, Value
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.building.command import builder
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries
from halluscope.files.writing import check_new, new_file
from halluscope.reading.coco import BOX, SIDE, WHOLE, CocoTable, Kind, read_boxes, take
from halluscope.sanitize import short_repr
from halluscope.stats.ratios import Floats
from halluscope.validation import is_id

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

# The pixels by which a box may extend beyond its picture, because coordinates are rounded
BEYOND = 1.0

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

# The columns of a table of boxes: the index of the image, the object's name, its box, and the size of the picture
BOXES = ("image", "name", *"xywh", "width", "height")

# A sample in LLaVA's files, {"id", "image", "conversations": [{"from": "human" or "gpt", "value"}]}, with the index of
# its image, or with None if the sample stays unchanged
Sample = tuple[dict[str, Any], int | None]


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

    table, sizes, boxes = read_boxes(files["annotations"])
    ids, present = table.image_ids, table.present()
    if not order.subset:
        known = vocabularies.load(order.spec.vocabulary or "coco")
        known.check_known(table.classes, "COCO's annotations, or --subset if you mean others")
    if wrong := [number for number in ids if not 0 <= number <= MOST]:
        raise BuildError(
            f"The annotations have the image id {wrong[0]}; expected one from 0 to {MOST:,}, because it is the seed "
            "for drawing absent classes. Renumber the images."
        )
    counts = Counter(
        images=len(ids),
        images_with_objects=int(present.any(axis=1).sum()),
        annotations=len(table.kinds),
        classes=len(table.classes),
    )
    order.spec.matches(counts, order.subset)

    coco_boxes = pd.DataFrame(np.hstack([boxes, sizes[table.owners]]), columns=BOXES[2:])
    coco_boxes = coco_boxes.assign(image=table.owners, name=np.array(table.classes, object)[table.kinds])
    company, scenes = present.copy(), dict[int, list[tuple[str, str]]]()
    if visual_genome is not None:
        scene_boxes, named = read_scenes(files["image_data"], files["objects"], table)
        scenes = listed(scene_boxes, clip, counts, table)
        if not scenes:
            raise BuildError(
                f"{files['objects']} and {files['image_data']} have no objects for any of the {len(ids):,} images of "
                "the annotations. Are these Visual Genome's files, and annotations of COCO's train images?"
            )
        for image in scenes:
            company[image] = [name in named[image] for name in table.classes]
    objects = scenes | listed(coco_boxes[~coco_boxes["image"].isin([*scenes])], clip, counts, table)
    absent: list[list[str]] = [[] for _ in ids]
    if not no_negatives:
        # the number of images in which two classes occur together
        together = present.T.astype(float) @ present
        np.fill_diagonal(together, 0)
        for image, number in enumerate(tqdm(ids, desc="enumerating", unit="image", disable=None)):
            likely = chances(together, company[image], never=present[image] | company[image])
            absent[image] = [table.classes[kind] for kind in draw(number, likely)]
    images = {name: i for i, name in enumerate(table.file_names) if i in objects or absent[i]}

    samples: Iterable[Sample] = (
        ({"id": str(ids[image]), "image": name, "conversations": []}, image) for name, image in images.items()
    )
    if instructions is not None:
        samples = read_samples(files["instructions"], images)

    def rows(file: IO[str] | None) -> Iterator[dict[str, Any]]:
        """Yield the dataset's rows, and write all samples to a file, as a JSON list."""
        before = "[\n"
        for sample, image in samples:
            counts.update(rows=image is not None, samples_left_as_they_are=image is None)
            if image is not None:
                present_objects, missing = objects.get(image, []), absent[image]
                # with brackets as the paper prints them
                lines = [
                    f"{name} [{place}]"
                    for name, place in (*present_objects, *((name, "absent") for name in missing))
                ]
                response = "\n".join(lines)
                sample["conversations"] = [*turns(sample["conversations"], response)]
                yield {
                    "id": str(sample["id"]),
                    "image_id": ids[image],
                    "file_name": table.file_names[image],
                    "objects": [{"name": name, "place": place} for name, place in present_objects],
                    "absent": missing,
                    "instruction": INSTRUCTION,
                    "response": response,
                }
                counts.update(
                    rows_with_absences_alone=not present_objects,
                    rows_with_fewer_absences=len(missing) < NEGATIVES,
                    rows_of_visual_genome=image in scenes,
                    objects=len(present_objects),
                    absences=len(missing),
                )
            if file:
                file.write(before + json.dumps(sample))
                before = ",\n"
        if file:
            file.write("\n]\n")
        if not counts["rows"]:
            raise BuildError(
                f"None of the {counts['samples_left_as_they_are']:,} samples is about one of the {len(ids):,} images "
                "of the annotations. Are these instructions about COCO's train images?"
            )

    with new_file(conversations) if conversations else nullcontext() as file:
        # what the rows hold is counted while they are written
        return order.save(out, [Table(FEATURES, rows(file))], counts, sources)


def turns(spoken: list[dict[str, Any]], response: str) -> Iterator[dict[str, Any]]:
    """Yield the enumeration's turns and those of a sample, which lose their placeholders of the image."""
    yield {"from": "human", "value": INSTRUCTION}
    yield {"from": "gpt", "value": response}
    for turn in spoken:
        value = turn["value"]
        yield turn | {"value": value.replace("<image>", "").strip() if "<image>" in value else value}


def listed(
    boxes: pd.DataFrame, clip: bool, counts: Counter[str], table: CocoTable
) -> dict[int, list[tuple[str, str]]]:
    """Return each image's largest objects, at most `PER_CLASS` of a name, with their places.

    With `clip`, boxes that leave their pictures are cut or left out, and counted; otherwise they are an error. A centre
    on a grid line belongs to the right or below.
    """
    start, size, picture = (boxes[[*columns]].to_numpy(float) for columns in ("xy", "wh", BOXES[-2:]))
    beyond = ((start < -BEYOND) | (start + size > picture + BEYOND)).any(axis=1)
    if beyond.any() and not clip:
        image, _, *box, width, height = boxes.loc[beyond, [*BOXES]].iloc[0]
        raise BuildError(
            f"Image {table.image_ids[image]} ({table.file_names[image]}) has the box "
            f"[{', '.join(f'{number:g}' for number in box)}] (x, y, width, height), which extends beyond its picture "
            f"of {width:g} x {height:g} pixels. Are these annotations of the same images? If so, correct the file, or "
            "pass --clip to cut boxes to their picture, leave out those outside it, and count both."
        )
    end, outside = np.minimum(start + size, picture), beyond[:, np.newaxis]
    start = np.where(outside, np.maximum(start, 0), start)
    size = np.where(outside, end - start, size)
    there = ~beyond | (size > 0).all(axis=1)
    counts.update(boxes_cut=int((beyond & there).sum()), boxes_left_out=int((~there).sum()))
    across, down = (3 * (start + size / 2) / picture).astype(int).clip(0, 2).T
    shown = boxes[["image", "name"]].assign(area=size.prod(axis=1), place=np.array(PLACES)[down, across])
    shown = shown[there].sort_values("area", ascending=False, kind="stable")
    found = defaultdict(list)
    for image, name, _, place in shown.groupby(["image", "name"]).head(PER_CLASS).itertuples(index=False):
        found[image].append((name, place))
    return dict(found)


def chances(together: Floats, present: NDArray[np.bool_], never: NDArray[np.bool_]) -> Floats:
    """Return each class's chance of being drawn first [classes]; the sum is 1, or 0 if no class can be drawn."""
    if not present.any():
        return _shares(np.where(never, 0.0, 1.0))
    rows = np.where(never, 0.0, together[present])
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
    image_data: Readable, objects: Readable, table: CocoTable
) -> tuple[pd.DataFrame, dict[int, set[str]]]:
    """Return Visual Genome's boxes in the table's images, and which classes it names in each; sizes are its own."""

    def read(file: Readable) -> Iterator[tuple[int, Any, str]]:
        for number, entry in enumerate(entries(file), 1):
            where = f"{file}: entry {number}"
            yield take(entry, "image_id", WHOLE, where), entry, where

    index = {image_id: image for image, image_id in enumerate(table.image_ids)}
    shared: dict[int, tuple[int, int, int]] = {}
    for image_id, entry, where in read(image_data):
        if (coco_id := take(entry, "coco_id", COCO_ID, where)) in index:
            width, height = (take(entry, side, SIDE, where) for side in ("width", "height"))
            shared[image_id] = index[coco_id], width, height
    rows, named = [], dict[int, set[str]]()
    for image_id, entry, where in read(objects):
        image, *size = shared.get(image_id, (-1,))
        held = take(entry, "objects", LIST, where)
        if image < 0 or image in named:
            continue
        for one in held:
            names = take(one, "names", TEXTS, where)
            box = take({"box": [one.get(key) for key in "xywh"]}, "box", BOX, where)
            plain = [sys.intern(" ".join(name.lower().split())) for name in names if name.strip()]
            if plain:
                rows.append((image, plain[0], *box, *size))
                named.setdefault(image, set()).update({*plain} & {*table.classes})
    return pd.DataFrame(rows, columns=BOXES), named


def read_samples(file: Readable, images: Mapping[str, int]) -> Iterator[Sample]:
    """Yield samples, each with the index of its image, if that is annotated."""
    for number, sample in enumerate(entries(file), 1):
        if not _is_sample(sample):
            raise BuildError(
                f"{file}: sample {number} is {short_repr(sample)}; expected an object with id, image (a file name, or "
                "none), and conversations, a list of objects with from and value, both text."
            )
        parts = sample.get("image", "").split("/")
        ends = ["/".join(parts[start:]) for start in range(len(parts))]
        names = (*ends, re.sub(r"COCO_(?:train|val)2014_", "", parts[-1]))
        yield sample, next((images[name] for name in names if name in images), None)


def _is_sample(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str | int)
        and isinstance(value.get("image", ""), str)
        and isinstance(turns := value.get("conversations"), list)
        and all(
            isinstance(turn, dict) and _are_texts([turn.get("from"), turn.get("value")]) for turn in turns
        )
    )


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


COCO_ID: Kind = lambda value: value is None or is_id(value), "a 64-bit whole number, or null"
LIST: Kind = lambda value: isinstance(value, list), "a list"
TEXTS: Kind = _are_texts, "a list of text"

BUILDER = builder(__file__, "object_enumeration", make)
