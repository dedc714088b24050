"""Builds hqh: 4,000 free-form questions of eight types about images of Visual Genome."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halluscope.benchmarks.hqh.data import QUESTIONS, TYPES, Question
from halluscope.building.command import Builder
from halluscope.building.images import check_described
from halluscope.building.output import Order
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.options import Option
from halluscope.paths import path_of
from halluscope.sanitize import short_repr
from halluscope.validation import id_of


@dataclass(frozen=True)
class ImageData:
    """What a judge is told of an image."""

    caption: str | None
    details: str | None


def counts(rows: Sequence[Question]) -> dict[str, Any]:
    """Return the counts that the dataset's spec states."""
    types = Counter(row.type for row in rows)
    times_asked = Counter((row.image_id, row.question) for row in rows)
    numbers: dict[str, Any] = {"questions": len(rows)}
    for name in TYPES:
        numbers[name] = types[name]
    numbers["images"] = len({row.image_id for row in rows})
    numbers["asked_more_than_once"] = sum(times > 1 for times in times_asked.values())
    numbers["with_caption"] = sum(row.caption is not None for row in rows)
    numbers["with_details"] = sum(row.details is not None for row in rows)
    numbers["questions_per_level"] = Counter(row.level for row in rows)
    return numbers


def read_image_data(file: Readable) -> dict[int, ImageData]:
    """Read the authors' image_data.json: by an image's id, its caption and its annotated regions."""
    content = read_json(file)
    if not isinstance(content, dict):
        raise no_image_data(file, "", content)
    known = {}
    for key, entry in content.items():
        image_id = id_of(key)
        if image_id is None or not isinstance(entry, dict):
            raise no_image_data(file, key, entry)
        caption = entry.get("caption")
        details = entry.get("image_information")
        if not isinstance(caption, str) or not isinstance(details, str):
            raise no_image_data(file, key, entry)
        known[image_id] = ImageData(caption.strip() or None, details.strip() or None)
    return known


def no_image_data(file: Readable, key: str, entry: Any) -> BuildError:
    return BuildError(
        f"{file}: the entry {short_repr(key)} is {short_repr(entry, 120)}; expected image ids, each with texts as "
        "caption and image_information: image_data.json."
    )


def with_image_data(rows: Sequence[Question], file: Readable) -> list[Question]:
    """Return rows with what a file says of their images; it must know each."""
    known = read_image_data(file)
    images = {row.image_id for row in rows}
    advice = "Get the image_data.json that belongs to these questions, or leave --image-data out."
    check_described(images, known, file, advice)
    extended = []
    for row in rows:
        data = known[row.image_id]
        extended.append(replace(row, caption=data.caption, details=data.details))
    return extended


def make(order: Order, image_data: Path | None = None) -> Path:
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = QUESTIONS.read_upstream(sources["questions"].path)
    if image_data is not None:
        sources["image_data"] = order.fetch("image_data", image_data, "--image-data")
        rows = with_image_data(rows, sources["image_data"].path)
    return order.write_rows(
        out, rows, image_of, columns=QUESTIONS.features(with_image=True), counts=counts(rows), sources=sources
    )


def image_of(row: Question) -> str:
    """Return the name of a row's image in Visual Genome's folder."""
    return f"{row.image_id}.jpg"


BUILDER = Builder(
    "hqh",
    about="""Builds hqh: 4,000 free-form questions of eight types about images of Visual Genome.

    halluscope build hqh                                            # downloads the questions, 0.8 MB; no images
    halluscope build hqh --images images --image-data image_data.json
    halluscope build hqh --source HQH.json

The authors' repository links to the images and holds image_data.json. The images are also in Visual Genome, in one
folder as IMAGE_ID.jpg. Without --images there is no column `image`; without --image-data `caption` and `details` are
null.
""",
    source="HQH.json, or a folder that holds it (default: download)",
    images="the folder of the images, IMAGE_ID.jpg, or a zip of it (default: no column `image`)",
    options=(
        Option(
            "image_data",
            "image_data.json: captions and regions, which are shown to a judge",
            type=path_of,
            metavar="FILE",
        ),
    ),
    make=make,
)
