"""Verdicts that a user gives: as numbers, or as a judge's own texts, which are read as the replies to a prompt."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import Refusal, said_of
from halluscope.judging.verdict_prompts import Verdict, VerdictPrompt
from halluscope.judging.verdicts import Criterion, Judged, from_given, reply_of
from halluscope.options import check_effect
from halluscope.validation import listed

# The number of a verdict that says whether its reply could be read; the authors' rules rate other replies 0
READABLE = "readable"


@dataclass(frozen=True)
class GivenVerdicts:
    """What a user gives, and how it may be read."""

    name: str  # of the option
    verdicts: Sequence[Any]  # one per row
    criteria: Sequence[Criterion]
    prompt: Callable[[], VerdictPrompt]  # returns the prompt that texts reply to
    reply_options: Mapping[str, Any]  # the options that say how texts are read, with what the user wrote
    prompts: Sequence[str] = ()  # the names of the prompts that texts may reply to, if there are several
    flags: Sequence[str] = ()  # what a verdict says besides the criteria


@dataclass(frozen=True)
class Reading:
    """What was read of one given verdict."""

    verdict: Any  # as `from_given` takes it; None for a text that cannot be read
    readable: float = 1.0
    of_text: Verdict | None = None
    refusal: Refusal | None = None


def read_given(given: GivenVerdicts, rows: int) -> Judged:
    """Return the verdicts that a user gives.

    Raises:
        WithoutEffect: if the user also says how replies are read, and none of the verdicts is a text.
        ValueError: for bad verdicts, and if none of the texts can be read.
    """
    verdicts = listed(given.name, given.verdicts, "a list, one per row", rows)
    replies = replies_among(verdicts, given.criteria)
    if all(reply is None for reply in replies):
        why = f"the {given.name} are given as numbers, so no reply is read"
        check_effect(given.reply_options, given.reply_options, why)
        return from_given(given.name, verdicts, given.criteria, rows)
    prompt = given.prompt()
    readings = []
    for verdict, reply in zip(verdicts, replies, strict=True):
        if reply is None:
            readings.append(Reading(verdict))
        else:
            readings.append(read_text(prompt, reply, given.criteria))
    _check_texts(given, readings, len(replies) - replies.count(None))
    numbers = from_given(given.name, [reading.verdict for reading in readings], given.criteria, rows)
    return _with_flags(given, numbers, readings)._replace(key=[GIVEN, prompt.key])


def replies_among(verdicts: Sequence[Any], criteria: Sequence[Criterion]) -> list[str | None]:
    """Return each verdict's text, None for one in numbers; a bare text beside bare numbers is a bad number."""
    names = [criterion.name for criterion in criteria]
    replies = [reply_of(verdict, names) for verdict in verdicts]
    has_numbers = any(
        verdict is not None and reply is None for verdict, reply in zip(verdicts, replies, strict=True)
    )
    if not has_numbers:
        return replies
    texts = []
    for verdict, reply in zip(verdicts, replies, strict=True):
        texts.append(None if isinstance(verdict, str) else reply)
    return texts


def read_text(prompt: VerdictPrompt, reply: str, criteria: Sequence[Criterion]) -> Reading:
    """Read a judge's text as a reply to a prompt; nothing guards against copies of the response there."""
    verdict = prompt.read(reply)
    if verdict is None:
        return Reading(None, math.nan, refusal=prompt.refusal(reply))
    numbers = {}
    for criterion in criteria:
        numbers[criterion.name] = criterion.plain(verdict.numbers[criterion.name])
    return Reading(numbers, float(verdict.numbers.get(READABLE, True)), verdict)


def _check_texts(given: GivenVerdicts, readings: Sequence[Reading], texts: int) -> None:
    """Warn of texts that could not be read; refuse them if that is none."""
    unread = [reading for reading in readings if reading.verdict is None and math.isnan(reading.readable)]
    silent = sum(reading.readable == 0 for reading in readings)
    count = len(unread) + silent
    message = f"{count:,} of the {texts:,} texts in {given.name} have no readable verdict."
    message += said_of([reading.refusal for reading in unread])
    if count == texts:
        if given.prompts:
            message += f" If they reply to another prompt, name it by prompts ({', '.join(given.prompts)})."
        raise ValueError(message)
    if unread:
        warnings.warn(message, stacklevel=5)


def _with_flags(given: GivenVerdicts, numbers: Judged, readings: Sequence[Reading]) -> Judged:
    """Add what the authors' rules say beside the numbers: whether a reply could be read."""
    criteria = list(numbers.criteria)
    values = dict(numbers.values)
    for flag in given.flags:
        criteria.append(Criterion(flag, bool))
        values[flag] = np.array([[reading.readable for reading in readings]])
    return numbers._replace(criteria=criteria, values=values)
