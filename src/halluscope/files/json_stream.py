"""Reads a large JSON file entry by entry or line by line, holding only a piece of it in memory."""

import codecs
import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from halluscope import limits
from halluscope.errors import BuildError
from halluscope.files.opening import BIT, Readable, after_gap, bits, no_text, once_each, parse
from halluscope.sanitize import short_repr


def entries(file: Readable) -> Iterator[Any]:
    """Yield the entries of a file that is one JSON list (.gz too)."""
    text = _Text(file)
    if text.sign() != "[":
        raise BuildError(f"{file} begins with {short_repr(text.ahead())}; expected a JSON list.")
    yield from text.entries()
    text.end()


def entries_of(file: Readable, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of lists in a file that is one JSON object (.gz too), each with the name of its list."""
    text, seen, expected = _Text(file), set[str](), f"expected an object with lists of {_few(names)}"
    if text.sign() != "{":
        raise BuildError(f"{file} begins with {short_repr(text.ahead())}; {expected}.")
    for name in text.names():
        if name in seen:
            raise BuildError(f"{file} holds {short_repr(name)} twice; {expected}, each once.")
        seen.add(name)
        if name not in names:
            text.value()
        elif text.sign() == "[":
            yield from ((name, entry) for entry in text.entries())
        else:
            raise BuildError(f"{file}: {name} is {short_repr(text.value())}; expected a list.")
    text.end()
    if missing := [name for name in names if name not in seen]:
        raise BuildError(f"{file} has no {_few(missing, ' and no ')}; {expected}.")


def _few(names: Sequence[str], joint: str = " and ") -> str:
    """Join names for a sentence; of more than four, only the first three are named."""
    more = [f"{len(names) - 3:,} others"] if len(names) > 4 else []
    return joint.join([*(names[:3] if more else names), *more])


def lines(file: Readable, limit: str = "entry") -> Iterator[tuple[str, Any]]:
    """Yield the location and the value of each line of a JSON Lines file (.gz too); empty lines are skipped."""
    for number, line in enumerate(_lines(file, limit), 1):
        where = f"{file}, line {number}"
        limits.check("rows", number, str(file))
        if line.strip():
            yield where, parse(_text(line.removeprefix(codecs.BOM_UTF8), where), where)


def _lines(file: Readable, limit: str) -> Iterator[bytes]:
    held = b""
    for bit in bits(file):
        *whole, held = (held + bit).split(b"\n")
        for line in (*whole, held):
            limits.check(limit, len(line), f"A line of {file}")
        yield from whole
    yield held


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise no_text(where, error) from error


# The characters that may follow a value
_AFTER = tuple(" \t\n\r,:]}")

_DECODER = json.JSONDecoder(object_pairs_hook=once_each)
# Characters from the end of the text: an error so near may mean that a value goes on in the unread part of
# the file. An unterminated string has an error message of its own, and counts wherever it begins.
_NEAR = 16


class _Text:
    """A file's text, read in pieces; only the piece in use is in memory."""

    def __init__(self, file: Readable) -> None:
        self._name = str(file)
        self._pieces = _pieces(file)
        self._held = ""
        self._at = 0
        self._before = 0

    def sign(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        while True:
            self._at = after_gap(self._held, self._at)
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def ahead(self) -> str:
        """Return the text that comes next, for a message."""
        return self._held[self._at : self._at + 80]

    def entries(self) -> Iterator[Any]:
        """Yield the entries of the list that comes next."""
        return self._parts("[", "]", self.value)

    def names(self) -> Iterator[str]:
        """Yield the names in the object that comes next; the caller must read the value after each name."""
        return self._parts("{", "}", self._name_of_value)

    def value(self) -> Any:
        """Return the value that comes next."""
        self.sign()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                place = self._before + error.pos
                cut = error.msg.startswith("Unterminated string") or error.pos > len(self._held) - _NEAR
                if not (cut and self._more()):
                    raise self._error(error.msg, place) from error
            except (ValueError, RecursionError) as error:
                # a name occurs twice, or brackets are nested thousands deep
                raise self._error(str(error), self._before + self._at) from error
            else:
                length = end - self._at
                if (
                    self._held[end : end + 1] in _AFTER or not self._more()
                ):  # the number may continue in the next piece
                    self._at += length
                    return value

    def end(self) -> None:
        """Check that nothing else comes."""
        if self.sign():
            raise self._error("there is text after its end", self._before + self._at)

    def _name_of_value(self) -> str:
        self._expect('"')
        name: str = self.value()
        self._take(":")
        return name

    def _parts(self, first: str, last: str, read: Any) -> Iterator[Any]:
        self._take(first)
        if self.sign() == last:
            self._take(last)
            return
        while True:
            yield read()
            if self.sign() == last:
                self._take(last)
                return
            self._take(",")

    def _take(self, expected: str) -> None:
        self._expect(expected)
        self._at += 1

    def _expect(self, expected: str) -> None:
        if self.sign() != expected:
            raise self._error(f"expecting {expected!r}", self._before + self._at)

    def _more(self) -> bool:
        """Read on, doubling the text in memory so that a long entry is not parsed over and over; False at the end."""
        self._before += self._at
        held = self._held[self._at :]
        limits.check("entry", len(held), f"An entry of {self._name}")
        more = "".join(islice(self._pieces, 1 + len(held) // BIT))
        self._held, self._at = held + more, 0
        return bool(more)

    def _error(self, what: str, place: int) -> BuildError:
        at = place - self._before
        return BuildError(
            f"{self._name} is not JSON, or is cut off: {what} at character {place + 1:,}; got "
            f"{short_repr(self._held[at : at + 80])}. Get the file again."
        )


def _pieces(file: Readable) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        for bit in chain(bits(file), [b""]):
            if piece := decoder.decode(bit, final=not bit):
                yield piece
    except UnicodeDecodeError as error:
        raise no_text(str(file), error) from error
