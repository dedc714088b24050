"""Measures time and peak memory for reading Objects365's annotations and drawing images, on a generated file.

The baseline is pycocotools' own `COCO(file)`. `--full` makes a file of the real size: 80,000 images and 1,240,000
annotations; the default is a tenth of it.
"""

import contextlib
import io
import json
import random
import sys
import tempfile
from pathlib import Path

from pycocotools.coco import COCO

from halluscope.benchmarks.throne.build import natural_k_shot
from halluscope.reading.coco import read_annotations
from halluscope.vocabularies import load
from timing import measure, record, seconds

IMAGES = 80_000
ANNOTATIONS = 1_240_000
CLASSES = load("objects365").classes


def generate(file: Path, images: int, annotations: int) -> None:
    """Write a file with the fields of zhiyuan_objv2_val.json, and classes of similarly unequal frequency."""
    draw = random.Random(0)
    ids = draw.sample(range(1, 2_100_000), images)
    weights = [1 / rank for rank in range(1, len(CLASSES) + 1)]
    categories = draw.choices(range(1, len(CLASSES) + 1), weights, k=annotations)
    content = {
        "images": [_image(image_id) for image_id in ids],
        "categories": [{"name": name, "id": number} for number, name in enumerate(CLASSES, 1)],
    }
    with file.open("w") as stream:
        stream.write(json.dumps(content)[:-1] + ', "annotations": [')
        for number, category in enumerate(categories):
            box = [draw.uniform(0, 500) for _ in range(4)]
            annotation = {
                "id": number + 1,
                "iscrowd": 0,
                "isfake": 0,
                "area": box[2] * box[3],
                "isreflected": 0,
                "bbox": box,
                "image_id": draw.choice(ids),
                "category_id": category,
            }
            if number:
                stream.write(", ")
            stream.write(json.dumps(annotation))
        stream.write("]}")


def _image(image_id: int) -> dict[str, int | str]:
    return {
        "height": 512,
        "id": image_id,
        "license": 5,
        "width": 769,
        "file_name": f"images/v2/patch{16 + image_id % 28}/objects365_v2_{image_id:08d}.jpg",
        "url": "",
    }


def read(file: Path) -> None:
    """Read the annotations as the builder does."""
    read_annotations(file)


def read_plainly(file: Path) -> None:
    """Read the annotations as the baseline does."""
    with contextlib.redirect_stdout(io.StringIO()):
        COCO(str(file))


def main() -> None:
    """Print times and memory."""
    images = IMAGES
    annotations = ANNOTATIONS
    if "--full" not in sys.argv[1:]:
        images //= 10
        annotations //= 10
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "annotations.json"
        generate(file, images, annotations)
        print(f"{images:,} images, {annotations:,} annotations: {file.stat().st_size / 1e6:.0f} MB")
        ours = measure(read, file)
        baseline = measure(read_plainly, file)
        about_baseline = f"pycocotools' COCO, in {baseline.memory:.2f} GB"
        record("annotations", ours.seconds, baseline.seconds, about_baseline, ours.memory)
        table = read_annotations(file)
        classes_of = dict(zip(table.image_ids, table.objects(), strict=True))
        took = seconds(lambda: natural_k_shot(classes_of, 14, len(CLASSES)))
        print(f"drawing 14 x {len(CLASSES)} images: {took:.2f} s")


if __name__ == "__main__":
    main()
