"""Builds pope_c: POPE's question about every class of every image (POPE-Complete; THRONE, section 5.4).

From the root of a checkout, where throne_coco or throne_objects365 is built already:

    python builders/pope_c.py                                         # from datasets/throne_coco
    python builders/pope_c.py --from datasets/throne_objects365       # builds datasets/pope_c_objects365
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from halluscope.building import built, command, output, pope_c
from halluscope.building.spec import Spec, load
from halluscope.errors import BuildError

NAME = "pope_c"
MADE_OF = {"throne_coco": NAME, "throne_objects365": "pope_c_objects365"}


def build(
    source: Path | None = None,
    out: Path | None = None,
    *,
    subset: bool = False,
    force: bool = False,
    cache: Path | None = None,
    spec: Spec | None = None,
) -> Path:
    """Build the dataset. Everything is checked before anything is written.

    Args:
        source: the folder of a built throne_coco or throne_objects365 (default: where throne_coco is built).
        out: the folder to build (default: `output.target`).
        subset: accept a source that is a subset.
        force: replace an existing build.
        cache: not used; nothing is downloaded.
        spec: the dataset's facts (default: datasets/pope_c/spec.toml, or that of pope_c_objects365).

    Returns:
        The dataset's folder.

    Raises:
        BuildError: when the source is no such dataset, broken or a subset; when `out` is taken.
    """
    presence = built.read(source or output.home("throne_coco"), "--from")
    if presence.name not in MADE_OF:
        raise BuildError(
            f"--from {presence.folder} holds {presence.name!r}; expected {' or '.join(MADE_OF)}."
        )
    spec = spec or load(MADE_OF[presence.name])
    out = output.target(spec.name, out, force)
    present = pope_c.presence(presence)
    counts = pope_c.counts(present)
    complete = spec.matches(counts, subset)
    if not presence.source.published and not subset:
        raise BuildError(
            f"--from {presence.folder} is a subset or a changed copy of {presence.name}; pass --subset if you mean it."
        )
    tables = pope_c.tables(presence, present, spec.vocabulary or "coco", spec.split)
    return output.write(spec, tables, counts, {presence.name: presence.source}, complete, out)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = command.parser(NAME, __doc__)
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="a built throne_coco or throne_objects365 (default: datasets/throne_coco in a checkout, or throne_coco)",
    )
    return command.run(build, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
