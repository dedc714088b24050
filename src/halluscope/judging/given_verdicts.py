"""Verdicts that a user gives: as numbers, or as a judge's own texts, which are read as the replies to a prompt."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halluscope.judging import completions
from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import Refusal, said_of, without_thoughts
from halluscope.judging.verdict_prompts import Verdict, VerdictPrompt
from halluscope.judging.verdicts import Criterion, Verdicts, from_given, model_of, reply_of
from halluscope.options import check_effect
from halluscope.sanitize import one_line
from halluscope.validation import listed

# The number of a verdict that says whether its reply could be read; the authors' rules rate other replies 0
READABLE = "readable"


@dataclass(frozen=True)
class GivenVerdicts:
    """What a user gives, and how it may be read."""

    name: str  # of the option
    verdicts: Sequence[Any]  # one per row
    criteria: Sequence[Criterion]
    responses: Sequence[str]
    reader: Callable[[], VerdictPrompt]  # returns what reads texts, if there are any
    reply_options: Mapping[str, Any]  # the options that say how texts are read, with what the user wrote
    prompts: Sequence[str]  # the names of the prompts that texts may reply to
    flags: Sequence[str]  # the names under which a result says which replies could be read
    warn: Callable[[Sequence[Verdict | None]], None]  # warns of what the verdicts of texts show, one per row


@dataclass(frozen=True)
class Reading:
    """What was read of one given verdict."""

    verdict: Any  # as `from_given` takes it; None for a text that cannot be read
    readable: float = 1.0
    of_text: Verdict | None = None
    refusal: Refusal | None = None


def read_given(source: GivenVerdicts) -> Verdicts:
    """Return the verdicts that a user gives.

    Raises:
        WithoutEffect: if the user also says how replies are read, and none of the verdicts is a text.
        ValueError: for bad verdicts, and if none of the texts can be read.
    """
    rows = len(source.responses)
    verdicts = listed(source.name, source.verdicts, "a list, one per row", rows)
    replies = replies_among(source.name, verdicts, source.criteria)
    completions.warn_of_cut_off(verdicts, source.name)
    texts = len(replies) - replies.count(None)
    if not texts:
        why = f"the {source.name} are given as numbers, so no reply is read"
        check_effect(source.reply_options, source.reply_options, why)
        return from_given(source.name, verdicts, source.criteria, rows)
    reader = source.reader()
    readings = []
    for verdict, reply, response in zip(verdicts, replies, source.responses, strict=True):
        if reply is None:
            readings.append(Reading(verdict))
        else:
            readings.append(read_text(reader, reply, response, source.criteria))
    _check_texts(source, readings, texts)
    source.warn([reading.of_text for reading in readings])
    in_numbers = [reading.verdict for reading in readings]
    key = [GIVEN, reader.key, *judges_of(source.name, verdicts)]
    judged = from_given(source.name, in_numbers, source.criteria, rows, key)
    return _with_flags(source, judged, readings)


def judges_of(name: str, verdicts: Sequence[Any]) -> list[str]:
    """Return the models that texts say they are by, sorted; warn if they are several.

    Args:
        name: the name of the option, for the warning.
        verdicts: what a user gives.
    """
    counts = Counter(model_of(verdict) for verdict in verdicts)
    del counts[""]  # verdicts that name none
    if len(counts) > 1:
        parts = [f"{one_line(model, 80)} ({count:,})" for model, count in sorted(counts.items())]
        warnings.warn(
            f"The {name} are by several judges, {', '.join(parts)}, which may judge differently.",
            stacklevel=4,
        )
    return sorted(counts)


def replies_among(name: str, verdicts: Sequence[Any], criteria: Sequence[Criterion]) -> list[str | None]:
    """Return each verdict's text, None for one in numbers; a bare text beside bare numbers is a bad number."""
    names = [criterion.name for criterion in criteria]
    replies = []
    has_numbers = False
    for row, verdict in enumerate(verdicts):
        reply = reply_of(verdict, names, f"{name}[{row}]")
        replies.append(reply)
        if reply is None and verdict is not None:
            has_numbers = True
    if has_numbers:
        for row, verdict in enumerate(verdicts):
            if isinstance(verdict, str):
                replies[row] = None
    return replies


def read_text(reader: VerdictPrompt, reply: str, response: str, criteria: Sequence[Criterion]) -> Reading:
    """Read a judge's text as a reply to a prompt."""
    answer = without_thoughts(reply)
    verdict = reader.read_given(answer, response)
    if verdict is None:
        return Reading(None, math.nan, refusal=reader.refusal(answer))
    numbers = {}
    for criterion in criteria:
        numbers[criterion.name] = criterion.plain(verdict.numbers[criterion.name])
    is_readable = verdict.numbers.get(READABLE, True)
    return Reading(numbers, float(is_readable), verdict)


def _check_texts(source: GivenVerdicts, readings: Sequence[Reading], texts: int) -> None:
    """Warn of texts that could not be read; refuse them if none could be, and there are no numbers."""
    refusals = []
    unreadable = 0  # those that the authors' rules rate 0 included
    numbers = 0
    for reading in readings:
        numbers += reading.of_text is None and reading.verdict is not None
        if math.isnan(reading.readable):
            refusals.append(reading.refusal)
            unreadable += 1
        elif reading.readable == 0:
            unreadable += 1
    message = f"{unreadable:,} of the {texts:,} texts in {source.name} have no readable verdict."
    message += said_of(refusals)
    if unreadable == texts and not numbers:
        if source.prompts:
            message += f" If they reply to another prompt, name it by prompts ({', '.join(source.prompts)})."
        raise ValueError(message)
    if refusals:
        warnings.warn(message, stacklevel=5)


def _with_flags(source: GivenVerdicts, judged: Verdicts, readings: Sequence[Reading]) -> Verdicts:
    """Add what the authors' rules say beside the numbers: whether a reply could be read."""
    criteria = list(judged.criteria)
    values = dict(judged.values)
    readable = [reading.readable for reading in readings]
    for flag in source.flags:
        criteria.append(Criterion(flag, bool))
        values[flag] = np.array([readable])
    return replace(judged, criteria=criteria, values=values)
