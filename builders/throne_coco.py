"""Builds throne_coco: the images of COCO val2017, each with the classes that are in it (THRONE, section 4.1).

From the root of a checkout:

    python builders/throne_coco.py                                    # downloads about 1.1 GB
    python builders/throne_coco.py --annotations instances_val2017.json --images val2017
    python builders/throne_coco.py --annotations instances_val2017.json --no-images
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from halluscope.building import coco, command, output, presence
from halluscope.building.fetch import fetch
from halluscope.building.spec import Spec, load

NAME = "throne_coco"


def build(
    annotations: Path | None = None,
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
        annotations: instances_val2017.json, its zip, or a folder that holds it (default: download).
        images: the folder or zip of the images (default: download).
        out: the folder to build (default: `output.target`).
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
    spec = spec or load(NAME)
    out = output.target(spec.name, out, force)
    sources = {"annotations": fetch(spec.sources["annotations"], "--annotations", annotations, cache, subset)}
    table = coco.read_annotations(sources["annotations"].path)
    presence.check_classes(table, spec)
    pictures = presence.Pictures(images, with_images, only_images_present)
    return presence.build(table, spec, sources, pictures, out, subset=subset, cache=cache)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = command.parser(NAME, __doc__)
    parser.add_argument(
        "--annotations", type=Path, help="instances_val2017.json, its zip, or a folder that holds it"
    )
    command.add_images(parser, "the folder or the zip of val2017")
    return command.run(build, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
