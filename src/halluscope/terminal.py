"""Prints all that this package prints: results on standard output, notices and errors on standard error."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from halluscope.sanitize import printable

BARS = ("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS")
"""Environment variables that turn off a library's progress bars, if set before the library is imported."""

_quiet = False


def say(text: object = "") -> None:
    """Print a result, which the user asked for, on standard output."""
    _write(printable(text), sys.stdout)


def say_coloured(parts: Sequence[tuple[str, str]]) -> None:
    """Print the parts of a text on standard output, each with its ANSI colour, such as "31", or "" for no colour.

    Colours appear only on a terminal that shows them, and not if NO_COLOR is set (https://no-color.org) or if any
    character of the text has to be spelt out or blacked out.
    """
    plain, to = "".join(text for text, _ in parts), sys.stdout
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if to is None or not to.isatty() or is_plain or printable(plain) != plain:
        return say(plain)
    coloured = (f"\x1b[{colour}m{text}\x1b[m" if colour else text for text, colour in parts)
    return _write("".join(coloured), to)


def tell(text: object) -> None:
    """Print a notice on standard error, unless it is empty or `quiet` is on."""
    if text and not _quiet:
        alarm(text)


def alarm(text: object) -> None:
    """Print on standard error even if `quiet` is on."""
    _write(printable(text), sys.stderr)


def tell_error(text: object) -> None:
    """Print an error, later lines indented, so that none looks like a new message."""
    alarm(_message(text))


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Silence notices, warnings and progress bars; errors are still printed."""
    global _quiet
    if not wanted:
        yield
        return
    before, held = _quiet, {name: os.environ.get(name) for name in BARS}
    _quiet = True
    os.environ.update(dict.fromkeys(BARS, "1"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _quiet = before
        for name, value in held.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def is_quiet() -> bool:
    """Whether notices, warnings and progress bars are off."""
    return _quiet


@contextmanager
def tell_warnings() -> Iterator[None]:
    """Print each warning as one plain message inside a `with` block."""

    def plain(message: Warning | str, category: type[Warning], *_: object) -> str:
        said = message if category is UserWarning else f"{category.__name__}: {message}"
        return f"{printable(_message(said))}\n"

    before = warnings.formatwarning
    warnings.formatwarning = plain  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = before


def _message(text: object) -> str:
    return f"halluscope: {text}".replace("\n", "\n  ")


def _write(text: str, to: TextIO | None) -> None:
    """Print, unless nothing reads the output any more, as after `| head`."""
    if to is None:  # the calling process closed it
        return
    known = getattr(to, "encoding", None) or "utf-8"
    try:
        print(text.encode(known, "backslashreplace").decode(known), file=to, flush=True)
    except OSError as error:
        with suppress(OSError):  # discard what Python would flush at exit; perhaps it has no file descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, to.fileno())
            os.close(nowhere)
        # of an error that cannot be told, the exit status is left
        if to is not sys.stderr and not isinstance(error, BrokenPipeError):
            raise OSError(
                f"The output cannot be written: {error.strerror}. Send it to a place with room."
            ) from error
