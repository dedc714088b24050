"""Builds throne_coco: the images of COCO val2017, each with the classes that are in it (THRONE, section 4.1)."""

from pathlib import Path

from halluscope.benchmarks.throne import presence
from halluscope.building import output
from halluscope.building.command import Builder
from halluscope.building.fetch import fetch
from halluscope.building.spec import Spec, load
from halluscope.reading import coco


def build(
    source: Path | None = None,
    images: Path | None = None,
    out: Path | None = None,
    *,
    with_images: bool = True,
    only_images_present: bool = False,
    subset: bool = False,
    force: bool = False,
    cache: Path | None = None,
    spec: Spec | None = None,
) -> Path:
    """Build the dataset. Everything is checked before anything is written.

    Args:
        source: instances_val2017.json, its zip, or a folder that holds it (default: download).
        images: the folder or zip of the images (default: download).
        out: the folder to build (default: datasets/throne_coco).
        with_images: False leaves the column `image` out.
        only_images_present: leave out the images that the folder lacks; needs `subset`.
        subset: accept files and counts that are not the published ones.
        force: replace an existing build.
        cache: the folder that keeps downloads (default: the user's cache).
        spec: the dataset's facts (default: datasets/throne_coco/spec.toml).

    Returns:
        The dataset's folder.

    Raises:
        BuildError: when a source is missing, broken or not the published one; when `out` is taken.
    """
    spec = spec or load("throne_coco")
    out = output.target(spec.name, out, force)
    sources = {"annotations": fetch(spec.sources["annotations"], "--source", source, cache, subset)}
    table = coco.read_annotations(sources["annotations"].path)
    presence.check_classes(table, spec)
    pictures = presence.Pictures(images, with_images, only_images_present)
    return presence.build(table, spec, sources, pictures, out, subset=subset, cache=cache)


BUILDER = Builder(
    name="throne_coco",
    about="""Builds throne_coco: the images of COCO val2017, each with the classes that are in it (THRONE, section 4.1).

    halluscope build throne_coco                                    # downloads about 1.1 GB
    halluscope build throne_coco --source instances_val2017.json --images val2017
    halluscope build throne_coco --source annotations --no-images   # a folder that holds the file
""",
    source="instances_val2017.json, its zip, or a folder that holds it (default: download)",
    images="the folder or the zip of val2017 (default: download)",
    build=build,
)
