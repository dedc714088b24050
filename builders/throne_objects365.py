"""Builds throne_objects365: images of Objects365 v2's validation set with the classes in them (THRONE, section 5.3).

From the root of a checkout; the annotations and images come from https://www.objects365.org/ after registration:

    python builders/throne_objects365.py --annotations zhiyuan_objv2_val.json --images val --ids objects365_subset.txt
    python builders/throne_objects365.py --annotations zhiyuan_objv2_val.json --images val --sample --seed 1

--ids is the paper's list of 5,110 images (CC BY-NC 4.0; its URL is in datasets/throne_objects365/spec.toml); --sample
draws as many anew in the same way. --images holds the patch folders, with images/v1 and images/v2 above them or not.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from halluscope.building import coco, command, objects365, output, presence
from halluscope.building.fetch import Fetched, fetch
from halluscope.building.sampling import natural_k_shot
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError

NAME = "throne_objects365"
SHOTS = 14


def build(
    annotations: Path | None = None,
    images: Path | None = None,
    names: Path | None = None,
    ids: Path | None = None,
    out: Path | None = None,
    *,
    sample: bool = False,
    shots: int = SHOTS,
    seed: int = 0,
    with_images: bool = True,
    only_images_present: bool = False,
    subset: bool = False,
    force: bool = False,
    cache: Path | None = None,
    spec: Spec | None = None,
) -> Path:
    """Build the dataset. Everything is checked before anything is written.

    Args:
        annotations: zhiyuan_objv2_val.json; its published sha256 is not known, so any file of its form is taken.
        images: the folder or zip of the patch folders.
        names: Detic's table of corrected names (default: download).
        ids: the image ids to take, one a line.
        out: the folder to build (default: `output.target`).
        sample: draw the images anew instead of taking `ids`.
        shots: with `sample`: how many images a class, at least 1.
        seed: with `sample`: of the draw.
        with_images: False leaves the column `image` out.
        only_images_present: leave out the images that the folder lacks; needs `subset`.
        subset: accept files and counts that are not the published ones.
        force: replace an existing build.
        cache: the folder that keeps downloads (default: the user's cache).
        spec: the dataset's facts (default: datasets/throne_objects365/spec.toml).

    Returns:
        The dataset's folder.

    Raises:
        BuildError: when a source is missing, broken or not the published one; when `out` is taken.
    """
    spec = spec or load(NAME)
    out = output.target(spec.name, out, force)
    if (ids is None) != sample:
        raise BuildError(
            f"Which images? Name the paper's list with --ids FILE ({spec.sources['ids'].url}, CC BY-NC 4.0), "
            "or draw anew with --sample; not both."
        )
    given = {"annotations": annotations, "names": names} | ({} if sample else {"ids": ids})
    sources: dict[str, Fetched] = {
        name: fetch(spec.sources[name], f"--{name}", path, cache, subset) for name, path in given.items()
    }
    corrections = objects365.read_names(sources["names"].path)
    wanted = None if sample else objects365.read_ids(sources["ids"].path)
    table = objects365.correct(coco.read_annotations(sources["annotations"].path), corrections)
    presence.check_classes(table, spec)
    if wanted is None:
        classes_of = {image.image_id: image.objects for image in table.images}
        wanted = natural_k_shot(classes_of, shots, len(table.classes), seed)
    return presence.build(
        table.only(wanted),
        spec,
        sources,
        presence.Pictures(images, with_images, only_images_present),
        out,
        subset=subset,
        cache=cache,
        sample={"shots": shots, "seed": seed} if sample else None,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = command.parser(NAME, __doc__)
    parser.add_argument("--annotations", type=Path, help="zhiyuan_objv2_val.json")
    command.add_images(parser, "the folder or the zip of the patch folders")
    parser.add_argument("--names", type=Path, help="Detic's table of corrected names (default: download)")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--ids", type=Path, help="a file of image ids, one a line")
    which.add_argument("--sample", action="store_true", help="draw the images anew: the natural K-shot")
    parser.add_argument("--shots", type=int, default=SHOTS, help="with --sample: K (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="with --sample (default: %(default)s)")
    return command.run(build, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
