"""Writes the rows of `throne_*`: an image, the prompt, and the classes in the image (THRONE, section 4.1)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Features, Image, List, Value
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.benchmarks.throne import BENCHMARK
from halluscope.building import images, output
from halluscope.building.command import Order
from halluscope.building.fetch import Fetched, fetch
from halluscope.building.output import Table
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.reading.coco import CocoTable


def write(
    order: Order,
    coco: CocoTable,
    sources: Mapping[str, Fetched],
    out: Path,
    sample: Mapping[str, int] | None = None,
) -> Path:
    """Get the images, check everything, and write the dataset."""
    folder = None
    if order.with_images:
        got = fetch(order.spec.sources["images"], "--images", order.images, order.cache, order.subset)
        sources, folder = {**sources, "images": got}, got.path
        if order.only_images_present:
            coco = coco.without(images.missing(coco.file_names, folder))
    numbers = counts(coco)
    complete = order.spec.matches(numbers, order.subset) and sample is None
    if folder is not None:
        hint = "Name the folder that holds all images, or pass --only-images-present --subset."
        images.check(coco.file_names, folder, hint)
    if sample is not None:
        numbers["sample"] = dict(sample)
    return output.write(order.spec, [table(coco, order.spec.split, folder)], numbers, sources, complete, out)


def check_classes(coco: CocoTable, spec: Spec) -> None:
    """Check that the annotated classes are in the dataset's vocabulary, which the metric uses."""
    if spec.vocabulary is None:
        return
    vocabulary = vocabularies.load(spec.vocabulary)
    unknown = [name for name in coco.classes if name not in vocabulary.classes]
    if unknown:
        raise BuildError(
            f"The annotations have the class {unknown[0]!r}, which is not one of the {len(vocabulary.classes)} "
            f"classes of the vocabulary {vocabulary.name!r}; expected annotations of {spec.title}."
        )


def counts(coco: CocoTable) -> dict[str, Any]:
    """Count the rows for stats.json."""
    per_image = [len(image.objects) for image in coco.images]
    per_class = Counter(name for image in coco.images for name in image.objects)
    return {
        "images": len(coco.images),
        "annotations": sum(image.annotations for image in coco.images),
        "classes": len(coco.classes),
        "objects_per_image": {
            "mean": round(sum(per_image) / len(per_image), 4),
            "min": min(per_image),
            "max": max(per_image),
        },
        "images_without_objects": per_image.count(0),
        "images_per_class": {name: per_class[name] for name in coco.classes},
    }


def table(coco: CocoTable, split: str, folder: Readable | None) -> Table:
    """Return the rows to write, with images if there is a folder to read them from."""
    columns = {
        "image_id": Value("int64"),
        "image": Image(),
        "file_name": Value("string"),
        "prompt": Value("string"),
        "objects": List(Value("string")),
    }
    if folder is None:
        del columns["image"]
    return Table(Features(columns), _rows(coco, folder), split)


def _rows(coco: CocoTable, folder: Readable | None) -> Iterator[dict[str, Any]]:
    for image in tqdm(coco.images, desc="writing", unit="image", disable=None):
        row = {
            "image_id": image.image_id,
            "file_name": image.file_name,
            "prompt": BENCHMARK.prompt,
            "objects": image.objects,
        }
        if folder is not None:
            row["image"] = images.stored(image.file_name, folder)
        yield row
