"""From counts of answers to POPE's scores, by the conventions for unreadable responses."""

from dataclasses import dataclass

import numpy as np

from halluscope.judging.votes import NO, OTHER, YES
from halluscope.metric import Scores
from halluscope.stats.intervals import refusal
from halluscope.stats.ratios import Floats, defined_mean, f_of_means, ratio

# The right answers in counts [..., labels, readings]
ABSENT = 0
PRESENT = 1


@dataclass(frozen=True)
class Convention:
    """How unreadable responses are counted; they never count as yes."""

    # whether they are wrong in accuracy, and responses in the yes ratio; otherwise both leave them out
    unread_wrong: bool = True
    # whether a present object without a readable response is missed; otherwise recall leaves it out
    unread_missed: bool = True
    # whether the yes ratio is that of the ground truth instead of the LVLM's responses
    yes_of_labels: bool = False


# A parser of one of these names has its own convention; all others, the usual one.
CONVENTIONS = {
    "usual": Convention(),
    "lmms-eval": Convention(unread_missed=False, yes_of_labels=True),
    "repope": Convention(unread_missed=False, unread_wrong=False),
}


def own_convention(parser: str) -> str:
    """Return the convention of the project whose parser it is."""
    return parser if parser in CONVENTIONS else "usual"


def scores_of(answers: Floats, convention: Convention, has_classes: bool = False) -> Scores:
    """Return the scores of counts [sums, classes, labels, readings] (POPE, section 5.1); NaN where undefined.

    The averages over classes (THRONE, section 5.4) leave out classes where they are undefined; F is that of averages.
    """
    pooled = answers.sum(axis=-3)
    responses = pooled.sum(axis=(-2, -1))
    unread = pooled[..., OTHER].sum(axis=-1)
    right = pooled[..., ABSENT, NO] + pooled[..., PRESENT, YES]
    counted = responses
    if not convention.unread_wrong:
        counted = responses - unread
    says_yes = pooled[..., YES].sum(axis=-1)
    if convention.yes_of_labels:
        says_yes = pooled[..., PRESENT, :].sum(axis=-1)
    precision, recall = precision_recall(pooled, convention)
    scores = {
        "accuracy": ratio(right, counted),
        "precision": precision,
        "recall": recall,
        "f1": f_of_means(precision, recall, 1.0),
        "f0.5": f_of_means(precision, recall, 0.5),
        "yes_ratio": ratio(says_yes, counted),
        "unparsed": ratio(unread, responses),
    }
    if has_classes:
        precisions, recalls = precision_recall(answers, convention)
        precision = defined_mean(precisions)
        recall = defined_mean(recalls)
        scores["precision_cls"] = precision
        scores["recall_cls"] = recall
        scores["f1_cls"] = f_of_means(precision, recall, 1.0)
        scores["f0.5_cls"] = f_of_means(precision, recall, 0.5)
    return scores


def precision_recall(answers: Floats, convention: Convention) -> tuple[Floats, Floats]:
    """Return both of counts [..., labels, readings]."""
    hits = answers[..., PRESENT, YES]
    missed = answers[..., PRESENT, NO]
    if convention.unread_missed:
        missed = missed + answers[..., PRESENT, OTHER]
    return ratio(hits, answers[..., YES].sum(axis=-1)), ratio(hits, hits + missed)


def class_refusals(answers: Floats, convention: Convention) -> dict[str, str]:
    """Say which means over the classes of counts [classes, labels, readings] have no interval: score -> reason."""
    classes = len(answers)
    precision, recall = precision_recall(answers, convention)
    no_precision = np.isnan(precision)
    no_recall = np.isnan(recall)
    no_f = no_precision | no_recall
    refusal_of_f = refusal(int(no_f.sum()), classes, "a precision or a recall")
    return {
        "precision_cls": refusal(int(no_precision.sum()), classes, "a precision"),
        "recall_cls": refusal(int(no_recall.sum()), classes, "a recall"),
        "f1_cls": refusal_of_f,
        "f0.5_cls": refusal_of_f,
    }
