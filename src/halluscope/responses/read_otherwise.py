"""Warns where a published rule reads a file's responses otherwise than a person would.

Published rules were written for the models of their time: POPE's reads `**No**`, `<answer>No</answer>` and a refusal as
yes. Their scores stay as published; beside them stands how many responses `strict` reads otherwise, and its score.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.responses.naming import named
from halluscope.sanitize import short_repr

# Fewer responses, or a lower share of them, are no sign that a rule does not fit a model. In 25 files of POPE's responses
# that other projects published, at most 1.4 % are read otherwise.
LEAST, LEAST_SHARE = 10, 0.05

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


def warn_if_read_otherwise(readings: Readings) -> None:
    """Warn if a rule reads many responses otherwise than ours does."""
    unlike = np.flatnonzero(readings.by_rule != readings.by_strict)
    if len(unlike) < max(LEAST, LEAST_SHARE * len(readings.texts)):
        return
    warnings.warn(named(_message(readings, unlike)), stacklevel=4)


def _message(readings: Readings, unlike: NDArray[np.int64]) -> str:
    rule, strict = repr(readings.rule), repr(readings.strict)
    rows = len(readings.texts)
    row = _example(readings.texts, unlike)
    text = short_repr(readings.texts[row], 60)
    by_rule = _words(readings, readings.by_rule[row])
    by_strict = _words(readings, readings.by_strict[row])
    unread = sum(readings.word_of(answer) is None for answer in readings.by_strict.tolist())
    return (
        f"{rule} reads {len(unlike):,} of {rows:,} responses otherwise than {strict} reads them, such as {text}: "
        f"{by_rule} by {rule}, {by_strict} by {strict}. "
        f"The accuracy is {_percent(readings.by_rule == readings.right)} by {rule} and "
        f"{_percent(readings.by_strict == readings.right)} by {strict}, which cannot read {unread:,} of them. "
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


def _percent(is_right: NDArray[np.bool_]) -> str:
    return f"{100 * is_right.mean():.2f} %"
