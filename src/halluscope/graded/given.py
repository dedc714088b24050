"""Verdicts that a user gives: as numbers, or as a judge's own texts, which are read as the replies to a prompt."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import Refusal, said_of
from halluscope.judging.verdicts import Criterion, Judged, from_given, reply_of
from halluscope.validation import listed

AUTHORS = "authors"
"""Whose prompt other people's texts reply to, unless the user says otherwise."""

READABLE = "readable"
"""The number of a verdict that says whether its reply could be read; the authors' rules rate other replies 0."""


@dataclass(frozen=True)
class TextReader:
    """How a judge's texts are read."""

    key: str  # the prompt that they reply to, as in a signature
    read: Callable[[str, str], Any]  # takes a text and the response; returns a `Verdict`, or None
    refusal: Callable[[str], Refusal | None]  # says why a text cannot be read
    warn: Callable[[Sequence[Any]], None]  # takes what was read of all rows
    prompts: Sequence[str]  # the names of the prompts that the user may choose from


@dataclass(frozen=True)
class Reading:
    """What was read of one given verdict."""

    verdict: Any  # as `from_given` takes it; None for a text that cannot be read
    readable: float = 1.0
    of_text: Any = None  # a `Verdict`
    refusal: Refusal | None = None


@dataclass(frozen=True)
class GivenVerdicts:
    """The verdicts of a user, one per row."""

    name: str  # the option that gives them
    verdicts: Sequence[Any]
    replies: Sequence[str | None]  # the text of each verdict; None for one in numbers
    criteria: Sequence[Criterion]

    @property
    def are_numbers(self) -> bool:
        return all(reply is None for reply in self.replies)

    def as_numbers(self) -> Judged:
        """Return the verdicts as they are.

        Raises:
            ValueError: for a bad verdict.
        """
        return from_given(self.name, self.verdicts, self.criteria, len(self.verdicts))

    def read_by(self, reader: TextReader, responses: Sequence[str], flags: Sequence[str]) -> Judged:
        """Return the verdicts, of which at least one is a text.

        Args:
            reader: how texts are read.
            responses: the response of each row.
            flags: the names of what a reading says beside the numbers.

        Raises:
            ValueError: for a bad verdict, and if none of the texts can be read.
        """
        readings = []
        for verdict, reply, response in zip(self.verdicts, self.replies, responses, strict=True):
            if reply is None:
                readings.append(Reading(verdict))
            else:
                readings.append(self._read(reader, reply, response))
        self._check_texts(reader, readings)
        reader.warn([reading.of_text for reading in readings])
        verdicts = [reading.verdict for reading in readings]
        numbers = from_given(self.name, verdicts, self.criteria, len(verdicts))
        return _with_flags(numbers, readings, flags)._replace(key=[GIVEN, reader.key])

    def _read(self, reader: TextReader, reply: str, response: str) -> Reading:
        verdict = reader.read(reply, response)
        if verdict is None:
            return Reading(None, math.nan, refusal=reader.refusal(reply))
        numbers = {}
        for criterion in self.criteria:
            numbers[criterion.name] = criterion.plain(verdict.numbers[criterion.name])
        return Reading(numbers, float(verdict.numbers.get(READABLE, True)), verdict)

    def _check_texts(self, reader: TextReader, readings: Sequence[Reading]) -> None:
        """Warn of texts that could not be read; refuse them if none could."""
        texts = len(self.replies) - list(self.replies).count(None)
        unread = [reading for reading in readings if math.isnan(reading.readable)]
        silent = sum(reading.readable == 0 for reading in readings)
        count = len(unread) + silent
        message = f"{count:,} of the {texts:,} texts in {self.name} have no readable verdict."
        message += said_of([reading.refusal for reading in unread])
        if count == texts:
            if reader.prompts:
                message += (
                    f" If they reply to another prompt, name it by prompts ({', '.join(reader.prompts)})."
                )
            raise ValueError(message)
        if unread:
            warnings.warn(message, stacklevel=6)


def given_verdicts(name: str, verdicts: Any, criteria: Sequence[Criterion], rows: int) -> GivenVerdicts:
    """Return what a user gives by the option of this name, one verdict per row.

    Raises:
        ValueError: if it is no list, or of another length.
    """
    each = listed(name, verdicts, "a list, one per row", rows)
    return GivenVerdicts(name, each, _replies(each, criteria), criteria)


def _replies(verdicts: Sequence[Any], criteria: Sequence[Criterion]) -> list[str | None]:
    """Return each verdict's text, None for one in numbers; a bare text beside bare numbers is a bad number."""
    names = [criterion.name for criterion in criteria]
    replies = [reply_of(verdict, names) for verdict in verdicts]
    has_numbers = False
    for verdict, reply in zip(verdicts, replies, strict=True):
        if verdict is not None and reply is None:
            has_numbers = True
    if has_numbers:
        for row, verdict in enumerate(verdicts):
            if isinstance(verdict, str):
                replies[row] = None
    return replies


def _with_flags(numbers: Judged, readings: Sequence[Reading], flags: Sequence[str]) -> Judged:
    """Add what the authors' rules say beside the numbers: whether a reply could be read."""
    criteria = list(numbers.criteria)
    values = dict(numbers.values)
    for flag in flags:
        criteria.append(Criterion(flag, bool))
        values[flag] = np.array([[reading.readable for reading in readings]])
    return numbers._replace(criteria=criteria, values=values)
