"""What an LVLM's reply to one of AMBER's questions says. Every rule has a name.

Two rules are AMBER's own: that of the authors' script, and that of lmms-eval, which reads AMBER otherwise than POPE.
The others are those of `halluscope.responses.parsers`.
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
    """The rule of the authors' script: exactly "Yes" or "No".

    >>> official("Yes"), official("No"), official("no"), official("No.")
    (1, 0, 2, 2)
    """
    return {"Yes": YES, "No": NO}.get(reply, OTHER)


def lmms_eval(reply: str) -> int:
    """The rule of lmms-eval: yes if "yes" stands anywhere in the reply, else no if "no" does.

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
    """The name of a rule.

    Raises:
        ValueError: for anything else.
    """
    return word("parser", parser, tuple(RULES))


def read(replies: Iterable[str], parser: str) -> NDArray[np.int8]:
    """Read replies as codes of `halluscope.judging.votes`."""
    return np.array([RULES[parser](reply) for reply in replies], dtype=np.int8)
