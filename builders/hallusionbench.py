"""Builds hallusionbench: 1,129 yes/no questions in control pairs about original, edited and no images.

From the root of a checkout:

    python builders/hallusionbench.py --images hallusion_bench.zip    # downloads the questions, 0.4 MB
    python builders/hallusionbench.py --questions HallusionBench.json --images hallusion_bench
    python builders/hallusionbench.py --no-images

The authors' README links to hallusion_bench.zip on Google Drive; get it there. Without --images the column `image` is
left out.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from halluscope.building import command, hallusionbench, output
from halluscope.building.fetch import fetch
from halluscope.building.spec import Spec, load

NAME = "hallusionbench"


def build(
    questions: Path | None = None,
    images: Path | None = None,
    out: Path | None = None,
    *,
    with_images: bool = True,
    subset: bool = False,
    force: bool = False,
    cache: Path | None = None,
    spec: Spec | None = None,
) -> Path:
    """Build the dataset. Everything is checked before anything is written.

    Args:
        questions: HallusionBench.json, or a folder that holds it (default: download).
        images: the folder hallusion_bench, a folder that holds it, or its zip (default: no column `image`).
        out: the folder to build (default: `output.target`).
        with_images: False leaves the column `image` out.
        subset: accept files and counts that are not the published ones.
        force: replace an existing build.
        cache: the folder that keeps downloads (default: the user's cache).
        spec: the dataset's facts (default: datasets/hallusionbench/spec.toml).

    Returns:
        The dataset's folder.

    Raises:
        BuildError: when a source is missing, broken or not the published one; when `out` is taken.
    """
    spec = spec or load(NAME)
    out = output.target(spec.name, out, force)
    sources = {"questions": fetch(spec.sources["questions"], "--questions", questions, cache, subset)}
    rows = hallusionbench.read(sources["questions"].path)
    counts = hallusionbench.counts(rows)
    complete = spec.matches(counts, subset)
    folder = None
    if with_images and images is not None:
        sources["images"] = fetch(spec.sources["images"], "--images", images, cache, subset)
        folder = sources["images"].path
        hallusionbench.check_images(rows, folder)
    return output.write(
        spec, [hallusionbench.table(rows, spec.split, folder)], counts, sources, complete, out
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = command.parser(NAME, __doc__)
    parser.add_argument("--questions", type=Path, help="HallusionBench.json, or a folder that holds it")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--images", type=Path, help="the folder hallusion_bench, or its zip")
    which.add_argument(
        "--no-images", dest="with_images", action="store_false", help="leave the column `image` out"
    )
    return command.run(build, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
