"""Builds pope: the official questions, or new ones from the objects of images (Li et al., section 5.1); and repope.

For new questions, an image qualifies if it holds at least n classes and lacks at least as many. For each drawn image,
the questions ask about n present classes, and after each of these about a new absent class:

- random: any class;
- popular: the class in most images of the annotations;
- adversarial: the class that shares most images of the annotations with the present class just asked about.

Category order settles equal counts. The three samplings share the images and the present classes.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Features, Value
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.benchmarks.pope.rows import (
    COLUMNS,
    REPOPE,
    SAMPLINGS,
    ObjectQuestion,
    load,
    questions_about,
    read_official,
    unique_questions,
)
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched, sha256_of
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError
from halluscope.options import Option, check_effect
from halluscope.paths import path_of
from halluscope.reading.coco import CocoTable, read_annotations
from halluscope.sanitize import short_repr

CONFIGS = ("coco", "aokvqa", "gqa")

# How new questions are drawn, unless a user says otherwise
DRAW = {"images_count": 500, "objects": 3, "seed": 0}

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


@dataclass(frozen=True)
class Occurrences:
    """In how many images each class is."""

    frequency: NDArray[np.int64]  # [classes]
    together: NDArray[np.int64]  # in how many images two classes are: [classes, classes]


def draw(coco: CocoTable, images: int, objects: int, seed: int) -> list[ObjectQuestion]:
    """Make new questions: 2 x `objects` per image, with answers yes and no in turn, for each of the three samplings."""
    check_at_least_one("images", images)
    check_at_least_one("objects", objects)
    presence = coco.present()
    qualified = qualified_images(presence, images, objects)
    rng = np.random.default_rng(seed)
    rows = sorted(rng.choice(qualified, images, replace=False).tolist())
    present = {}  # row -> the present classes that it is asked about
    for row in rows:
        present[row] = rng.permutation(np.flatnonzero(presence[row]))[:objects].tolist()
    occurrences = Occurrences(presence.sum(axis=0), presence.T.astype(np.int64) @ presence)
    question_about = questions_about(vocabularies.part_of(coco.classes))
    questions: list[ObjectQuestion] = []
    for sampling in SAMPLINGS:
        question_id = 0
        for row in rows:
            absent = np.flatnonzero(~presence[row])
            for kind, answer in classes_of_image(present[row], absent, sampling, occurrences, rng):
                question_id += 1
                name = coco.classes[kind]
                question = ObjectQuestion(
                    question_id=question_id,
                    image_id=coco.image_ids[row],
                    file_name=coco.file_names[row],
                    question=question_about[name],
                    object=name,
                    answer=answer,
                    sampling=sampling,
                )
                questions.append(question)
    return questions


def check_at_least_one(name: str, number: int) -> None:
    if number < 1:
        raise BuildError(f"{name} is {number}; expected at least 1.")


def qualified_images(presence: NDArray[np.bool_], images: int, objects: int) -> NDArray[np.int64]:
    """Return the rows of the images that hold enough classes and lack as many; an error if they are too few."""
    classes = presence.shape[1]
    classes_per_image = presence.sum(axis=1)
    has_enough = classes_per_image >= objects
    lacks_enough = classes_per_image <= classes - objects
    qualified = np.flatnonzero(has_enough & lacks_enough)
    if len(qualified) < images:
        raise BuildError(
            f"{images:,} images are asked for, but of the {len(presence):,} in the annotations only "
            f"{len(qualified):,} hold at least {objects} of the {classes} classes and lack as many. Ask for fewer "
            "images, or for fewer objects per image."
        )
    return qualified


def classes_of_image(
    present: Sequence[int],
    absent: NDArray[np.int64],
    sampling: str,
    occurrences: Occurrences,
    rng: np.random.Generator,
) -> Iterator[tuple[int, str]]:
    """Yield the classes that the questions about an image ask about, each with the right answer."""
    for positive in present:
        negative = absent_class(positive, absent, sampling, occurrences, rng)
        absent = absent[absent != negative]
        yield positive, "yes"
        yield negative, "no"


def absent_class(
    positive: int,
    absent: NDArray[np.int64],
    sampling: str,
    occurrences: Occurrences,
    rng: np.random.Generator,
) -> int:
    """Return the absent class to ask about after a present one."""
    if sampling == "random":
        return int(rng.choice(absent))
    images = occurrences.frequency
    if sampling == "adversarial":
        images = occurrences.together[positive]
    return int(absent[np.argmax(images[absent])])


def counts(rows: Sequence[Any]) -> dict[str, Any]:
    """Count the rows of one config for stats.json."""
    unique, _ = unique_questions([vars(row) for row in rows])
    breaks: dict[str, dict[str, Any]] = {}
    for sampling in SAMPLINGS:
        breaks[sampling] = {}
        for name, ids in irregular([row for row in rows if row.sampling == sampling]).items():
            breaks[sampling][name] = {"rows": len(ids), "first": ids[0]}
    return {
        "rows": len(rows),
        "pairs": len(unique),
        "images": len({row.image for row in rows}),
        "objects": len({row.object for row in rows}),
        "irregular": breaks,
    }


def irregular(questions: Sequence[ObjectQuestion]) -> dict[str, list[int]]:
    """Return, by property of POPE's files, the ids of the questions of one sampling that break it.

    "rows": the image has a different number of rows than the first image, or its rows are not together; "balance":
    different numbers of yes and no; "alternation": not yes, no, yes, ...; "contradiction": the object is both present
    and absent; "repetition": the same question was asked before.
    """
    import pandas as pd

    if not questions:
        return {}
    rows = pd.DataFrame([vars(question) for question in questions], columns=COLUMNS)
    rows["image"] = [question.image for question in questions]
    rows["block"] = (rows["image"] != rows["image"].shift()).cumsum()
    rows["yes"] = rows["answer"] == "yes"
    blocks = rows.groupby("block")
    objects = rows.groupby(["block", "object"])
    size = blocks["yes"].transform("size")
    is_yes_next = blocks.cumcount() % 2 == 0
    rows["in_turn"] = (size % 2 == 0) & (rows["yes"] == is_yes_next)
    is_apart = rows.groupby("image")["block"].transform("nunique") > 1
    broken = {
        "rows": (size != size.iloc[0]) | is_apart,
        "balance": 2 * blocks["yes"].transform("sum") != size,
        "alternation": ~blocks["in_turn"].transform("all"),
        "contradiction": ~rows["yes"] & objects["yes"].transform("any"),
        "repetition": objects.cumcount() > 0,
    }
    breaks = {}
    for name, is_broken in broken.items():
        ids = rows["question_id"][is_broken].tolist()
        if ids:
            breaks[name] = ids
    return breaks


def make(
    order: Order,
    *,
    configs: Sequence[str] = CONFIGS,
    from_annotations: Path | None = None,
    images_count: int = DRAW["images_count"],
    objects: int = DRAW["objects"],
    seed: int = DRAW["seed"],
) -> Path:
    source = order.source
    if from_annotations is not None:
        if source is not None:
            raise BuildError(
                f"--source {source} and --from-annotations {from_annotations} are given; expected one of them: the "
                "official questions, or new ones."
            )
        check_no_config(configs)
        return make_new(order, from_annotations, images_count, objects, seed)
    drawn = {"images_count": images_count, "objects": objects, "seed": seed}
    why = "no new questions are made, which takes --from-annotations"
    check_effect(drawn, list(drawn), why, usual=DRAW)
    if source is not None and source.is_file():
        check_no_config(configs)
        return make_version(order, source)
    return make_official(order, configs)


def check_no_config(configs: Sequence[str]) -> None:
    """Refuse configs of the official questions, which are not built."""
    why = "only the official questions have configs"
    check_effect({"configs": configs}, ["configs"], why, usual={"configs": CONFIGS})


def make_new(order: Order, annotations: Path, images: int, objects: int, seed: int) -> Path:
    """Build pope of new questions."""
    out = order.target(f"pope_{annotations.stem}")
    coco = read_annotations(annotations)
    questions = draw(coco, images, objects, seed)
    warn_of_absent(coco, annotations)
    numbers = counts(questions)
    numbers["drawn"] = {"images": images, "objects": objects, "seed": seed}
    sources = {"annotations": Fetched(annotations, sha256_of(annotations), published=False)}
    return order.save(out, [table(questions)], numbers, sources, complete=False)


def warn_of_absent(coco: CocoTable, annotations: Path) -> None:
    """Warn of classes that are in no image: some programs write one for the background, or for the whole project.

    COCO's classes are objects, whether or not some of its images hold one.
    """
    objects = vocabularies.load("coco").classes
    absent = []
    for name, images in zip(coco.classes, coco.present().sum(axis=0).tolist(), strict=True):
        if images == 0 and name not in objects:
            absent.append(short_repr(name))
    if absent:
        warnings.warn(
            f"{annotations} has {len(absent):,} of its {len(coco.classes):,} categories in no image: "
            f"{', '.join(absent[:5])}. Absent objects are drawn from them too; take out of the file what is no object.",
            stacklevel=2,
        )


def make_version(order: Order, file: Path) -> Path:
    """Build pope of another version of the questions."""
    out = order.target(f"pope_{file.stem}")
    questions = [row for row in load([str(file)]) if isinstance(row, ObjectQuestion)]
    numbers = {"configs": {"default": counts(questions)}, "rows": len(questions)}
    sources = {"questions": Fetched(file, sha256_of(file), published=False)}
    features = dict(FEATURES)
    for name in ("form", "labels"):
        if any(getattr(question, name) for question in questions):
            features[name] = Value("string")
    return order.save(out, [table(questions, Features(features))], numbers, sources, complete=False)


def make_official(order: Order, configs: Sequence[str]) -> Path:
    """Build pope of the official questions."""
    out = order.target()
    sources = {}
    tables = []
    by_config = {}
    totals = {}
    for config in dict.fromkeys(configs):
        questions: list[ObjectQuestion] = []
        for sampling in SAMPLINGS:
            name = f"{config}_{sampling}"
            sources[name] = order.fetch(name, order.inside(config))
            questions.extend(read_official(sources[name].path, name))
        tables.append(table(questions, config=config))
        by_config[config] = counts(questions)
        totals[f"{config}_rows"] = by_config[config]["rows"]
        totals[f"{config}_pairs"] = by_config[config]["pairs"]
    return order.save(
        out, tables, {"configs": by_config} | totals, sources, complete=set(configs) == set(CONFIGS)
    )


def correct(order: Order) -> Path:
    """Build repope (Neuhaus and Hein, RePOPE, 2025)."""
    out = order.target()
    sources = order.fetch_all(*SAMPLINGS)
    questions: list[ObjectQuestion] = []
    for name, source in sources.items():
        questions.extend(read_official(source.path, f"{REPOPE}_{name}"))
    samplings = Counter(question.sampling for question in questions)
    answers = Counter(question.answer for question in questions)
    numbers = {"rows": len(questions)}
    for name in SAMPLINGS:
        numbers[name] = samplings[name]
    for answer in ("yes", "no"):
        numbers[answer] = answers[answer]
    numbers["images"] = len({question.file_name for question in questions})
    features = Features(FEATURES | {"labels": Value("string")})
    return order.save(out, [table(questions, features)], numbers, sources)


def table(questions: Sequence[Any], features: Features = FEATURES, config: str = "default") -> Table:
    """Return the questions as a table to write."""
    return Table(features, [vars(question) for question in questions], config)


QUESTIONS = Builder(
    "pope",
    about="""Builds pope: the official questions about COCO, A-OKVQA and GQA, or new ones from any COCO-format file.

    halluscope build pope                                           # downloads about 4 MB
    halluscope build pope --source POPE/output                      # the authors' files, if you have them
    halluscope build pope --source POPE/output/coco --configs coco  # a part of them
    halluscope build pope --source llava_pope_test.jsonl            # another version of the questions about COCO
    halluscope build pope --from-annotations instances.json --images-count 500 --objects 3 --seed 0
""",
    source="the folder of the official files, POPE's output/, or one file of another version (default: download)",
    options=(
        Option(
            "from_annotations",
            "make new questions from this COCO-format annotation file instead",
            type=path_of,
            metavar="FILE",
        ),
        Option("configs", "which official questions to build (default: all)", choices=CONFIGS, many=True),
        Option("images_count", "for new questions, how many images (default: 500)", type=int, metavar="N"),
        Option(
            "objects",
            "for new questions, how many present and how many absent objects per image (default: 3)",
            type=int,
            metavar="N",
        ),
        Option("seed", "for new questions, the seed of the draws (default: 0)", type=int, metavar="N"),
    ),
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
