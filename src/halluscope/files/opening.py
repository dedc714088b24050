"""Reads the bytes, text and JSON of files, packed by gzip or in a zip, and never more than the limits allow."""

import codecs
import gzip
import json
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Any

from halluscope import limits
from halluscope.errors import BuildError, MissingExtra
from halluscope.files import pickles
from halluscope.files.cut_ends import CutEnds, is_cut_off
from halluscope.sanitize import one_line, short_repr

# A file or a folder, on disk or inside a zip
Readable = Path | zipfile.Path

PACKED = ".gz"

# The bytes that are read at a time
CHUNK = 2**20

_GAP, _LINE = re.compile(r"[ \t\n\r]*"), re.compile(r"[^\n]*(?:\n|\Z)")

# The characters that may follow a value of JSON
_AFTER = tuple(" \t\n\r,:]}")

# The errors of unpacking: RuntimeError means a member with a password, or of an unknown method
_DAMAGED = (OSError, EOFError, zlib.error, struct.error, zipfile.BadZipFile, RuntimeError)

# The allowed packing methods of a zip's member; zipfile would unpack the others without a bound
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# Zstandard's number among the packing methods of a zip; zipfile unpacks it only from Python 3.14
ZSTANDARD = 93


def json_rows(file: Readable) -> Iterator[tuple[str, Any]]:
    """Yield the location and the value of each row of a file of JSON lines or of one JSON list (.gz too)."""
    return rows_of(read_text(file), str(file))


def rows_of(text: str, where: str, cut_ends: CutEnds | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a text as `json_rows` does, one by one because even a short text may hold millions.

    `cut_ends` says what becomes of a last row of which a part is missing; without it, the row is an error like another.
    """
    if text.startswith("[", after_gap(text)):
        yield from _rows_of_list(text, where, cut_ends)
        return
    limits.check("rows", text.count("\n"), where)  # empty lines take time too
    is_first = True
    for number, line in enumerate(_LINE.finditer(text), 1):
        if not line[0].strip():
            continue
        place = f"{where}, line {number}"
        try:
            row = parse(line[0], place)
        except BuildError as error:
            is_last = after_gap(text, line.end()) == len(text)
            if cut_ends is None or is_first or not is_last or not is_cut_off(line[0]):
                raise
            cut_ends.leave_out(place, line[0], error)
            return
        is_first = False
        yield place, row


def _rows_of_list(text: str, where: str, cut_ends: CutEnds | None) -> Iterator[tuple[str, Any]]:
    most = limits.most("rows")
    stream = _Stream(where, iter([text]))
    number = 0
    try:
        for entry in stream.whole("[", "a list"):
            number += 1
            if number > most:  # asked once: a check of each row takes longer than reading it
                limits.check("rows", number, where)
            yield f"{where}, entry {number}", entry
    except BuildError as error:
        end = text[stream.position :].strip().removeprefix(",")
        if cut_ends is None or number == 0 or not (end == "" or is_cut_off(end)):
            raise
        cut_ends.leave_out(f"{where}, entry {number + 1}", end or text, error)


def lines(file: Readable, limit: str = "entry") -> Iterator[tuple[str, Any]]:
    """Yield the location and the value of each line of a JSON Lines file (.gz too), holding only a piece of it."""

    def each() -> Iterator[bytes]:
        held = b""
        for chunk in chunks(file):
            *whole, held = (held + chunk).split(b"\n")
            for line in (*whole, held):
                limits.check(limit, len(line), f"A line of {file}")
            yield from whole
        yield held

    for number, line in enumerate(each(), 1):
        where = f"{file}, line {number}"
        limits.check("rows", number, str(file))
        if line.strip():
            yield where, parse(decoded(line, where), where)


def entries(file: Readable) -> Iterator[Any]:
    """Yield the entries of a file that is one JSON list (.gz too), holding only a piece of it."""
    return _Stream(str(file), _pieces(file)).whole("[", "a JSON list")


def entries_of(file: Readable, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of lists in a file that is one JSON object (.gz too), each with the name of its list."""
    several = f"{', '.join(names[:3])} and {len(names) - 3:,} others" if names[4:] else " and ".join(names)
    missing, expected = dict.fromkeys(names), f"an object with lists of {several}, each once"
    stream = _Stream(str(file), _pieces(file))
    for name in stream.whole("{", expected):
        if name not in names:
            stream.value()
        elif name in missing and stream.sign() == "[":
            del missing[name]
            for entry in stream.parts("["):
                yield name, entry
        else:
            what = f"{short_repr(stream.value())}, no list" if name in missing else "there twice"
            raise BuildError(f"{file}: {name} is {what}; expected {expected}.")
    if missing:
        raise BuildError(f"{file} has no {' and no '.join([*missing][:3])}; expected {expected}.")


def _pieces(file: Readable) -> Iterator[str]:
    with _utf_8(str(file)):
        yield from codecs.iterdecode(chunks(file), "utf-8-sig")


class _Stream:
    """A JSON text, read in pieces; only the piece in use is in memory."""

    def __init__(self, where: str, pieces: Iterator[str]) -> None:
        self._where, self._pieces = where, pieces
        # the text in memory, the index of its next character, and how many characters came before it
        self._text, self._at, self._before = "", 0, 0

    @property
    def position(self) -> int:
        """How many characters came before the value or the sign that comes next."""
        return self._before + self._at

    def whole(self, first: str, expected: str) -> Iterator[Any]:
        """Yield the parts of the list or object that is the whole text."""
        if self.sign() != first:
            raise BuildError(f"{self._where} begins with {self._ahead(self._at)}; expected {expected}.")
        yield from self.parts(first)
        if self.sign():
            raise self._error("there is text after its end", self._at)

    def parts(self, first: str) -> Iterator[Any]:
        """Yield the entries of the list that comes next, or the names in an object; the caller reads their values."""
        last = {"[": "]", "{": "}"}[first]
        sign = self._take(first)
        if self.sign() == last:
            sign = self._take(last)
        while sign != last:
            value = self.value()
            if first == "{":
                self._take(":")
            yield value
            sign = self._take(",", last)

    def sign(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        self._at = after_gap(self._text, self._at)
        while self._at == len(self._text) and self._more():
            self._at = after_gap(self._text)
        return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """Read the value that comes next."""
        self.sign()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # so near the end of the piece, or in a string without an end, the value may go on in the next piece
                cut = error.msg.startswith("Unterminated string") or error.pos > len(self._text) - 16
                ahead = error.pos - self._at
                if not (cut and self._more()):
                    raise self._error(error.msg, self._at + ahead) from error
            except (ValueError, RecursionError) as error:  # a name twice, or brackets nested thousands deep
                raise self._error(str(error), self._at) from error
            else:
                length = end - self._at
                # a number may go on in the next piece
                if self._text[end : end + 1] in _AFTER or not self._more():
                    self._at += length
                    return value

    def _take(self, *signs: str) -> str:
        if (sign := self.sign()) not in signs:
            raise self._error(f"expecting {signs[0]!r}", self._at)
        self._at += 1
        return sign

    def _more(self) -> bool:
        """Read on, doubling the text in memory so that a long entry is not parsed over and over; False at the end."""
        held = self._text[self._at :]
        limits.check("entry", len(held), f"An entry of {self._where}")
        more = "".join(islice(self._pieces, 1 + len(held) // CHUNK))
        self._text, self._before, self._at = held + more, self._before + self._at, 0
        return bool(more)

    def _ahead(self, at: int) -> str:
        return short_repr(self._text[at : at + 80])

    def _error(self, what: str, at: int) -> BuildError:
        return BuildError(
            f"{self._where} is not JSON, or is cut off: {what} at character {self._before + at + 1:,}; got "
            f"{self._ahead(at)}. Get the file again."
        )


def after_gap(text: str, index: int = 0) -> int:
    """Return the index of the next character that is not white space."""
    gap = _GAP.match(text, index)
    return gap.end() if gap else index


def read_json(file: Readable, lean: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Read a file that holds one JSON value (.gz too)."""
    return parse(read_text(file), str(file), lean)


def read_text(file: Readable) -> str:
    """Read a file's text, unpacked if its name ends in .gz."""
    return decoded(read_bytes(file), str(file))


def read_text_to_cut(file: Readable) -> str:
    """Read a file's text, without the part of a character in which it is cut off."""
    content = read_bytes(file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            content = error.object[: error.start]
    return decoded(content, str(file))


def decoded(content: bytes, where: str) -> str:
    """Return the text of some bytes."""
    with _utf_8(where):
        return content.decode("utf-8-sig")


@contextmanager
def _utf_8(where: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        if pickles.begins(error.object):
            pickles.refuse(where)
        is_utf_16 = error.object.startswith((b"\xff\xfe", b"\xfe\xff"))
        found = "is in UTF-16; expected UTF-8" if is_utf_16 else f"is not in UTF-8, or is cut off: {error}"
        raise BuildError(f"{where} {found}. Save it as UTF-8, or get the file again.") from error


def read_bytes(file: Readable, limit: str | None = None) -> bytes:
    """Read a file's content, unpacked if its name ends in .gz."""
    return b"".join(chunks(file, limit))


def chunks(file: Readable, limit: str | None = None, unpack: bool = True) -> Iterator[bytes]:
    """Yield a file's content in pieces of `CHUNK` bytes, never more than the limit allows."""
    check_file(file)
    packed = unpack and file.suffix.lower() == PACKED
    try:
        # the size that the file states is checked before it is read, though it may be too small
        if isinstance(file, Path):
            limit, size = limit or "file", file.stat().st_size
        else:
            member = file.root.getinfo(file.at)
            limit, size = limit or "unpacked", member.file_size
            if member.compress_type not in _BOUNDED:
                raise BuildError(f"{file} is packed by another method than deflate; pack the archive anew.")
        limits.check(limit, size, str(file))
        with file.open("rb") as stream:
            source: Any = gzip.GzipFile(fileobj=stream) if packed else stream  # type: ignore[arg-type]
            yield from limited("unpacked" if packed else limit, source, str(file))
    except PermissionError:
        raise
    except _DAMAGED as error:
        raise BuildError(f"{file} cannot be read, or is cut off: {error}. Get the file again.") from error


def members(file: Path, begin: str, end: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of some members of a zip; of members with the same name, the last one counts."""
    check_file(file)
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.NameToInfo if name.startswith(begin) and name.endswith(end)]
            limits.check("rows", len(names), str(file))
            for name in names:
                is_zstandard = archive.getinfo(name).compress_type == ZSTANDARD
                read = _unpacked if is_zstandard else read_bytes
                yield name, read(zipfile.Path(archive, name))
    except _DAMAGED as error:
        raise BuildError(f"{file} is not a zip, or is cut off: {error}. Get the file again.") from error


def _unpacked(file: zipfile.Path) -> bytes:
    """Read a member that is packed by Zstandard, no more of it than the limit allows."""
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtra(
            f"{file} is packed by Zstandard, which needs zstandard ({error}): pip install zstandard. Or convert the "
            "log to JSON where Inspect is installed: inspect log convert LOG --to json --output-dir FOLDER."
        ) from error
    member = file.root.getinfo(file.at)
    limits.check("unpacked", member.file_size, str(file))
    packed = copy(member)  # read as it is stored, as if it were not packed
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, member.compress_size
    del packed.CRC
    with file.root.open(packed) as stored:
        stream = zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)
        try:
            content = b"".join(limited("unpacked", stream, str(file)))
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(f"{file}: {error}") from error
    if zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"{file} does not match its checksum")
    return content


def check_file(file: Readable) -> None:
    """Check that a path is a regular file, and no pickle: reading a pipe could block, and a device never ends."""
    if file.is_file():
        if pickles.is_named_so(file.name):
            pickles.refuse(str(file))
        return
    if not file.exists():
        raise FileNotFoundError(f"There is no file {one_line(str(file))}.")
    what = "a folder" if file.is_dir() else "a pipe or a device"
    raise BuildError(f"{file} is {what}; expected a file. Name a file.")


def limited(limit: str, stream: Any, name: str) -> Iterator[bytes]:
    """Yield the content of a stream in pieces of `CHUNK` bytes."""
    size = 0
    while chunk := stream.read(CHUNK):
        size += len(chunk)
        limits.check(limit, size, name)
        yield chunk


def check_once(each: Iterable[Any], key: Callable[[Any], Hashable] | None = None, what: str = "file") -> None:
    """Check that no file, or no dataset, is given twice, through links of any kind."""
    first: dict[Hashable, Any] = {}
    for entry in each:
        entry_key = (key or file_key)(entry)
        if entry_key in first:
            also = "" if first[entry_key] == entry else f", also as {first[entry_key]}"
            raise BuildError(f"{entry} is given twice{also}; expected each {what} once. Leave one out.")
        first[entry_key] = entry


def file_key(file: Path) -> Hashable:
    """Return a key that is equal for two paths to the same file or folder, through links of any kind."""
    try:
        found = file.stat()
    except OSError:  # the file does not exist
        return os.path.realpath(file)
    except ValueError:  # no file can have this name
        return file
    return found.st_dev, found.st_ino


def leads_out(name: str) -> bool:
    """Whether the name of a file in a folder or an archive leads out of it.

    >>> leads_out("data/a.jpg"), leads_out("../a.jpg"), leads_out("/a.jpg"), leads_out("C:a.jpg")
    (False, True, True, True)
    """
    return name.startswith("/") or "\\" in name or name[1:2] == ":" or ".." in name.split("/")


def parse(text: str, where: str, lean: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Parse a JSON text; of each object, keep what `lean` returns."""
    try:
        if lean is None:
            return _DECODER.decode(text)
        return json.loads(text, object_pairs_hook=lambda pairs: lean(once_each(pairs)))
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested thousands deep
        end = short_repr(text[-200:].strip()[-80:])
        advice = "Get the file again."
        if not text.lstrip().startswith(("{", "[")):
            advice = "Save it as JSON lines, or name a table .csv, .tsv, .parquet or .xlsx."
        raise BuildError(
            f"{where} is not JSON, or is cut off: {error}; its end is {end}. {advice}"
        ) from error


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object from its pairs, as the `object_pairs_hook` of `json.loads`."""
    found = {intern(name): value for name, value in pairs}  # a name that each row has is held once
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{short_repr(twice)} occurs twice in one object")
    return found


# Made once: making one takes longer than reading a short row
_DECODER = json.JSONDecoder(object_pairs_hook=once_each)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, whether or not the file exists."""
    try:
        is_inside = (folder / name).resolve().is_relative_to(folder.resolve())
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # a null byte, half a character, or links in a circle
        raise BuildError(
            f"{short_repr(name)} cannot be a file's name ({error}); expected a path in {folder}."
        ) from error
    if not is_inside:
        raise BuildError(
            f"The file name {short_repr(name)} leads out of {folder}; expected a file inside it, also if it is a link."
        )
    return folder / name


def is_file(file: Readable) -> bool:
    """Whether a file exists; False, not an error, for a name that is too long or invalid."""
    try:
        return file.is_file()
    except OSError:  # the name is too long
        return False


# The endings of files of rows, without `PACKED`; the last one is that of Inspect's logs
ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".eval")


def ending(file: Readable) -> str:
    """Return the one of `ENDINGS` that a file's name has before any ".gz"; "" if it has none."""
    name = file.name.lower().removesuffix(PACKED)
    return next((ending for ending in ENDINGS if name.endswith(ending)), "")


def plain_name(file: Path) -> str:
    """Return a file's name without its endings, which names the LVLM in a table."""
    name = file.stem if file.suffix.lower() == PACKED else file.name
    return name[: len(name) - len(ending(file))]
