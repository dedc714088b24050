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
    plain = "".join([text for text, _ in parts])
    if not _shows_colours(sys.stdout) or printable(plain) != plain:
        say(plain)
        return
    coloured = ""
    for text, colour in parts:
        if colour:
            coloured += f"\x1b[{colour}m{text}\x1b[m"
        else:
            coloured += text
    _write(coloured, sys.stdout)


def _shows_colours(stream: TextIO | None) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


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
def quiet(enabled: bool = True) -> Iterator[None]:
    """Silence notices, warnings and progress bars; errors are still printed."""
    global _quiet
    if not enabled:
        yield
        return
    quiet_before = _quiet
    bars_before = {name: os.environ.get(name) for name in BARS}
    _quiet = True
    for name in BARS:
        os.environ[name] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _quiet = quiet_before
        for name, value in bars_before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def is_quiet() -> bool:
    """Whether notices, warnings and progress bars are off."""
    return _quiet


def hides_bars() -> bool | None:
    """Return what tqdm takes as `disable`: True if `quiet` is on; None hides bars only where nobody sees them."""
    if _quiet:
        return True
    return None


@contextmanager
def tell_warnings() -> Iterator[None]:
    """Print each warning as one plain message inside a `with` block."""

    def plain(message: Warning | str, category: type[Warning], *_: object) -> str:
        text = str(message)
        if category is not UserWarning:
            text = f"{category.__name__}: {message}"
        return f"{printable(_message(text))}\n"

    before = warnings.formatwarning
    warnings.formatwarning = plain  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = before


def _message(text: object) -> str:
    return f"halluscope: {text}".replace("\n", "\n  ")


def _write(text: str, stream: TextIO | None) -> None:
    """Print, unless nothing reads the output any more, as after `| head`."""
    if stream is None:  # the calling process closed it
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    writable = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        print(writable, file=stream, flush=True)
    except OSError as error:
        with suppress(OSError):  # discard what Python would flush at exit; perhaps it has no file descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        # of an error that cannot be told, the exit status is left
        if stream is not sys.stderr and not isinstance(error, BrokenPipeError):
            raise OSError(
                f"The output cannot be written: {error.strerror}. Send it to a place with room."
            ) from error
