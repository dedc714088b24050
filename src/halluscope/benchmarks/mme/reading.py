"""Reads a response as yes or no by the rules in use for MME."""

from halluscope.judging.votes import NO, OTHER, YES
from halluscope.responses import parsers
from halluscope.responses.parsers import Parser

OFFICIAL = "official"

LOOKED_AT = 4  # how many characters of a response the authors' script looks at


def official(text: str) -> int:
    """Read yes if "yes" is in the first four characters of the lowercased response, else no if "no" is.

    >>> official("Yes, it is."), official("Not at all"), official("The answer is yes")
    (1, 0, 2)
    """
    start = text[:LOOKED_AT].lower()
    if "yes" in start:
        return YES
    if "no" in start:
        return NO
    return OTHER


def lmms_eval(text: str) -> int:
    """Apply the rule of lmms-eval: the official one, after white space and full stops are dropped; "y" is yes too.

    >>> lmms_eval("  Yes."), lmms_eval("N"), lmms_eval("It is")
    (1, 0, 2)
    """
    text = text.strip().replace(".", "")
    if text.lower() == "y":
        return YES
    if text.lower() == "n":
        return NO
    return official(text)


RULES: dict[str, Parser] = {
    OFFICIAL: official,
    parsers.STRICT: parsers.strict,
    "lmms-eval": lmms_eval,
    "vlmevalkit": parsers.vlmevalkit,
}
