"""Makes text from LVLMs, judges, servers and files safe to show: it can neither control a terminal nor reveal an access
key.
"""

import json
import os
import re
import reprlib
import shlex
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

# The fewest characters of an access key that is blacked out; a shorter key could be part of any word.
SHORTEST_SECRET = 8

KEY_VARIABLE = "OPENAI_API_KEY"  # The environment variable whose key is sent to judges' servers

# Words that users give local servers instead of an access key, in lower case.
PLACEHOLDERS = ("none", "empty", "x", "token-abc123")

BLACKED = "[access key]"
WITHHELD = "(withheld: it repeats the access key, which is too short to be blacked out)"

# Names of environment variables that hold something secret.
_SECRET_NAME = re.compile(r"(?:.+_)?(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)

# Control characters other than tab and line feed, other line ends, marks of writing direction, lone surrogates, and
# what XML takes for no character.
_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


def printable(text: object) -> str:
    r"""Black out access keys in a text, and spell out every character that could control a terminal.

    Tabs and line feeds stay: our own messages contain them.

    >>> printable("a\x1b[31mb\r\u202ec\n")
    'a\\x1b[31mb\\x0d\\u202ec\n'
    """
    return spelt(redact(str(text)))


def spelt(text: str) -> str:
    """Spell out every character that could control a terminal, in a text that `redact` has seen already."""
    return _STEERS.sub(_code, text)


def one_line(text: object, longest: int | None = None) -> str:
    r"""Return a text as `printable` makes it, on one line; if it is longer than `longest`, it is cut and ends in "...".

    >>> one_line("a\nb" * 3, 5)
    'a\\nb...'
    """
    line = printable(text).replace("\n", "\\n").replace("\t", "\\t")
    if longest is None or len(line) <= longest:
        return line
    return f"{line[: longest - 1]}..."


def typed(words: Iterable[str]) -> str:
    """Return the words of a command as one types them in a shell.

    >>> typed(["inspect", "my file.json"])
    "halluscope inspect 'my file.json'"
    """
    command = ["halluscope"]
    for word in words:
        command.append(one_line(word))
    return shlex.join(command)


def short_repr(value: Any, longest: int = 80) -> str:
    """Return a value as an error message shows it: short and on one line; showing it never raises an error.

    >>> short_repr([1] * 1000), short_repr("x" * 100, 10)
    ('[1, 1, 1, 1, 1, 1, ...]', "'xxxxxx...")
    """
    try:
        shown = _SHORT.repr(value)
    except Exception:  # whatever a foreign object's repr raises
        shown = f"<{type(value).__name__}>"
    line = one_line(shown)
    if len(line) <= longest:
        return line
    return f"{line[: longest - 3]}..."


def quoted(text: str, longest: int = 300) -> str:
    """Return what a server or a judge says, as `external_text` has it, in quotation marks for a message."""
    return f"'{external_text(text, longest)}'"


def external_text(text: str, longest: int | None = None) -> str:
    """Return what a server or a judge says, as `one_line` makes it.

    A text that repeats a key too short to be blacked out is withheld as a whole. This counts only for the key
    that is sent to servers, because a server may repeat it.
    """
    for key in _values_of([KEY_VARIABLE]):
        if len(key) < SHORTEST_SECRET and key in text:
            return WITHHELD
    return one_line(text, longest)


def encodable(text: str) -> str:
    """Replace lone surrogates by question marks, so that the text can be written and sent anywhere."""
    return text.encode("utf-8", "replace").decode("utf-8")


def redact(text: str) -> str:
    """Black out each access key that the environment holds, however it is spelt in the text."""
    spellings: set[str] = set()
    for secret in _secrets():
        spellings.update(_spellings(secret))
    # a longer one may hold a shorter one
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, BLACKED)
    return text


def _secrets() -> set[str]:
    """Return the secrets in the environment that are long enough to be blacked out."""
    names = [name for name in os.environ if _holds_secret(name)]
    return {value for value in _values_of(names) if len(value) >= SHORTEST_SECRET}


@lru_cache(1000)
def _holds_secret(name: str) -> bool:
    return _SECRET_NAME.fullmatch(name) is not None


def _values_of(names: Iterable[str]) -> set[str]:
    """Return the values of environment variables, as they are and stripped, without empty ones and placeholders."""
    values = set()
    for name in names:
        value = os.environ.get(name, "")
        for spelling in (value, value.strip()):
            if spelling and spelling.lower() not in PLACEHOLDERS:
                values.add(spelling)
    return values


def _spellings(secret: str) -> list[str]:
    """Return a secret as it is, and as it is written in a URL, in JSON, and in Python's `repr`."""
    # bytes that are not UTF-8 are lone surrogates in the environment
    as_bytes = secret.encode("utf-8", "replace")
    return [
        secret,
        quote(as_bytes),
        quote(as_bytes, safe=""),
        quote_plus(as_bytes),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
    ]


def _code(character: re.Match[str]) -> str:
    code = ord(character[0])
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"


class _Short(reprlib.Repr):
    """Shortens values after blacking out keys: half a key would not be found."""

    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(redact(x), level)


_SHORT = _Short()
_SHORT.maxstring = 400
_SHORT.maxother = 400
_SHORT.maxlong = 60
