"""Verdicts on HallusionBench that a user gives: as numbers, or as a judge's texts, which are read as its replies."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.judging.completions import warn_of_cut_off
from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import without_thoughts
from halluscope.judging.verdicts import reply_of
from halluscope.sanitize import short_repr
from halluscope.stats.tallies import Ints
from halluscope.validation import listed

UNREAD = -1  # the code of a text that cannot be read

# Returns the word of a verdict in a reply; None if the reply cannot be read
ReadReply = Callable[[str], str | None]


@dataclass(frozen=True)
class Given:
    """Verdicts of one kind."""

    codes: Ints  # [1, rows]
    key: Any  # who gave them, and how texts were read, as in a signature
    are_texts: bool

    def among(self, rows: Sequence[int]) -> "Given":
        """Return the verdicts on some rows."""
        return Given(self.codes[:, list(rows)], self.key, self.are_texts)


def given(
    name: str, values: Any, rows: int, words: Mapping[str, int], read: ReadReply, key: Sequence[str]
) -> Given:
    """Return given verdicts; as in other people's files, numbers may be texts or floats.

    Args:
        name: the name of the option.
        values: what the user gives.
        rows: how many rows there are.
        words: the words of a verdict, and their codes.
        read: reads a judge's text.
        key: how texts are read, as in a signature.
    """
    expected = ", ".join(str(code) for code in sorted(words.values()))
    verdicts = listed(name, values, f"a list, one of {expected} per row", rows)
    known: dict[Any, int] = {}
    for code in words.values():
        known[code] = code
        known[str(code)] = code
    replies = []
    for row, verdict in enumerate(verdicts):
        if not _is_code(verdict, known):
            replies.append(reply_of(verdict, (), f"{name}[{row}]"))
    warn_of_cut_off(verdicts, name)
    if rows and len(replies) == rows and None not in replies:
        codes = _read(name, replies, words, read)
        return Given(codes, [GIVEN] + list(key), are_texts=True)
    codes_of_rows = []
    for row, verdict in enumerate(verdicts):
        if not _is_code(verdict, known):
            raise ValueError(
                f"{name}[{row}] is {short_repr(verdict)}; expected {expected}, or a judge's text in every row."
            )
        codes_of_rows.append(known[verdict])
    return Given(np.array([codes_of_rows]), GIVEN, are_texts=False)


def _is_code(verdict: Any, known: Mapping[Any, int]) -> bool:
    return isinstance(verdict, int | float | str | np.generic) and verdict in known


def _read(name: str, replies: Sequence[Any], words: Mapping[str, int], read: ReadReply) -> Ints:
    codes = []
    for reply in replies:
        word = read(without_thoughts(reply))
        if word is None:
            codes.append(UNREAD)
        else:
            codes.append(words[word])
    unread = codes.count(UNREAD)
    message = f"{unread:,} of the {len(codes):,} texts in {name} begin with no verdict ({', '.join(words)})."
    if unread == len(codes):
        raise ValueError(f"{message} The first is {short_repr(replies[0], 80)}.")
    if unread:
        warnings.warn(message, stacklevel=5)
    return np.array([codes])
