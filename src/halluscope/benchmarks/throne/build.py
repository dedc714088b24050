"""Builds throne_coco: the images of COCO val2017, each with the classes that are in it (THRONE, section 4.1)."""

from pathlib import Path

from halluscope.benchmarks.throne import presence
from halluscope.building.command import Builder, Order
from halluscope.reading import coco


def make(order: Order) -> Path:
    """Build throne_coco."""
    out = order.target()
    sources = {"annotations": order.fetch("annotations")}
    table = coco.read_annotations(sources["annotations"].path)
    presence.check_classes(table, order.spec)
    return presence.write(order, table, sources, out)


BUILDER = Builder(
    name="throne_coco",
    about="""Builds throne_coco: the images of COCO val2017, each with the classes that are in it (THRONE, section 4.1).

    halluscope build throne_coco                                    # downloads about 1.1 GB
    halluscope build throne_coco --source instances_val2017.json --images val2017
    halluscope build throne_coco --source annotations --no-images   # a folder that holds the file
""",
    source="instances_val2017.json, its zip, or a folder that holds it (default: download)",
    images="the folder or the zip of val2017 (default: download)",
    make=make,
)
