"""New POPE questions from the objects of images, and the rows of `pope` (Li et al., section 5.1).

An image qualifies if it holds at least n classes and lacks at least as many. Of each drawn image n present classes are
asked about, and after each of them one absent class that was not asked about yet:

- random: any;
- popular: the one in most images of the annotations;
- adversarial: the one that shares most images of the annotations with the present class just asked about.

Equal counts are settled by category order. The three samplings share the images and the present classes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from datasets import Features, Value
from numpy.typing import NDArray

from halluscope import questions, vocabularies
from halluscope.building.coco import CocoImage, CocoTable
from halluscope.building.parquet import Table
from halluscope.errors import BuildError
from halluscope.records.object_questions import SAMPLINGS, ObjectQuestion, irregular, unique_questions

Choice = Callable[[int, NDArray[np.int64]], int]
"""`choice(class just asked about, absent classes left)` gives one of them."""

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
    """Make new questions: 2 x objects an image, yes and no in turn, for each of the three samplings.

    Args:
        coco: which classes are in which image; the counts are over all its images.
        images: how many are drawn.
        objects: how many present classes of each are asked about.
        seed: of everything drawn.

    Raises:
        BuildError: for numbers below 1, and when fewer images qualify than are asked for.
    """
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
            "Ask for fewer images, or for fewer objects an image."
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
    """What stats.json says of the rows of one config.

    Returns:
        `rows`; `pairs`, the different (image, question) pairs; `images`; `objects`; and `irregular`, sampling ->
        property of POPE's files -> how many rows break it, and the first of them.
    """
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
    """The rows to write."""
    return Table(FEATURES, map(asdict, rows), split, config)


def _presence(coco: CocoTable) -> NDArray[np.bool_]:
    """Which class is in which image [images, classes]."""
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
    """The classes that are asked about in an image, each with its answer."""
    cells: list[tuple[int, str]] = []
    for cls in positives:
        negative = choose(int(cls), absent)
        absent = absent[absent != negative]
        cells += [(int(cls), "yes"), (negative, "no")]
    return cells


def _texts(classes: Sequence[str]) -> list[str]:
    (about,) = questions.load([questions.POPE]).about(vocabularies.load(classes))
    return [question.text for question in about]


def _question(
    number: int, image: CocoImage, cls: str, text: str, answer: str, sampling: str
) -> ObjectQuestion:
    return ObjectQuestion(number, image.image_id, image.file_name, text, cls, answer, sampling)
