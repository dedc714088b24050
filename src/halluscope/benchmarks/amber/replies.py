"""Reads an LVLM's responses to AMBER's questions, by named rules.

The rule of the authors' script is for AMBER alone; the other rules are those of `halluscope.responses.parsers`.
lmms-eval reads AMBER and POPE by different rules.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import NO, OTHER, YES
from halluscope.responses import parsers
from halluscope.responses.parsers import Parser

OFFICIAL = "official"


def official(reply: str) -> int:
    """Read a response as the authors' script does: exactly "Yes" or "No".

    >>> official("Yes"), official("No"), official("no"), official("No.")
    (1, 0, 2, 2)
    """
    return {"Yes": YES, "No": NO}.get(reply, OTHER)


RULES: dict[str, Parser] = {
    "strict": parsers.strict,
    OFFICIAL: official,
    "lmms-eval": parsers.contained,
    "vlmevalkit": parsers.vlmevalkit,
    "first-word": parsers.PARSERS["first-word"],
}


def read(replies: Iterable[str], parser: str) -> NDArray[np.int8]:
    """Read responses as codes of `halluscope.judging.votes`."""
    return np.array([RULES[parser](reply) for reply in replies], dtype=np.int8)
