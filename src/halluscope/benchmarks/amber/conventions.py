"""From shares to scores: by AMBER's formulas, and as the authors' script and lmms-eval compute them."""

from collections.abc import Mapping

import numpy as np

from halluscope.benchmarks.amber.counting import GROUPS, Share
from halluscope.benchmarks.amber.reading import OFFICIAL
from halluscope.stats.ratios import Floats, f_of_means, ratio

EXACT = "exact"
LMMS_EVAL = "lmms-eval"
CONVENTIONS = (EXACT, OFFICIAL, LMMS_EVAL)

OF_DESCRIPTIONS = ("chair", "cover", "hal", "cog")
OF_ANSWERS = ("accuracy", "precision", "recall", "f1")

# AMBER's three dimensions. The scores over all questions are defined if each of them has a question.
THREE = ("existence", "attribute", "relation")

EPSILON = 0.001  # where the authors' script starts each denominator

# What the script adds to the denominator of F
BENEATH_F = 0.0001
BENEATH_F_OF_EXISTENCE = 0.001


def score(convention: str, shares: Mapping[str, Share]) -> dict[str, Floats]:
    """Return the scores by a convention; those over all questions are NaN if a dimension has no question."""
    scores = by_convention(convention, shares)
    is_whole = np.all([shares[f"accuracy/{name}"].whole > 0 for name in THREE], axis=0)
    for name in OF_ANSWERS:
        scores[name] = np.where(is_whole, scores[name], np.nan)
    return with_means(scores)


def score_exactly(shares: Mapping[str, Share]) -> dict[str, Floats]:
    """Return the exact scores, also those over all questions where a dimension has none."""
    return with_means(exact(shares))


def by_convention(convention: str, shares: Mapping[str, Share]) -> dict[str, Floats]:
    if convention == OFFICIAL:
        return official(shares)
    if convention == LMMS_EVAL:
        return lmms_eval(shares)
    return exact(shares)


def exact(shares: Mapping[str, Share]) -> dict[str, Floats]:
    """Return unrounded scores, NaN where a denominator is 0; F is 0 where nothing was right."""
    scores = {}
    for name, share in shares.items():
        scores[name] = ratio(share.part, share.whole)
    for end in GROUPS:
        scores[f"f1{end}"] = f_of_means(scores[f"precision{end}"], scores[f"recall{end}"], 1.0)
    return scores


def official(shares: Mapping[str, Share]) -> dict[str, Floats]:
    """Return scores as the authors' script prints them: to 0.1 %, 0 where a denominator is 0, F from rounded scores.

    The script starts each denominator at 0.001 (those of attributes are sums of three), and adds a little to that of F,
    so that it never divides by 0. A score without any row is NaN here; the script does not print it. It prints no yes
    ratio, and no share of unreadable responses.
    """
    scores = {}
    for name, share in shares.items():
        start = EPSILON
        if name.endswith("/attribute"):
            start = 3 * EPSILON
        scores[name] = rounded(share.part / (share.whole + start))
    hal = shares["hal"]
    scores["hal"] = rounded(1 - (hal.whole - hal.part) / (hal.whole + EPSILON))
    for end in GROUPS:
        precision = scores[f"precision{end}"]
        recall = scores[f"recall{end}"]
        beneath = BENEATH_F
        if end == "/existence":
            beneath = BENEATH_F_OF_EXISTENCE
        scores[f"f1{end}"] = rounded(2 * precision * recall / (precision + recall + beneath))
    for name in OF_DESCRIPTIONS:
        scores[name] = np.where(hal.whole > 0, scores[name], np.nan)
    for end in GROUPS:
        has_questions = shares[f"accuracy{end}"].whole > 0
        for name in OF_ANSWERS:
            scores[f"{name}{end}"] = np.where(has_questions, scores[f"{name}{end}"], np.nan)
    for name in ("yes_ratio", "unreadable"):
        scores[name] = ratio(shares[name].part, shares[name].whole)
    return scores


def lmms_eval(shares: Mapping[str, Share]) -> dict[str, Floats]:
    """Return scores as lmms-eval's amber_g has them: it starts the totals of each description at 0.001, then adds them.

    `hal` is there 1 - (descriptions without hallucination) / (this total).
    """
    scores = exact(shares)
    hal = shares["hal"]
    for name in OF_DESCRIPTIONS:
        share = shares[name]
        whole = np.where(hal.whole > 0, share.whole + EPSILON * hal.whole, 0)
        scores[name] = ratio(share.part, whole)
    scores["hal"] = 1 - ratio(hal.whole - hal.part, hal.whole * (1 + EPSILON))
    return scores


def with_means(scores: dict[str, Floats]) -> dict[str, Floats]:
    """Add the scores that are means of others."""
    scores["accuracy_mean"] = np.mean([scores[f"accuracy/{name}"] for name in THREE], axis=0)
    scores["amber"] = (1 - scores["chair"] + scores["f1"]) / 2
    return scores


def rounded(shares: Floats) -> Floats:
    """Round shares to 0.1 %, as Python's `round` does."""
    return np.array([round(share * 100, 1) / 100 for share in shares.tolist()])
