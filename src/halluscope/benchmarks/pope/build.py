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
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Features, Value

from halluscope import vocabularies
from halluscope.benchmarks.pope.rows import (
    COLUMNS,
    REPOPE,
    SAMPLINGS,
    ObjectQuestion,
    load,
    read_official,
    unique_questions,
)
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError
from halluscope.judging.questions import OBJECT_QUESTION, QuestionSet
from halluscope.reading.coco import CocoTable, read_annotations

CONFIGS = ("coco", "aokvqa", "gqa")

FEATURES = Features({name: Value("int64" if name.endswith("_id") else "string") for name in COLUMNS[:7]})


def draw(coco: CocoTable, images: int = 500, objects: int = 3, seed: int = 0) -> list[ObjectQuestion]:
    """Make new questions: 2 x `objects` per image, with answers yes and no in turn, for each of the three samplings."""
    for name, number in (("images", images), ("objects", objects)):
        if number < 1:
            raise BuildError(f"{name} is {number}; expected at least 1.")
    presence = coco.present()
    each, classes = presence.sum(axis=1), len(coco.classes)
    qualified = np.flatnonzero((objects <= each) & (each <= classes - objects))
    if len(qualified) < images:
        raise BuildError(
            f"{images:,} images are asked for, but of the {len(each):,} in the annotations only {len(qualified):,} "
            f"hold at least {objects} of the {classes} classes and lack as many. Ask for fewer images, or for fewer "
            "objects per image."
        )
    frequency, together = presence.sum(axis=0), presence.T.astype(np.int64) @ presence
    rng = np.random.default_rng(seed)
    drawn = sorted(rng.choice(qualified, images, replace=False).tolist())
    asked = [rng.permutation(np.flatnonzero(presence[row]))[:objects] for row in drawn]
    (about,) = QuestionSet("object", (OBJECT_QUESTION,), "").about(vocabularies.part_of(coco.classes))
    made: list[ObjectQuestion] = []
    for sampling in SAMPLINGS:
        number = 0
        for row, positives in zip(drawn, asked, strict=True):
            image, absent = (coco.image_ids[row], coco.file_names[row]), np.flatnonzero(~presence[row])
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
                    made.append(ObjectQuestion(number, *image, text, name, answer, sampling))
    return made


def counts(rows: Sequence[Any]) -> dict[str, Any]:
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
    import pandas as pd

    rows = pd.DataFrame([*map(vars, questions)], columns=COLUMNS)
    rows["block"] = (rows["file_name"] != rows["file_name"].shift()).cumsum()
    rows["yes"] = rows["answer"] == "yes"
    blocks, asked = rows.groupby("block"), rows.groupby(["block", "object"])
    size = blocks["yes"].transform("size")
    rows["in_turn"] = (size % 2 == 0) & (rows["yes"] == (blocks.cumcount() % 2 == 0))
    broken = {
        "rows": (size != size.head(1).sum()) | (rows.groupby("file_name")["block"].transform("nunique") > 1),
        "balance": 2 * blocks["yes"].transform("sum") != size,
        "alternation": ~blocks["in_turn"].transform("all"),
        "contradiction": ~rows["yes"] & asked["yes"].transform("any"),
        "repetition": asked.cumcount() > 0,
    }
    found = {name: rows["question_id"][breaks].tolist() for name, breaks in broken.items()}
    return {name: ids for name, ids in found.items() if ids}


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
    source = order.source
    if source is not None and from_annotations is not None:
        raise BuildError(
            f"--source {source} and --from-annotations {from_annotations} are given; expected one of them: the "
            "official questions, or new ones."
        )
    if file := from_annotations or (source if source and source.is_file() else None):
        out, rows = order.target(f"pope_{file.stem}"), list[Any]()
        if from_annotations:
            drawn = {"images": images_count, "objects": objects, "seed": seed}
            rows = draw(read_annotations(file), **drawn)
            numbers = counts(rows) | {"drawn": drawn}
        else:  # another version of the questions
            rows = load([str(file)])
            numbers = {"configs": {"default": counts(rows)}}
        name = "annotations" if from_annotations else "questions"
        sources = {name: Fetched(file, sha256_of(file), published=False)}
        table = Table(FEATURES, [*map(vars, rows)])
        return order.save(out, [table], numbers, sources, complete=False)
    out, sources = order.target(), {}
    read: dict[str, list[ObjectQuestion]] = {config: [] for config in configs}
    for config, rows in read.items():
        for sampling in SAMPLINGS:
            name = f"{config}_{sampling}"
            sources[name] = order.fetch(name, order.inside(config))
            rows += read_official(sources[name].path, name)
    by_config = {config: counts(rows) for config, rows in read.items()}
    totals = {f"{config}_{name}": of[name] for config, of in by_config.items() for name in ("rows", "pairs")}
    tables = [Table(FEATURES, [*map(vars, rows)], config) for config, rows in read.items()]
    return order.save(out, tables, {"configs": by_config, **totals}, sources)


def correct(order: Order) -> Path:
    """Build repope (Neuhaus and Hein, RePOPE, 2025)."""
    out = order.target()
    sources = {name: order.fetch(name) for name in SAMPLINGS}
    rows = [row for name in SAMPLINGS for row in read_official(sources[name].path, f"{REPOPE}_{name}")]
    of, answers = Counter(row.sampling for row in rows), Counter(row.answer for row in rows)
    numbers = {
        "rows": len(rows),
        **{name: of[name] for name in SAMPLINGS},
        **{answer: answers[answer] for answer in ("yes", "no")},
        "images": len({row.file_name for row in rows}),
    }
    features = Features({**FEATURES, "labels": Value("string")})
    table = Table(features, [*map(vars, rows)])
    return order.save(out, [table], numbers, sources)


QUESTIONS = Builder(
    "pope",
    about="""Builds pope: the official questions about COCO, A-OKVQA and GQA, or new ones from any COCO-format file.

    halluscope build pope                                           # downloads about 4 MB
    halluscope build pope --source POPE/output                      # the authors' files, if you have them
    halluscope build pope --source llava_pope_test.jsonl            # another version of the questions about COCO
    halluscope build pope --from-annotations instances.json --images-count 500 --objects 3 --seed 0
""",
    source="the folder of the official files, POPE's output/, or one file of another version (default: download)",
    options={
        "--from-annotations": {
            "type": "path",
            "help": "make new questions from this COCO-format annotation file instead",
        },
        "--configs": {
            "nargs": "+",
            "choices": CONFIGS,
            "default": CONFIGS,
            "help": "which official questions to build (default: all)",
        },
        "--images-count": {
            "type": "whole",
            "default": 500,
            "help": "for new questions, how many images (default: 500)",
        },
        "--objects": {
            "type": "whole",
            "default": 3,
            "help": "for new questions, how many present and how many absent objects per image (default: 3)",
        },
        "--seed": {
            "type": "whole",
            "default": 0,
            "help": "for new questions, the seed of the draws (default: 0)",
        },
    },
    make=make,
)

CORRECTED = Builder(
    "repope",
    about="""Builds repope: POPE's questions about COCO with corrected answers; ambiguous questions are left out.

    halluscope build repope                                         # downloads 1 MB
    halluscope build repope --source RePOPE/annotations
""",
    source="the folder of the authors' files, RePOPE's annotations/ (default: download)",
    make=correct,
)
