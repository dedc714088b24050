"""Builds pope: the official questions, or new ones from the objects of images (Li et al., section 5.1); and repope.

For new questions, an image qualifies if it holds at least n classes and lacks at least as many. For each drawn image,
the questions ask about n present classes, and after each of these about a new absent class:

- random: any class;
- popular: the class in most images of the annotations;
- adversarial: the class that shares most images of the annotations with the present class just asked about.

Category order settles equal counts. The three samplings share the images and the present classes.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Features, Value

from halluscope import vocabularies
from halluscope.benchmarks.pope.rows import (
    REPOPE,
    SAMPLINGS,
    ObjectQuestion,
    load,
    read_official,
    unique_questions,
)
from halluscope.building import output
from halluscope.building.command import Order, declared
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.coco import CocoTable, read_annotations

CONFIGS = ("coco", "aokvqa", "gqa")

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
    column = {name: i for i, name in enumerate(coco.classes)}
    presence = np.zeros((len(coco.images), len(coco.classes)), dtype=bool)
    for row, image in enumerate(coco.images):
        presence[row, [column[name] for name in image.objects]] = True
    frequency, together = presence.sum(axis=0), presence.T.astype(np.int64) @ presence
    rng = np.random.default_rng(seed)
    drawn = sorted(rng.choice(qualified, images, replace=False).tolist())
    asked = [rng.permutation(np.flatnonzero(presence[row]))[:objects] for row in drawn]
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(vocabularies.part_of(coco.classes))
    made: list[ObjectQuestion] = []
    for sampling in SAMPLINGS:
        number = 0
        for row, positives in zip(drawn, asked, strict=True):
            image, absent = coco.images[row], np.flatnonzero(~presence[row])
            for positive in positives.tolist():
                if sampling == "random":
                    negative = int(rng.choice(absent))
                else:
                    most = frequency if sampling == "popular" else together[positive]
                    negative = int(absent[np.argmax(most[absent])])
                absent = absent[absent != negative]
                for cls, answer in ((positive, "yes"), (negative, "no")):
                    number += 1
                    text, name = about[cls].text, coco.classes[cls]
                    made.append(
                        ObjectQuestion(number, image.image_id, image.file_name, text, name, answer, sampling)
                    )
    return made


def counts(rows: Sequence[ObjectQuestion]) -> dict[str, Any]:
    """Count the rows of one config for stats.json."""
    broken = {name: irregular([row for row in rows if row.sampling == name]) for name in SAMPLINGS}
    return {
        "rows": len(rows),
        "pairs": len(unique_questions(map(vars, rows))[0]),
        "images": len({row.file_name for row in rows}),
        "objects": len({row.object for row in rows}),
        "irregular": {
            sampling: {name: {"rows": len(ids), "first": ids[0]} for name, ids in found.items()}
            for sampling, found in broken.items()
        },
    }


def irregular(questions: Sequence[ObjectQuestion]) -> dict[str, list[int]]:
    """Return, by property of POPE's files, the ids of the questions of one sampling that break it.

    "rows": the image has a different number of rows than the first image, or its rows are not together; "balance":
    different numbers of yes and no; "alternation": not yes, no, yes, ...; "contradiction": the object is both present
    and absent; "repetition": the same question was asked before.
    """
    images = [list(rows) for _, rows in groupby(questions, key=lambda question: question.file_name)]
    blocks = Counter(rows[0].file_name for rows in images)
    broken: dict[str, list[int]] = {}
    for rows in images:
        answers = [row.answer for row in rows]
        present = {row.object for row in rows if row.answer == "yes"}
        first = {row.object: i for i, row in reversed([*enumerate(rows)])}
        is_odd = len(rows) != len(images[0]) or blocks[rows[0].file_name] > 1
        is_unbalanced = answers.count("yes") != answers.count("no")
        is_mixed = answers != ["yes", "no"] * (len(rows) // 2)
        for i, row in enumerate(rows):
            for name, breaks in (
                ("rows", is_odd),
                ("balance", is_unbalanced),
                ("alternation", is_mixed),
                ("contradiction", row.answer == "no" and row.object in present),
                ("repetition", first[row.object] != i),
            ):
                broken.setdefault(name, []).extend([row.question_id] * breaks)
    return {name: ids for name, ids in broken.items() if ids}


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
        return _write(order, "annotations", from_annotations, rows, counts(rows) | {"drawn": drawn}, out)
    if order.source is not None and order.source.is_file():  # another version of the questions
        rows, out = load([str(order.source)]), order.target(f"pope_{order.source.stem}")
        return _write(order, "questions", order.source, rows, {"configs": {"default": counts(rows)}}, out)
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
    tables = [Table(FEATURES, map(vars, of), spec.split, config) for config, of in read.items()]
    return output.write(spec, tables, numbers, sources, spec.matches(numbers, order.subset), out)


def _write(order: Order, name: str, file: Path, rows: Sequence[Any], numbers: Any, out: Path) -> Path:
    """Write questions other than the official ones."""
    sources = {name: Fetched(file, sha256_of(file), published=False)}
    table = Table(FEATURES, map(vars, rows), order.spec.split)
    return output.write(order.spec, [table], numbers, sources, complete=False, out=out)


def correct(order: Order) -> Path:
    """Build repope (Neuhaus and Hein, RePOPE, 2025)."""
    out, spec = order.target(), order.spec
    sources = {name: order.fetch(name) for name in SAMPLINGS}
    rows = [row for name in SAMPLINGS for row in read_official(sources[name].path, name, REPOPE)]
    of, answers = Counter(row.sampling for row in rows), Counter(row.answer for row in rows)
    numbers = {
        "rows": len(rows),
        **{name: of[name] for name in SAMPLINGS},
        **{answer: answers[answer] for answer in ("yes", "no")},
        "images": len({row.file_name for row in rows}),
    }
    table = Table(Features({**FEATURES, "labels": Value("string")}), map(vars, rows), spec.split)
    return output.write(spec, [table], numbers, sources, spec.matches(numbers, order.subset), out)


QUESTIONS = declared(__file__, "pope", make)
CORRECTED = declared(__file__, "repope", correct)
