"""The one way to the terminal: what is said there, and what is remarked beside it, whoever's words it holds."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from halluscope.foreign import printable

BARS = ("HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS")
"""Variables of the environment by which libraries show no progress bars, if they are set before these are imported."""

_quiet = False


def say(text: object = "") -> None:
    """Print on standard output: what was asked for."""
    _print(text, sys.stdout)


def say_coloured(parts: Sequence[tuple[str, str]]) -> None:
    """Print the parts of a text on standard output, each in its colour: such as "31", or "" for none.

    There are colours only on a terminal that shows them, unless NO_COLOR is set (https://no-color.org), and none in a
    text of which something has to be spelt out or blacked out.
    """
    plain = "".join(text for text, _ in parts)
    if not _shows_colours(sys.stdout) or printable(plain) != plain:
        return say(plain)
    return _write(
        "".join(f"\x1b[{colour}m{text}\x1b[m" if colour else text for text, colour in parts), sys.stdout
    )


def tell(text: object) -> None:
    """Print on standard error: what should be known beside it, if there is anything, and nobody wants `quiet`."""
    if text and not _quiet:
        alarm(text)


def alarm(text: object) -> None:
    """Print on standard error, whoever wants quiet: what ends in an error."""
    _print(text, sys.stderr)


def tell_error(text: object) -> None:
    """Print a message of ours on standard error; lines after its first are indented, so that none passes for ours."""
    alarm(_message(text))


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Let neither notices nor warnings be told for a while, if that is wanted; errors are."""
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
    """Whether nobody wants notices, warnings, and progress bars."""
    return _quiet


@contextmanager
def tell_warnings() -> Iterator[None]:
    """Let warnings be told as one plain message each, for a while."""
    before = warnings.formatwarning
    warnings.formatwarning = _warning
    try:
        yield
    finally:
        warnings.formatwarning = before


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    said = message if category is UserWarning else f"{category.__name__}: {message}"
    return f"{printable(_message(said))}\n"


def _message(text: object) -> str:
    return f"halluscope: {text}".replace("\n", "\n  ")


def _shows_colours(to: TextIO | None) -> bool:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return to is not None and to.isatty() and not is_plain


def _print(text: object, to: TextIO | None) -> None:
    _write(printable(text), to)


def _write(text: str, to: TextIO | None) -> None:
    """Print what is printable; what nobody reads any more, as beyond `| head`, is let go."""
    if to is None:  # whoever started this closed it
        return
    known = getattr(to, "encoding", None) or "utf-8"
    try:
        print(text.encode(known, "backslashreplace").decode(known), file=to, flush=True)
    except OSError as error:
        _let_go(to)
        if not isinstance(error, BrokenPipeError):
            raise


def _let_go(of: TextIO) -> None:
    """Let what is still to be written go nowhere, Python's own last attempt too."""
    with suppress(OSError):  # there is no file behind it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, of.fileno())
        os.close(nowhere)
