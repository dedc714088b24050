"""Builds gavie: 1,000 instructions about 120 images of Visual Genome."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from halluscope.benchmarks.gavie.data import PLACE, QUESTIONS, Question, Region, region_of
from halluscope.building.command import Builder
from halluscope.building.images import check_described
from halluscope.building.output import Order
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, chunks, entries, entries_of
from halluscope.options import Option
from halluscope.paths import path_of
from halluscope.sanitize import short_repr

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    regions_of_image = {}
    for row in rows:
        regions_of_image[row.image_id] = len(row.regions or ())
    return {
        "questions": len(rows),
        "images": len(regions_of_image),
        "regions": sum(regions_of_image.values()),
    }


def read_regions(file: Readable, images: Collection[int]) -> dict[int, list[Region]]:
    """Return the regions of images, by their ids.

    The file is Visual Genome's region_descriptions.json, or vg_annotation.json, which the authors' script reads.
    """
    start = next(chunks(file), b"").removeprefix(BYTE_ORDER_MARK).lstrip()
    if start.startswith(b"["):
        return read_descriptions(file, images)
    return read_annotations(file, images)


def read_descriptions(file: Readable, images: Collection[int]) -> dict[int, list[Region]]:
    """Read Visual Genome's file, a list of {"id", "regions"}."""
    regions: dict[int, list[Region]] = defaultdict(list)
    for number, entry in enumerate(entries(file), 1):
        where = f"{file}: entry {number}"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("regions"), list):
            raise BuildError(
                f"{where} is {short_repr(entry)}; expected an object with id and regions, a list."
            )
        image_id = entry.get("id")
        if isinstance(image_id, int) and image_id in images:
            for value in entry["regions"]:
                regions[image_id].append(region_of(value, where))
    return regions


def read_annotations(file: Readable, images: Collection[int]) -> dict[int, list[Region]]:
    """Read the file of the authors' script, image id -> a list of {"caption", "bbox"}."""
    regions: dict[int, list[Region]] = defaultdict(list)
    names = [str(image_id) for image_id in sorted(images)]
    for name, entry in entries_of(file, *names):
        region = entry
        box = entry.get("bbox") if isinstance(entry, Mapping) else None
        if isinstance(box, list) and len(box) == len(PLACE):
            region = {"phrase": entry.get("caption")}
            region.update(zip(PLACE, box, strict=True))
        regions[int(name)].append(region_of(region, f"{file}: the image {name}"))
    return regions


def with_regions(rows: Sequence[Question], file: Readable) -> list[Question]:
    """Return rows with the regions of their images, which the file must have for each."""
    images = {row.image_id for row in rows}
    regions = read_regions(file, images)
    described = {image_id for image_id, regions_of_image in regions.items() if regions_of_image}
    advice = "Name Visual Genome's region_descriptions.json, or the authors' vg_annotation.json."
    check_described(images, described, file, advice)
    extended = []
    for row in rows:
        extended.append(replace(row, regions=tuple(regions[row.image_id])))
    return extended


def make(order: Order, regions: Path | None = None) -> Path:
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = QUESTIONS.read_upstream(sources["questions"].path)
    if regions is not None:
        sources["regions"] = order.fetch("regions", regions, "--regions")
        rows = with_regions(rows, sources["regions"].path)
    return order.write_rows(
        out, rows, image_of, columns=QUESTIONS.features(with_image=True), counts=counts(rows), sources=sources
    )


def image_of(row: Question) -> str:
    """Return the name of a row's image in Visual Genome's folder."""
    return f"{row.image_id}.jpg"


BUILDER = Builder(
    "gavie",
    about="""Builds gavie: 1,000 instructions about 120 images of Visual Genome.

    halluscope build gavie                                          # downloads the instructions, 0.1 MB; no images
    halluscope build gavie --regions region_descriptions.json --images VG_100K

Visual Genome has region_descriptions.json and the images, in one folder as IMAGE_ID.jpg. Without --regions no judge
can be asked, because it would know nothing about an image; without --images there is no column `image`.
""",
    source="evaluation_set.json, or a folder that holds it (default: download)",
    images="the folder of the images, IMAGE_ID.jpg, or a zip of it (default: no column `image`)",
    options=(
        Option(
            "regions",
            "region_descriptions.json of Visual Genome, or the authors' vg_annotation.json, for a judge to read",
            type=path_of,
            metavar="FILE",
        ),
    ),
    make=make,
)
