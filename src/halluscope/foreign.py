"""Text from elsewhere, such as what LVLMs, judges, servers and files say, made fit to be shown: it can neither steer a
terminal nor give away an access key.
"""

import json
import os
import re
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""Characters from which on an access key is blacked out; a shorter one could be part of any word."""

PLACEHOLDERS = ("none", "empty", "x", "token-abc123")
"""What local servers are given for an access key, in lower case."""

BLACKED = "[access key]"
WITHHELD = "(withheld: it repeats the access key, which is too short to be blacked out)"

_HELD_IN = re.compile(r"(?:.+_)?(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
"""Names of environment variables that hold something secret."""

_held_in: set[str] = set()

_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters but tab and line feed, other line ends, marks that turn the direction of writing, lone surrogates.
"""


def printable(text: object) -> str:
    r"""A text without access keys, in which every character that could steer a terminal is spelt out.

    Tabs and line feeds stay, for our own messages have them.

    >>> printable("a\x1b[31mb\r\u202ec\n")
    'a\\x1b[31mb\\x0d\\u202ec\n'
    """
    return spelt(keyless(str(text)))


def spelt(text: str) -> str:
    """A text in which every character that could steer a terminal is spelt out, of which `keyless` was asked before."""
    return _STEERS.sub(_code, text)


def one_line(text: object, longest: int | None = None) -> str:
    r"""A text as `printable` makes it, on one line; what is longer is cut and says so.

    >>> one_line("a\nb" * 3, 5)
    'a\\nb...'
    """
    line = printable(text).replace("\n", "\\n").replace("\t", "\\t")
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}..."


def brief(value: Any, longest: int = 80) -> str:
    """A value as an error shows it: short, on one line, and never an error of its own.

    >>> brief([1] * 1000), brief("x" * 100, 10)
    ('[1, 1, 1, 1, 1, 1, ...]', "'xxxxxxxxx")
    """
    try:
        shown = _SHORT.repr(value)
    except Exception:  # whatever a foreign object's repr raises
        shown = f"<{type(value).__name__}>"
    return one_line(shown)[:longest]


def quoted(text: str, longest: int = 300) -> str:
    """What a server or a judge says, in quotation marks, as a message holds it; see `heard`."""
    return f"'{heard(text, longest)}'"


def heard(text: str, longest: int | None = None) -> str:
    """What a server or a judge says, as `one_line` makes it; nothing of what holds a key too short to be blacked out.

    Only of the keys that `is_secret_in` names: a server that was sent one may repeat it.
    """
    repeats = any(key in text for key in _held(_held_in) if len(key) < SHORTEST_SECRET)
    return WITHHELD if repeats else one_line(text, longest)


def encodable(text: str) -> str:
    """A text in which lone surrogates are question marks; anything can write it, and any server reads it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def keyless(text: str) -> str:
    """A text in which each access key that the environment holds is blacked out, however it is spelt."""
    spelt = {spelling for secret in _secrets() for spelling in _spellings(secret)}
    for secret in sorted(spelt, key=len, reverse=True):
        text = text.replace(secret, BLACKED)
    return text


def is_secret_in(variable: str) -> None:
    """Say that an environment variable holds something secret; the usual names are known."""
    _held_in.add(variable)


def _secrets() -> set[str]:
    """What the environment holds that is secret, and long enough to be blacked out."""
    names = {name for name in os.environ if name in _held_in or _HELD_IN.fullmatch(name)}
    return {value for value in _held(names) if len(value) >= SHORTEST_SECRET}


def _held(names: Iterable[str]) -> set[str]:
    """What environment variables hold, each as it stands and without the white space around it; no placeholders."""
    held = {os.environ.get(name, "") for name in names}
    held |= {value.strip() for value in held}
    return {value for value in held if value and value.lower() not in PLACEHOLDERS}


def _spellings(secret: str) -> Iterator[str]:
    """A secret as it stands, in a URL, in JSON, and in what Python shows of a text."""
    known = secret.encode("utf-8", "replace")  # of what is no UTF-8, the environment holds lone surrogates
    yield from (secret, quote(known), quote(known, safe=""), quote_plus(known))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1])


def _code(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class _Short(reprlib.Repr):
    """Short, and keyless before anything is cut: half a key would not be found."""

    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(keyless(x), level)


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = 400
_SHORT.maxlong = 60
