"""AMBER's scores: counts per image first, then ratios, then F and AMBER's one number.

Source: AMBER (Wang et al., 2023), section 3.3; `official` follows the authors' script to its rounding.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope.benchmarks.amber.mentions import Description
from halluscope.benchmarks.amber.rows import ASPECTS
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.stats.ratios import Floats, f_of_means, ratio
from halluscope.stats.tallies import Bools, Ints, Tally

GENERATIVE = ("chair", "cover", "hal", "cog")
RATIOS = ("accuracy", "precision", "recall")

GROUPS = {
    "": tuple(ASPECTS),
    "/existence": ("existence",),
    "/attribute": ("state", "number", "action"),
    "/state": ("state",),
    "/number": ("number",),
    "/action": ("action",),
    "/relation": ("relation",),
}
"""What stands behind a score's name -> the questions that it is about."""

THREE = ("/existence", "/attribute", "/relation")
"""AMBER's dimensions. Scores of all questions are defined where each of them has one."""

NOT_THE_SCRIPTS = ("yes_ratio", "unreadable")
"""Scores that the authors' script does not print, and nobody rounds."""

EPSILON = 0.001
BENEATH_F = {"/existence": 0.001}
"""What the authors' script adds to precision and recall beneath F where it is not 0.0001."""

Counts = Mapping[str, tuple[Floats, Floats]]
"""Score -> its part and its whole, each [resamples]."""

Convention = Callable[[Counts], dict[str, Floats]]
"""From counts to scores [resamples]."""


def described(
    descriptions: Sequence[Description], truth: Ints, hallu: Ints, image: Ints, images: int
) -> Tally:
    """Count what descriptions mention.

    Args:
        descriptions: one per row.
        truth: how many words of what is there each row has: [rows].
        hallu: how many words of what is imagined there: [rows].
        image: the number of each row's image: [rows].
        images: how many there are.

    Returns:
        By image: `chair` (hallucinated mentions of all), `cover` (words of the truth that are mentioned, of all), `hal`
        (descriptions with a hallucination, of all), `cog` (words that are easily imagined and mentioned, of all).
    """
    wrong = np.array([len(one.hallucinated) for one in descriptions], dtype=np.int64)
    parts: dict[str, tuple[ArrayLike, ArrayLike]] = {
        "chair": (wrong, [len(one.mentions) for one in descriptions]),
        "cover": ([len(one.covered) for one in descriptions], truth),
        "hal": (wrong > 0, np.ones(len(wrong))),
        "cog": ([len(one.imagined) for one in descriptions], hallu),
    }
    return {
        name: (_by_image(part, image, images), _by_image(whole, image, images))
        for name, (part, whole) in parts.items()
    }


def answered(no: Bools, replies: NDArray[np.int8], aspect: Sequence[str], image: Ints, images: int) -> Tally:
    """Count answers; "no" is the positive class, as what is asked for is mostly not there.

    Args:
        no: whether the right answer is no: [rows].
        replies: what was read, codes of `halluscope.judging.votes`: [rows]. What is unreadable is wrong, and no "no".
        aspect: what each question is about, a key of `ASPECTS`: [rows].
        image: the number of each row's image: [rows].
        images: how many there are.

    Returns:
        By image, for each of `GROUPS`: `accuracy`, `precision`, `recall`; and, of all, the replies that are yes
        (`yes_ratio`) and those that are `unreadable`.
    """
    said_no = replies == NO
    right = np.where(no, said_no, replies == YES)
    parts = {
        "accuracy": (right, np.ones(len(no), dtype=bool)),
        "precision": (said_no & no, said_no),
        "recall": (said_no & no, no),
    }
    counts = {
        f"{name}{group}": (_by_image(part & rows, image, images), _by_image(whole & rows, image, images))
        for group, aspects in GROUPS.items()
        for rows in [np.isin(aspect, aspects)]
        for name, (part, whole) in parts.items()
    }
    asked = np.bincount(image, minlength=images)
    return {
        **counts,
        "yes_ratio": (_by_image(replies == YES, image, images), asked),
        "unreadable": (_by_image(replies == OTHER, image, images), asked),
    }


def score(tally: Tally, convention: Convention, weights: Floats | None = None) -> dict[str, Floats]:
    """All scores [resamples].

    Args:
        tally: parts and wholes by image.
        convention: `exact` or `official`.
        weights: [resamples, images], how often each image counts; by default once.
    """
    images = len(tally["unreadable"][0])
    weights = np.ones((1, images)) if weights is None else weights
    return convention({name: (weights @ part, weights @ whole) for name, (part, whole) in tally.items()})


def exact(counts: Counts) -> dict[str, Floats]:
    """Ratios as they are, NaN where the whole is 0; F is 0 where nothing was right."""
    found = {name: ratio(*of) for name, of in counts.items()}
    for group in GROUPS:
        found[f"f1{group}"] = f_of_means(found[f"precision{group}"], found[f"recall{group}"], 1.0)
    return _whole(found, counts)


def official(counts: Counts) -> dict[str, Floats]:
    """As the authors' script prints them: percent to one decimal, 0 for a share of nothing, F of rounded figures.

    The script counts 0.001 in each whole beforehand, and adds a little beneath F, so that it never divides by 0. What
    has no row at all is NaN here; the script prints nothing then.
    """
    found = {name: _rounded(part / (whole + _beforehand(name))) for name, (part, whole) in counts.items()}
    wrong, rows = counts["hal"]
    found["hal"] = _rounded(1 - (rows - wrong) / (rows + EPSILON))
    for group in GROUPS:
        precision, recall = found[f"precision{group}"], found[f"recall{group}"]
        beneath = precision + recall + BENEATH_F.get(group, 0.0001)
        found[f"f1{group}"] = _rounded(2 * precision * recall / beneath)
    for name in found:
        of = "hal" if name in GENERATIVE else f"accuracy{_group(name)}"
        found[name] = np.where(counts[of][1] > 0, found[name], np.nan)
    return _whole(found | {name: ratio(*counts[name]) for name in NOT_THE_SCRIPTS}, counts)


def _whole(found: dict[str, Floats], counts: Counts) -> dict[str, Floats]:
    """The same with the scores of all three dimensions; those of all questions are NaN where one of them has none."""
    there = np.all([counts[f"accuracy{group}"][1] > 0 for group in THREE], axis=0)
    for name in (*RATIOS, "f1"):
        found[name] = np.where(there, found[name], np.nan)
    found["accuracy_mean"] = np.mean([found[f"accuracy{group}"] for group in THREE], axis=0)
    found["amber"] = (1 - found["chair"] + found["f1"]) / 2
    return found


def _group(name: str) -> str:
    """What stands behind a score's name: "" or such as "/state"."""
    return "".join(name.partition("/")[1:])


def _beforehand(name: str) -> float:
    """What the script counts beforehand; the wholes of attributes are a sum of three."""
    return EPSILON * (3 if _group(name) == "/attribute" else 1)


def _rounded(shares: Floats) -> Floats:
    """Shares as percent to one decimal, as Python rounds, and as shares again."""
    return np.array([round(share * 100, 1) / 100 for share in shares.tolist()])


def _by_image(values: ArrayLike, image: Ints, images: int) -> Ints:
    return np.bincount(image, weights=np.asarray(values), minlength=images).astype(np.int64)


CONVENTIONS: dict[str, Convention] = {"exact": exact, "official": official}
