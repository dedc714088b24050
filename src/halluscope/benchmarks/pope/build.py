"""Builds pope: the official questions, or new ones from the objects of images (Li et al., section 5.1).

For new questions, an image qualifies if it holds at least n classes and lacks at least as many. For each drawn image,
the questions ask about n present classes, and after each of these about a new absent class:

- random: any class;
- popular: the class in most images of the annotations;
- adversarial: the class that shares most images of the annotations with the present class just asked about.

Category order settles equal counts. The three samplings share the images and the present classes.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Features, Value
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.benchmarks.pope.rows import (
    SAMPLINGS,
    ObjectQuestion,
    irregular,
    load,
    read_official,
    unique_questions,
)
from halluscope.building import output
from halluscope.building.command import Builder, Order
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.coco import CocoImage, CocoTable, read_annotations

CONFIGS = ("coco", "aokvqa", "gqa")

# `choice(class just asked about, absent classes left)` returns one of the absent classes.
Choice = Callable[[int, NDArray[np.int64]], int]

FEATURES = Features(
    {
        "question_id": Value("int64"),
        "image_id": Value("int64"),
        "file_name": Value("string"),
        "question": Value("string"),
        "object": Value("string"),
        "answer": Value("string"),
        "sampling": Value("string"),
    }
)


def draw(coco: CocoTable, images: int = 500, objects: int = 3, seed: int = 0) -> list[ObjectQuestion]:
    """Make new questions: 2 x `objects` per image, with answers yes and no in turn, for each of the three samplings."""
    for name, number in (("images", images), ("objects", objects)):
        if number < 1:
            raise BuildError(f"{name} is {number}; expected at least 1.")
    qualified = [
        row
        for row, image in enumerate(coco.images)
        if objects <= len(image.objects) <= len(coco.classes) - objects
    ]
    if len(qualified) < images:
        raise BuildError(
            f"{images:,} images are asked for, but of the {len(coco.images):,} in the annotations only "
            f"{len(qualified):,} hold at least {objects} of the {len(coco.classes)} classes and lack as many. "
            "Ask for fewer images, or for fewer objects per image."
        )
    presence = _presence(coco)
    rng = np.random.default_rng(seed)
    drawn = sorted(rng.choice(qualified, images, replace=False).tolist())
    asked = [rng.permutation(np.flatnonzero(presence[row]))[:objects] for row in drawn]
    texts = _texts(coco.classes)
    made = []
    for sampling, choose in _choices(presence, rng).items():
        rows = [
            (coco.images[row], *cell)
            for row, positives in zip(drawn, asked, strict=True)
            for cell in _cells(positives, np.flatnonzero(~presence[row]), choose)
        ]
        made += [
            _question(number, image, coco.classes[cls], texts[cls], answer, sampling)
            for number, (image, cls, answer) in enumerate(rows, 1)
        ]
    return made


def counts(rows: Sequence[ObjectQuestion]) -> dict[str, Any]:
    """Count the rows of one config for stats.json."""
    pairs, _ = unique_questions(map(asdict, rows))
    broken = {name: irregular([row for row in rows if row.sampling == name]) for name in SAMPLINGS}
    return {
        "rows": len(rows),
        "pairs": len(pairs),
        "images": len({row.file_name for row in rows}),
        "objects": len({row.object for row in rows}),
        "irregular": {
            sampling: {name: {"rows": len(ids), "first": ids[0]} for name, ids in found.items()}
            for sampling, found in broken.items()
        },
    }


def table(rows: Iterable[ObjectQuestion], split: str, config: str = "default") -> Table:
    """Return the rows to write."""
    return Table(FEATURES, map(asdict, rows), split, config)


def _presence(coco: CocoTable) -> NDArray[np.bool_]:
    """Return which class is in which image [images, classes]."""
    column = {name: i for i, name in enumerate(coco.classes)}
    presence = np.zeros((len(coco.images), len(coco.classes)), dtype=bool)
    for row, image in enumerate(coco.images):
        presence[row, [column[name] for name in image.objects]] = True
    return presence


def _choices(presence: NDArray[np.bool_], rng: np.random.Generator) -> Mapping[str, Choice]:
    frequency = presence.sum(axis=0)
    together = presence.T.astype(np.int64) @ presence
    return {
        "random": lambda _, left: int(rng.choice(left)),
        "popular": lambda _, left: int(left[np.argmax(frequency[left])]),
        "adversarial": lambda cls, left: int(left[np.argmax(together[cls, left])]),
    }


def _cells(positives: Iterable[int], absent: NDArray[np.int64], choose: Choice) -> list[tuple[int, str]]:
    """Return the classes that are asked about in an image, each with its right answer."""
    cells: list[tuple[int, str]] = []
    for cls in positives:
        negative = choose(int(cls), absent)
        absent = absent[absent != negative]
        cells += [(int(cls), "yes"), (negative, "no")]
    return cells


def _texts(classes: Sequence[str]) -> list[str]:
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(vocabularies.part_of(classes))
    return [question.text for question in about]


def _question(
    number: int, image: CocoImage, cls: str, text: str, answer: str, sampling: str
) -> ObjectQuestion:
    return ObjectQuestion(number, image.image_id, image.file_name, text, cls, answer, sampling)


def make(
    order: Order,
    *,
    configs: Sequence[str] = CONFIGS,
    from_annotations: Path | None = None,
    images_count: int = 500,
    objects: int = 3,
    seed: int = 0,
) -> Path:
    """Build pope."""
    if order.source is not None and from_annotations is not None:
        raise BuildError(
            f"--source {order.source} and --from-annotations {from_annotations} are given; expected one of them: the "
            "official questions, or new ones."
        )
    if from_annotations is not None:
        out = order.target(f"pope_{from_annotations.stem}")
        drawn = {"images": images_count, "objects": objects, "seed": seed}
        rows: Any = draw(read_annotations(from_annotations), **drawn)
        return _write(order, {"annotations": from_annotations}, rows, counts(rows) | {"drawn": drawn}, out)
    if order.source is not None and order.source.is_file():  # another version of the questions
        rows, out = load([str(order.source)]), order.target(f"pope_{order.source.stem}")
        return _write(order, {"questions": order.source}, rows, {"configs": {"default": counts(rows)}}, out)
    out, spec = order.target(), order.spec
    sources: dict[str, Fetched] = {}
    read: dict[str, list[ObjectQuestion]] = {}
    for config in configs:
        for sampling in SAMPLINGS:
            name = f"{config}_{sampling}"
            sources[name] = order.fetch(name, order.inside(config))
            read.setdefault(config, []).extend(read_official(sources[name].path, sampling))
    numbers: dict[str, Any] = {"configs": {config: counts(of) for config, of in read.items()}}
    for config, of in numbers["configs"].items():
        numbers |= {f"{config}_{name}": of[name] for name in ("rows", "pairs")}
    tables = [table(of, spec.split, config) for config, of in read.items()]
    return output.write(spec, tables, numbers, sources, spec.matches(numbers, order.subset), out)


def _write(order: Order, files: Mapping[str, Path], rows: Sequence[Any], numbers: Any, out: Path) -> Path:
    """Write questions other than the official ones."""
    sources = {name: Fetched(path, sha256_of(path), published=False) for name, path in files.items()}
    return output.write(
        order.spec, [table(rows, order.spec.split)], numbers, sources, complete=False, out=out
    )


def _add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--from-annotations",
        type=Path,
        help="make new questions from this COCO-format annotation file instead",
    )
    option(
        "--configs",
        nargs="+",
        choices=CONFIGS,
        default=CONFIGS,
        help="which official questions to build (default: all)",
    )
    option("--images-count", type=int, default=500, help="for new questions, how many images (default: 500)")
    option(
        "--objects",
        type=int,
        default=3,
        help="for new questions, how many present and how many absent objects per image (default: 3)",
    )
    option("--seed", type=int, default=0, help="for new questions, the seed of the draws (default: 0)")


QUESTIONS = Builder(
    name="pope",
    about="""Builds pope: the official questions about COCO, A-OKVQA and GQA, or new ones from any COCO-format file.

    halluscope build pope                                           # downloads about 4 MB
    halluscope build pope --source POPE/output                      # the authors' files, if you have them
    halluscope build pope --source llava_pope_test.jsonl            # another version of the questions about COCO
    halluscope build pope --from-annotations instances.json --images-count 500 --objects 3 --seed 0
""",
    source="the folder of the official files, POPE's output/, or one file of another version (default: download)",
    make=make,
    add=_add,
)
