"""The rows of `throne_*`: an image, the prompt, and the classes that are in it (THRONE, section 4.1)."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from datasets import Features, Image, List, Value
from tqdm import tqdm

from halluscope import vocabularies
from halluscope.building import images
from halluscope.building.coco import CocoTable
from halluscope.building.fetch import Readable
from halluscope.building.parquet import Table
from halluscope.building.spec import Spec
from halluscope.errors import BuildError

PROMPT = "Describe this image in detail."


def check_classes(coco: CocoTable, spec: Spec) -> None:
    """Hold the classes of the annotations to the dataset's vocabulary, which its metric scores with.

    Raises:
        BuildError: for a class outside it.
    """
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
    """What stats.json says of the rows."""
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
    """The rows to write, with images when there is a folder to read them from."""
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
            "prompt": PROMPT,
            "objects": image.objects,
        }
        if folder is not None:
            row["image"] = {"bytes": images.read(image.file_name, folder), "path": image.file_name}
        yield row
