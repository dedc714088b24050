"""The one way to the terminal: what is said there, and what is remarked beside it, whoever's words it holds."""

import sys
import warnings
from typing import TextIO

from halluscope.foreign import printable


def say(text: object = "", *, flush: bool = False) -> None:
    """Print on standard output: what was asked for."""
    _print(text, sys.stdout, flush)


def tell(text: object) -> None:
    """Print on standard error: what should be known beside it."""
    _print(text, sys.stderr, True)


def tell_warnings() -> None:
    """Let warnings be told as one plain line each."""
    warnings.showwarning = _tell_warning


def _tell_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    tell(f"halluscope: {message}" if category is UserWarning else f"{category.__name__}: {message}")


def _print(text: object, to: TextIO, flush: bool) -> None:
    shown = printable(text)
    known = to.encoding or "utf-8"
    print(shown.encode(known, "backslashreplace").decode(known), file=to, flush=flush)
