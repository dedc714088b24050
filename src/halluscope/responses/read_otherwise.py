"""Warns where a published rule reads a file's responses otherwise than a person would.

Published rules were written for the models of their time: POPE's reads `**No**`, `<answer>No</answer>` and a refusal as
yes. Their scores stay as published; beside them stands how many responses `strict` reads otherwise, and its score.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.naming import named
from halluscope.sanitize import short_repr

# Fewer responses, or a lower share of them, are no sign that a rule does not fit a model. In 25 files of POPE's
# responses that other projects published, at most 1.4 % are read otherwise.
LEAST = 10
LEAST_SHARE = 0.05

# What the warning has in it, for those who show the difference in another way
WARNING = r".* otherwise than .* reads them, such as "


@dataclass(frozen=True)
class Readings:
    """What two rules read in the same responses, and the right answers, one per response.

    Answers are compared by `==`; whatever a rule could not read must not equal a right answer.
    """

    texts: Sequence[str]
    rule: str  # the name of a published rule
    by_rule: NDArray[Any]
    by_strict: NDArray[Any]
    right: NDArray[Any]
    word_of: Callable[[Any], str | None]  # an answer as a word, None for one that could not be read
    strict: str = "strict"  # the name of our rule
    option: str = "parser"  # the option by which rules are chosen
    accuracy: float | None = None  # by the published rule, unless it is the share of its right readings


def warn_if_read_otherwise(readings: Readings) -> None:
    """Warn if a rule reads many responses otherwise than ours does."""
    unlike = np.flatnonzero(readings.by_rule != readings.by_strict)
    if len(unlike) < max(LEAST, LEAST_SHARE * len(readings.texts)):
        return
    warnings.warn(named(_message(readings, unlike)), stacklevel=4)


def _message(readings: Readings, unlike: NDArray[np.int64]) -> str:
    rule = repr(readings.rule)
    strict = repr(readings.strict)
    rows = len(readings.texts)
    row = _example(readings.texts, unlike)
    text = short_repr(readings.texts[row], 60)
    by_rule = _words(readings, readings.by_rule[row])
    by_strict = _words(readings, readings.by_strict[row])
    unread = 0
    for answer, count in Counter(readings.by_strict.tolist()).items():
        if readings.word_of(answer) is None:
            unread += count
    unreadable = f", which cannot read {unread:,} of them" if unread else ""
    accuracy = readings.accuracy
    if accuracy is None:
        accuracy = (readings.by_rule == readings.right).mean()
    strict_accuracy = (readings.by_strict == readings.right).mean()
    return (
        f"{rule} reads {len(unlike):,} of {rows:,} responses otherwise than {strict} reads them, such as {text}: "
        f"{by_rule} by {rule}, {by_strict} by {strict}. "
        f"The accuracy is {_percent(accuracy)} by {rule} and {_percent(strict_accuracy)} by {strict}{unreadable}. "
        f"{readings.option}={strict} (--{readings.option} {readings.strict}) gives its scores."
    )


def _example(texts: Sequence[str], rows: NDArray[np.int64]) -> int:
    """Return the first of these rows whose response is not empty, if there is one."""
    for row in rows.tolist():
        if texts[row].strip():
            return int(row)
    return int(rows[0])


def _words(readings: Readings, answer: Any) -> str:
    return readings.word_of(answer) or "unreadable"


def _percent(share: float) -> str:
    return "undefined" if math.isnan(share) else f"{100 * share:.2f} %"
