"""Builds pope: the official POPE questions about COCO, A-OKVQA and GQA, or new ones from any COCO-format file.

From the root of a checkout:

    python builders/pope.py                                           # downloads about 4 MB
    python builders/pope.py --questions POPE/output                   # the authors' files, if you have them
    python builders/pope.py --from-annotations instances.json --images-count 500 --objects 3 --seed 0
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope.building import coco, command, output, pope
from halluscope.building.fetch import Fetched, fetch, sha256_of
from halluscope.building.spec import Spec, load
from halluscope.records.object_questions import SAMPLINGS, ObjectQuestion, read_official

NAME = "pope"
CONFIGS = ("coco", "aokvqa", "gqa")


def build(
    questions: Path | None = None,
    out: Path | None = None,
    *,
    configs: Sequence[str] = CONFIGS,
    from_annotations: Path | None = None,
    images_count: int = 500,
    objects: int = 3,
    seed: int = 0,
    subset: bool = False,
    force: bool = False,
    cache: Path | None = None,
    spec: Spec | None = None,
) -> Path:
    """Build the dataset. Everything is checked before anything is written.

    Args:
        questions: the folder of the official files, with or without a folder a config (default: download).
        out: the folder to build (default: `output.target`; for new questions named after the annotation file).
        configs: of the official questions; less than all needs `subset`.
        from_annotations: make new questions from this COCO-format file instead.
        images_count: of new questions, how many images are drawn.
        objects: of new questions, how many present objects of an image are asked about, and as many absent ones.
        seed: of new questions.
        subset: accept files and counts that are not the published ones.
        force: replace an existing build.
        cache: the folder that keeps downloads (default: the user's cache).
        spec: the dataset's facts (default: datasets/pope/spec.toml).

    Returns:
        The dataset's folder.

    Raises:
        BuildError: when a source is missing, broken or not the published one; when fewer images qualify than are
            asked for; when `out` is taken.
    """
    spec = spec or load(NAME)
    if from_annotations is not None:
        out = output.target(f"{NAME}_{from_annotations.stem}", out, force)
        return _new(spec, from_annotations, {"images": images_count, "objects": objects, "seed": seed}, out)
    out = output.target(spec.name, out, force)
    sources: dict[str, Fetched] = {}
    rows: dict[str, list[ObjectQuestion]] = {}
    for config in configs:
        folder = _folder(questions, config)
        for sampling in SAMPLINGS:
            name = f"{config}_{sampling}"
            sources[name] = fetch(spec.sources[name], "--questions", folder, cache, subset)
            rows.setdefault(config, []).extend(read_official(sources[name].path, sampling))
    counts: dict[str, Any] = {"configs": {config: pope.counts(of) for config, of in rows.items()}}
    for config, of in counts["configs"].items():
        counts |= {f"{config}_{name}": of[name] for name in ("rows", "pairs")}
    tables = [pope.table(of, spec.split, config) for config, of in rows.items()]
    return output.write(spec, tables, counts, sources, spec.matches(counts, subset), out)


def _folder(questions: Path | None, config: str) -> Path | None:
    """Where the files of a config lie: the folder itself, or one in it of that name."""
    inner = questions / config if questions else None
    return inner if inner and inner.is_dir() else questions


def _new(spec: Spec, annotations: Path, drawn: dict[str, int], out: Path) -> Path:
    """Make and write new questions."""
    rows = pope.draw(coco.read_annotations(annotations), **drawn)
    sources = {"annotations": Fetched(annotations, sha256_of(annotations), published=False)}
    counts = pope.counts(rows) | {"drawn": drawn}
    return output.write(spec, [pope.table(rows, spec.split)], counts, sources, complete=False, out=out)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = command.parser(NAME, __doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--questions", type=Path, help="the folder of the official files (POPE's output/)")
    which.add_argument(
        "--from-annotations", type=Path, help="make new questions from this COCO-format annotation file"
    )
    parser.add_argument("--configs", nargs="+", choices=CONFIGS, default=CONFIGS, help="(default: all)")
    parser.add_argument("--images-count", type=int, default=500, help="of new questions (default: 500)")
    parser.add_argument(
        "--objects", type=int, default=3, help="asked about: so many present, so many absent (default: 3)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of new questions (default: 0)")
    return command.run(build, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
