"""Counts, by image, what descriptions mention and how questions were answered, and the shares made from the sums."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope.benchmarks.amber.data import KINDS, AmberRow
from halluscope.benchmarks.amber.reading import Answers, Description
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats
from halluscope.stats.row_order import with_words
from halluscope.stats.tallies import Bools, Ints, table_of

# Names of counts. Of answers: [images, kinds of question, right answers, readings]
ANSWERS = "answers"
# Of descriptions: [images]
DESCRIPTIONS = "descriptions"
HALLUCINATING = "hallucinating"  # descriptions with a hallucination
MENTIONS = "mentions"
HALLUCINATED = "hallucinated"
ANNOTATED = "annotated"  # words for what is in the image
COVERED = "covered"
IMAGINABLE = "imaginable"  # words for what is easily imagined there
IMAGINED = "imagined"

# What a score is about, the end of its name -> its kinds of question
GROUPS = {
    "": KINDS,
    "/existence": ("existence",),
    "/attribute": ("state", "number", "action"),
    "/state": ("state",),
    "/number": ("number",),
    "/action": ("action",),
    "/relation": ("relation",),
}


@dataclass(frozen=True)
class Share:
    """A share of something."""

    part: Floats  # [sums]
    whole: Floats  # [sums]


def count_descriptions(
    rows: Sequence[AmberRow], descriptions: Sequence[Description], image: Ints, images: int
) -> dict[str, Ints]:
    """Count what descriptions mention (section 3.3); `image` is the number of each description's image."""
    names = (
        HALLUCINATED,
        MENTIONS,
        COVERED,
        ANNOTATED,
        IMAGINED,
        IMAGINABLE,
        HALLUCINATING,
        DESCRIPTIONS,
    )
    counts = {name: np.zeros(images, dtype=np.int64) for name in names}
    for row, description, number in zip(rows, descriptions, image.tolist(), strict=True):
        counts[HALLUCINATED][number] += len(description.hallucinated)
        counts[MENTIONS][number] += len(description.mentions)
        counts[COVERED][number] += len(description.covered)
        counts[ANNOTATED][number] += len(row.truth)
        counts[IMAGINED][number] += len(description.imagined)
        counts[IMAGINABLE][number] += len(row.hallu)
        counts[HALLUCINATING][number] += bool(description.hallucinated)
        counts[DESCRIPTIONS][number] += 1
    return counts


def mentioned_and_there(rows: Sequence[AmberRow], descriptions: Sequence[Description]) -> tuple[Bools, Bools]:
    """Return which annotated words descriptions mention, and which are annotated for their images.

    Both are [descriptions, words].
    """
    mentioned = [description.mentions for description in descriptions]
    there = [row.truth for row in rows]
    return with_words(mentioned, there), with_words(there, there)


def count_answers(rows: Sequence[AmberRow], answers: Answers, image: Ints, images: int) -> Ints:
    """Count answers [images, kinds, right answers, readings]; `image` is the number of each question's image."""
    shape = (images, len(KINDS), 2, 3)
    kind = np.array([KINDS.index(row.dimension) for row in rows], dtype=np.int64)
    cell = np.ravel_multi_index((image, kind, right_answers(rows), answers), shape)
    return table_of(cell, shape)


def right_answers(rows: Sequence[AmberRow]) -> Answers:
    """Return the right answers to questions, YES or NO: [questions]."""
    is_yes = np.array([row.answer == "yes" for row in rows], dtype=bool)
    return np.where(is_yes, YES, NO).astype(np.int8)


def shares_of(sums: Counts) -> dict[str, Share]:
    """Return the shares that sums of counts give."""
    answers = sums[ANSWERS]
    shares = {
        "chair": Share(sums[HALLUCINATED], sums[MENTIONS]),
        "cover": Share(sums[COVERED], sums[ANNOTATED]),
        "hal": Share(sums[HALLUCINATING], sums[DESCRIPTIONS]),
        "cog": Share(sums[IMAGINED], sums[IMAGINABLE]),
    }
    for end, kinds in GROUPS.items():
        numbers = [KINDS.index(kind) for kind in kinds]
        answers_of_group = answers[:, numbers].sum(axis=1)
        for name, share in shares_of_answers(answers_of_group).items():
            shares[f"{name}{end}"] = share
    asked = answers.sum(axis=(1, 2, 3))
    shares["yes_ratio"] = Share(answers[..., YES].sum(axis=(1, 2)), asked)
    shares["unreadable"] = Share(answers[..., OTHER].sum(axis=(1, 2)), asked)
    return shares


def shares_of_answers(answers: Floats) -> dict[str, Share]:
    """Return the shares of answers [sums, right answers, readings].

    "no" is the positive class, because most that is asked is absent. An unreadable response is wrong and does not count
    as "no".
    """
    right_no = answers[:, NO, NO]
    right = right_no + answers[:, YES, YES]
    return {
        "accuracy": Share(right, answers.sum(axis=(1, 2))),
        "precision": Share(right_no, answers[:, :, NO].sum(axis=1)),
        "recall": Share(right_no, answers[:, NO].sum(axis=1)),
    }
