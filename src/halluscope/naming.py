"""Names, in a warning, the file whose responses are scored: a metric gets texts, and does not know their file."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from halluscope.sanitize import one_line

_name: ContextVar[str] = ContextVar("name of the responses", default="")


@contextmanager
def about(name: str) -> Iterator[None]:
    """Name these responses in the warnings of a `with` block."""
    before = _name.set(name)
    try:
        yield
    finally:
        _name.reset(before)


def named(message: str) -> str:
    """Return a message with the name of the responses that it is about, if that is known."""
    name = _name.get()
    return f"{one_line(name)}: {message}" if name else message
