"""Verdicts that a user gives: as numbers, or as a judge's own texts, which are read as the replies to a prompt."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import Refusal, said_of
from halluscope.judging.verdicts import Criterion, Judged, from_given, reply_of
from halluscope.options import check_effect
from halluscope.validation import listed

AUTHORS = "authors"
"""Whose prompt other people's texts reply to, unless the user says otherwise."""

READABLE = "readable"
"""The number of a verdict that says whether its reply could be read; the authors' rules rate other replies 0."""


@dataclass(frozen=True)
class Reading:
    """What was read of one given verdict."""

    verdict: Any  # as `from_given` takes it; None for a text that cannot be read
    readable: float = 1.0
    of_text: Any = None
    refusal: Refusal | None = None


def judged(graded: Any, case: Any, verdicts: Any) -> Judged:
    """Return the verdicts that a user gives.

    Raises:
        WithoutEffect: if the user also says how replies are read, and none of the verdicts is a text.
        ValueError: for bad verdicts, and if none of the texts can be read.
    """
    name = graded.option
    rows = len(case.rows)
    verdicts = listed(name, verdicts, "a list, one per row", rows)
    replies = _replies(verdicts, graded.criteria)
    if all(reply is None for reply in replies):
        why = f"the {name} are given as numbers, so no reply is read"
        check_effect(case.written, graded.reply_options, why)
        return from_given(name, verdicts, graded.criteria, rows)
    prompt = _prompt(graded, case)
    readings = []
    for verdict, reply, response in zip(verdicts, replies, case.texts, strict=True):
        if reply is None:
            readings.append(Reading(verdict))
        else:
            readings.append(_read(graded, prompt, reply, response))
    _check_texts(graded, readings, len(replies) - replies.count(None))
    graded.warn([[reading.of_text for reading in readings]])
    numbers = from_given(name, [reading.verdict for reading in readings], graded.criteria, rows)
    return _with_flags(graded, numbers, readings)._replace(key=[GIVEN, prompt.key])


def _replies(verdicts: Sequence[Any], criteria: Sequence[Criterion]) -> list[str | None]:
    """Return each verdict's text, None for one in numbers; a bare text beside bare numbers is a bad number."""
    names = [criterion.name for criterion in criteria]
    replies = [reply_of(verdict, names) for verdict in verdicts]
    for verdict, reply in zip(verdicts, replies, strict=True):
        if verdict is not None and reply is None:
            return [
                None if isinstance(other, str) else text
                for other, text in zip(verdicts, replies, strict=True)
            ]
    return replies


def _prompt(graded: Any, case: Any) -> Any:
    """Return the prompt that texts reply to: the authors', if there is one and the user names no other."""
    written = {name: case.written.get(name) for name in graded.choices}
    whose = graded.choices.get("prompts", ())
    if AUTHORS in whose and written["prompts"] is None:
        written["prompts"] = AUTHORS
    return graded.prompt(**graded.defaults(written))


def _read(graded: Any, prompt: Any, reply: str, response: str) -> Reading:
    verdict = graded.read_text(prompt, reply, response)
    if verdict is None:
        return Reading(None, math.nan, refusal=graded.refusal(prompt, reply, ""))
    numbers = {}
    for criterion in graded.criteria:
        numbers[criterion.name] = criterion.plain(verdict.numbers[criterion.name])
    return Reading(numbers, float(verdict.numbers.get(READABLE, True)), verdict)


def _check_texts(graded: Any, readings: Sequence[Reading], texts: int) -> None:
    """Warn of texts that could not be read; refuse them if that is none."""
    unread = [reading for reading in readings if reading.verdict is None and math.isnan(reading.readable)]
    silent = sum(reading.readable == 0 for reading in readings)
    count = len(unread) + silent
    message = f"{count:,} of the {texts:,} texts in {graded.option} have no readable verdict."
    message += said_of([reading.refusal for reading in unread])
    if count == texts:
        instead = ""
        if "prompts" in graded.choices:
            instead = f" If they reply to another prompt, name it by prompts ({', '.join(graded.choices['prompts'])})."
        raise ValueError(message + instead)
    if unread:
        warnings.warn(message, stacklevel=5)


def _with_flags(graded: Any, numbers: Judged, readings: Sequence[Reading]) -> Judged:
    """Add what the authors' rules say beside the numbers: whether a reply could be read."""
    criteria = [*numbers.criteria]
    values = dict(numbers.values)
    for flag in graded.data["verdict"].get("flags", ()):
        criteria.append(Criterion(flag, bool))
        values[flag] = np.array([[reading.readable for reading in readings]])
    return numbers._replace(criteria=criteria, values=values)
