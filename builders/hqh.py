"""Builds hqh: 4,000 free-form questions of eight types about images of Visual Genome.

From the root of a checkout:

    python builders/hqh.py                                  # downloads the questions, 0.8 MB; no images
    python builders/hqh.py --images images --image-data image_data.json
    python builders/hqh.py --questions HQH.json

The authors' repository links to the images and holds image_data.json; they are also Visual Genome's, in one folder as
IMAGE_ID.jpg. Without --images the column `image` is left out; without --image-data `caption` and `details` are null.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from halluscope.building import command, hqh, output
from halluscope.building.fetch import fetch
from halluscope.building.spec import Spec, load

NAME = "hqh"


def build(
    questions: Path | None = None,
    image_data: Path | None = None,
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
        questions: HQH.json, or a folder that holds it (default: download).
        image_data: image_data.json, or a folder that holds it (default: no captions and details).
        images: the folder of the images, one that holds it, or a zip (default: no column `image`).
        out: the folder to build (default: `output.target`).
        with_images: False leaves the column `image` out.
        only_images_present: `image` is null where the file is not there.
        subset: accept files and counts that are not the published ones.
        force: replace an existing build.
        cache: the folder that keeps downloads (default: the user's cache).
        spec: the dataset's facts (default: datasets/hqh/spec.toml).

    Returns:
        The dataset's folder.

    Raises:
        BuildError: when a source is missing, broken or not the published one; for an unknown type; when `image_data`
            lacks an image; when `out` is taken.
    """
    spec = spec or load(NAME)
    out = output.target(spec.name, out, force)
    sources = {"questions": fetch(spec.sources["questions"], "--questions", questions, cache, subset)}
    rows = hqh.read(sources["questions"].path)
    if image_data is not None:
        sources["image_data"] = fetch(spec.sources["image_data"], "--image-data", image_data, cache, subset)
        rows = hqh.describe(rows, hqh.read_image_data(sources["image_data"].path))
    counts = hqh.counts(rows)
    complete = spec.matches(counts, subset)
    folder = None
    if with_images and images is not None:
        sources["images"] = fetch(spec.sources["images"], "--images", images, cache, subset)
        folder = sources["images"].path
        hqh.check_images(rows, folder, only_images_present)
    return output.write(spec, [hqh.table(rows, spec.split, folder)], counts, sources, complete, out)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = command.parser(NAME, __doc__)
    option = parser.add_argument
    option("--questions", type=Path, help="HQH.json, or a folder that holds it")
    option("--image-data", type=Path, help="image_data.json: captions and details, which a judge is told")
    command.add_images(parser, "the folder of the images, IMAGE_ID.jpg, or a zip of it")
    return command.run(build, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
