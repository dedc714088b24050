"""Builds object_enumeration: a list of objects, places and absences for each image, or for each of LLaVA's samples.

The objects are COCO's, or Visual Genome's in the images that it shares with COCO.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from datasets import Features, List, Value
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.benchmarks.object_enumeration.absences import (
    LARGEST_SEED,
    NEGATIVES,
    chances,
    draw,
    occurrences,
)
from halluscope.benchmarks.object_enumeration.boxes import Listed, PlacedObject, list_objects
from halluscope.benchmarks.object_enumeration.samples import INSTRUCTION, Sample, SampleWriter, read_samples
from halluscope.benchmarks.object_enumeration.scenes import Scenes, read_scenes
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError
from halluscope.files.writing import check_new, new_file
from halluscope.options import Option
from halluscope.paths import path_of
from halluscope.reading.coco import CocoTable, read_boxes
from halluscope.terminal import hides_bars

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

# What is counted while rows are written
COUNTED = (
    "rows",
    "samples_left_as_they_are",
    "rows_with_absences_alone",
    "rows_with_fewer_absences",
    "rows_of_visual_genome",
    "objects",
    "absences",
)


@dataclass(frozen=True)
class Images:
    """What is known of the images, by their indexes in the table."""

    table: CocoTable
    objects: Mapping[int, list[PlacedObject]]
    absent: list[list[str]]  # the absent classes of each image, in the order drawn
    scenes: Collection[int]  # the images whose objects are Visual Genome's

    def by_name(self) -> dict[str, int]:
        """Return the indexes of the images that have something to list, by their file names."""
        indexes = {}
        for image, name in enumerate(self.table.file_names):
            if image in self.objects or self.absent[image]:
                indexes[name] = image
        return indexes


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
        check_conversations(conversations, out)
    sources = fetch_sources(order, visual_genome, instructions)
    annotations = read_boxes(sources["annotations"].path)
    table = annotations.table
    check_table(table, order)
    counts = counts_of(table)
    order.spec.matches(counts, order.subset)

    present = table.present()
    of_scenes = Listed({}, boxes_cut=0, boxes_left_out=0)
    if visual_genome is not None:
        scenes = read_scenes(sources["image_data"].path, sources["objects"].path, table)
        of_scenes = list_scenes(scenes, clip, table, sources)
        for image in of_scenes.objects:
            present[image] = [name in scenes.names[image] for name in table.classes]
    boxes = with_columns(table, annotations.sizes, annotations.boxes)
    is_scene = boxes["image"].isin(list(of_scenes.objects))
    of_coco = list_objects(boxes[~is_scene], clip, table)
    counts["boxes_cut"] = of_scenes.boxes_cut + of_coco.boxes_cut
    counts["boxes_left_out"] = of_scenes.boxes_left_out + of_coco.boxes_left_out
    absent: list[list[str]] = [[] for _ in table.image_ids]
    if not no_negatives:
        absent = absent_classes(table, present)
    images = Images(table, {**of_scenes.objects, **of_coco.objects}, absent, of_scenes.objects.keys())

    samples = own_samples(images)
    if instructions is not None:
        samples = read_samples(sources["instructions"].path, images.by_name())
    if conversations is None:
        rows = enumerated_rows(samples, images, counts)
        return order.save(out, [Table(FEATURES, rows)], counts, sources)
    with new_file(conversations) as file:
        rows = enumerated_rows(samples, images, counts, SampleWriter(file))
        return order.save(out, [Table(FEATURES, rows)], counts, sources)


def fetch_sources(order: Order, visual_genome: Path | None, instructions: Path | None) -> dict[str, Fetched]:
    """Get the annotations, and what the user adds to them."""
    sources = {"annotations": order.fetch("annotations")}
    if visual_genome is not None:
        for name in ("objects", "image_data"):
            sources[name] = order.fetch(name, visual_genome, "--visual-genome")
    if instructions is not None:
        sources["instructions"] = order.fetch("instructions", instructions, "--instructions")
    return sources


# What is checked, and what the card says of the sizes


def check_conversations(conversations: Path, out: Path) -> None:
    """Check that the file of samples is new, and not in the folder that is built."""
    if conversations.resolve().is_relative_to(out):
        raise BuildError(
            f"--conversations {conversations} is inside the folder to build, {out}; name another place."
        )
    check_new(conversations)


def check_table(table: CocoTable, order: Order) -> None:
    """Check that annotations are of COCO's classes, and that each image id can be a seed."""
    if not order.subset:
        known = vocabularies.load(order.spec.vocabulary or "coco")
        known.check_known(table.classes, "COCO's annotations, or --subset if you mean others")
    for image_id in table.image_ids:
        if not 0 <= image_id <= LARGEST_SEED:
            raise BuildError(
                f"The annotations have the image id {image_id}; expected one from 0 to {LARGEST_SEED:,}, because it is "
                "the seed for drawing absent classes. Renumber the images."
            )


def counts_of(table: CocoTable) -> Counter[str]:
    """Return the counts that the dataset's card states; what rows hold is counted while they are written."""
    counts = Counter(
        images=len(table.image_ids),
        images_with_objects=int(table.present().any(axis=1).sum()),
        annotations=len(table.kinds),
        classes=len(table.classes),
        boxes_cut=0,
        boxes_left_out=0,
    )
    for name in COUNTED:
        counts[name] = 0
    return counts


# What is in the images, and what is absent


def with_columns(table: CocoTable, sizes: NDArray[np.int64], boxes: NDArray[np.float64]) -> pd.DataFrame:
    """Return COCO's boxes [annotations, 4] and the sizes of its images [images, 2] as a table for `list_objects`."""
    names = np.array(table.classes, dtype=object)
    return pd.DataFrame(
        {
            "image": table.owners,
            "name": names[table.kinds],
            "x": boxes[:, 0],
            "y": boxes[:, 1],
            "w": boxes[:, 2],
            "h": boxes[:, 3],
            "width": sizes[table.owners, 0],
            "height": sizes[table.owners, 1],
        }
    )


def list_scenes(scenes: Scenes, clip: bool, table: CocoTable, sources: Mapping[str, Fetched]) -> Listed:
    """List Visual Genome's objects."""
    listed = list_objects(scenes.boxes, clip, table)
    if not listed.objects:
        raise BuildError(
            f"{sources['objects'].path} and {sources['image_data'].path} have no objects for any of the "
            f"{len(table.image_ids):,} images of the annotations. Are these Visual Genome's files, and annotations of "
            "COCO's train images?"
        )
    return listed


def absent_classes(table: CocoTable, present: NDArray[np.bool_]) -> list[list[str]]:
    """Draw the absent classes of each image.

    `present` are the classes in each image [images, classes], by which others are likely. They are never drawn, nor are
    those that COCO has in the image.
    """
    in_coco = table.present()
    together = occurrences(in_coco)
    absent = []
    for image, image_id in enumerate(
        tqdm(table.image_ids, desc="enumerating", unit="image", disable=hides_bars())
    ):
        never = in_coco[image] | present[image]
        classes = draw(image_id, chances(together, present[image], never))
        absent.append([table.classes[number] for number in classes])
    return absent


# Rows and samples


def own_samples(images: Images) -> Iterator[Sample]:
    """Yield a sample for each image that has something to list."""
    for name, image in images.by_name().items():
        content = {"id": str(images.table.image_ids[image]), "image": name, "conversations": []}
        yield Sample(content, image)


def enumerated_rows(
    samples: Iterable[Sample], images: Images, counts: Counter[str], writer: SampleWriter | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the dataset's rows, count what they hold, and write all samples, if there is a writer."""
    for sample in samples:
        if sample.image is None:
            counts["samples_left_as_they_are"] += 1
        else:
            row = row_of(sample, sample.image, images)
            sample.add_enumeration(row["response"])
            count_row(row, counts)
            counts["rows_of_visual_genome"] += sample.image in images.scenes
            yield row
        if writer is not None:
            writer.write(sample)
    if writer is not None:
        writer.end()
    if not counts["rows"]:
        raise BuildError(
            f"None of the {counts['samples_left_as_they_are']:,} samples is about one of the "
            f"{len(images.table.image_ids):,} images of the annotations. Are these instructions about COCO's train "
            "images?"
        )


def row_of(sample: Sample, image: int, images: Images) -> dict[str, Any]:
    """Return the dataset's row for a sample about an image."""
    objects = images.objects.get(image, [])
    absent = images.absent[image]
    # with brackets as the paper prints them
    lines = [f"{placed.name} [{placed.place}]" for placed in objects]
    for name in absent:
        lines.append(f"{name} [absent]")
    return {
        "id": str(sample.content["id"]),
        "image_id": images.table.image_ids[image],
        "file_name": images.table.file_names[image],
        "objects": [{"name": placed.name, "place": placed.place} for placed in objects],
        "absent": absent,
        "instruction": INSTRUCTION,
        "response": "\n".join(lines),
    }


def count_row(row: Mapping[str, Any], counts: Counter[str]) -> None:
    """Add what a row holds to the counts."""
    counts["rows"] += 1
    if not row["objects"]:
        counts["rows_with_absences_alone"] += 1
    if len(row["absent"]) < NEGATIVES:
        counts["rows_with_fewer_absences"] += 1
    counts["objects"] += len(row["objects"])
    counts["absences"] += len(row["absent"])


BUILDER = Builder(
    "object_enumeration",
    about="""Builds object_enumeration: each image's objects, their places, and what is absent (THRONE, section 6).

    halluscope build object_enumeration                                   # downloads COCO's annotations, 0.25 GB
    halluscope build object_enumeration --source instances_train2017.json --visual-genome vg --clip
    halluscope build object_enumeration --instructions llava_instruct_150k.json --conversations train.json

The dataset is training data. With --instructions there is one row per sample about an annotated image; --conversations
also writes the other samples, unchanged. Some of Visual Genome's boxes extend beyond their pictures; --clip cuts them.
""",
    source="instances_train2017.json, its zip, or a folder that holds it (default: download); with --subset any file "
    "of instances in COCO's form",
    options=(
        Option(
            "visual_genome",
            "the folder of objects.json and image_data.json: list Visual Genome's objects for the images they cover",
            type=path_of,
            metavar="FOLDER",
        ),
        Option(
            "instructions",
            "LLaVA's instructions (llava_instruct_150k.json or llava_v1_5_mix665k.json): write one row per sample",
            type=path_of,
            metavar="FILE",
        ),
        Option(
            "conversations",
            "also write the samples to this new file, in the form that LLaVA trains on",
            type=path_of,
            metavar="FILE",
        ),
        Option(
            "clip",
            "cut boxes that extend beyond their picture, and leave out those outside it (default: an error)",
            flag=True,
        ),
        Option(
            "no_negatives",
            "list no absent classes (supplement, Table 5), nor images without objects",
            flag=True,
        ),
    ),
    make=make,
)
