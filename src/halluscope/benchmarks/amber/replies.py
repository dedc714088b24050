"""Reads an LVLM's responses to AMBER's questions, by named rules.

Two rules are for AMBER alone: the rule of the authors' script, and that of lmms-eval, which reads AMBER and POPE
differently. The other rules are those of `halluscope.responses.parsers`.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from halluscope.inputs import word
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


def lmms_eval(reply: str) -> int:
    """Read a response as lmms-eval does: yes if it contains "yes", else no if it contains "no".

    >>> lmms_eval("Yes, no doubt"), lmms_eval("I cannot know"), lmms_eval("Unsure")
    (1, 0, 2)
    """
    said = reply.lower()
    return YES if "yes" in said else NO if "no" in said else OTHER


RULES: dict[str, Parser] = {
    "strict": parsers.strict,
    OFFICIAL: official,
    "lmms-eval": lmms_eval,
    "vlmevalkit": parsers.vlmevalkit,
    "first-word": parsers.PARSERS["first-word"],
}


def check(parser: object) -> str:
    """Check the name of a rule, and return it.

    Raises:
        ValueError: for anything but the name of a rule.
    """
    return word("parser", parser, tuple(RULES))


def read(replies: Iterable[str], parser: str) -> NDArray[np.int8]:
    """Read responses as codes of `halluscope.judging.votes`."""
    return np.array([RULES[parser](reply) for reply in replies], dtype=np.int8)
