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
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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

# What to do about a file that is not JSON, and about a name that an object in it has twice
GET_AGAIN = "Get the file again."
WRITE_ONCE = "Only one of its values would count: rename one, or leave it out."

_GAP = re.compile(r"[ \t\n\r]*")
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")

# The characters that may follow a value of JSON
_AFTER = tuple(" \t\n\r,:]}")

_UTF_16 = "is in UTF-16; expected UTF-8. Save it as UTF-8, or get the file again."

_ARROW = (
    "is an Arrow or a Feather file; expected Parquet, or text. Save it as Parquet: read_feather(FILE) of pandas, or "
    "load_from_disk(FOLDER) of the library datasets, and then .to_parquet('FILE.parquet')."
)

# How files begin that are no text in UTF-8 -> what they are, and what to do
_NO_TEXTS = {
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x1f\x8b": "is packed by gzip, but its name does not say so. Let its name end in .gz.",
    b"PK\x03\x04": "is a zip, or a workbook; expected text. Unpack it, or let the workbook's name end in .xlsx.",
    b"ARROW1": _ARROW,
    b"\xff\xff\xff\xff": _ARROW,
    b"PAR1": "is a Parquet file, but its name does not say so. Let its name end in .parquet.",
    b"\xd0\xcf\x11\xe0": "is a workbook of an old Excel; expected .xlsx, or text. Save it as .xlsx or as csv.",
}

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
            several = values_in(line[0], place)
            if several:
                is_first = False
                for value in several:
                    yield place, value
                continue
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
        for entry in stream.lists():
            number += 1
            if number > most:  # asked once: a check of each row takes longer than reading it
                limits.check("rows", number, where)
            yield f"{where}, entry {number}", entry
    except BuildError as error:
        end = text[stream.position :].strip().removeprefix(",")
        if cut_ends is None or number == 0 or not (end == "" or is_cut_off(end)):
            raise
        cut_ends.leave_out(f"{where}, entry {number + 1}", end or text, error)


def entries(file: Readable) -> Iterator[Any]:
    """Yield the entries of a file that is one JSON list (.gz too), holding only a piece of it."""
    return _Stream(str(file), _pieces(file)).whole("[", "a JSON list")


def entries_of(file: Readable, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of lists in a file that is one JSON object (.gz too), each with the name of its list."""
    expected = f"an object with lists of {_enumerated(names)}, each once"
    missing = dict.fromkeys(names)
    stream = _Stream(str(file), _pieces(file))
    for name in stream.whole("{", expected):
        if name not in names:
            stream.value()
            continue
        if name not in missing:
            raise BuildError(f"{file}: {name} is there twice; expected {expected}.")
        if stream.sign() != "[":
            value = short_repr(stream.value())
            raise BuildError(f"{file}: {name} is {value}, no list; expected {expected}.")
        del missing[name]
        for entry in stream.parts("["):
            yield name, entry
    if missing:
        lacks = " and no ".join(list(missing)[:3])
        raise BuildError(f"{file} has no {lacks}; expected {expected}.")


def _enumerated(names: Sequence[str]) -> str:
    """Return names for a message: all of them, or the first three of more than four."""
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3:,} others"
    return " and ".join(names)


def _pieces(file: Readable) -> Iterator[str]:
    with _utf_8(str(file)):
        yield from codecs.iterdecode(chunks(file), "utf-8-sig")


class _Stream:
    """A JSON text, read in pieces; only the piece in use is in memory."""

    def __init__(self, where: str, pieces: Iterator[str]) -> None:
        self._where = where
        self._pieces = pieces
        self._text = ""  # what is in memory
        self._next = 0  # the index in it of the next character
        self._passed = 0  # how many characters came before it

    @property
    def position(self) -> int:
        """How many characters came before the value or the sign that comes next."""
        return self._passed + self._next

    def whole(self, first: str, expected: str) -> Iterator[Any]:
        """Yield the parts of the list or object that is the whole text."""
        if self.sign() != first:
            begin = self._excerpt(self._next)
            raise BuildError(f"{self._where} begins with {begin}; expected {expected}.")
        yield from self.parts(first)
        if self.sign():
            raise self._error("there is text after its end", self._next)

    def lists(self) -> Iterator[Any]:
        """Yield the entries of the lists that are the whole text: a script may write one list per batch."""
        yield from self.parts("[")
        while self.sign() == "[":
            yield from self.parts("[")
        if self.sign():
            raise self._error("there is text after its end", self._next)

    def parts(self, first: str) -> Iterator[Any]:
        """Yield the entries of the list that comes next, or the names in an object; the caller reads their values."""
        last = "}" if first == "{" else "]"
        self._take(first)
        if self.sign() == last:
            self._take(last)
            return
        sign = ","
        while sign == ",":
            value = self.value()
            if first == "{":
                self._take(":")
            yield value
            sign = self._take(",", last)

    def sign(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        self._next = after_gap(self._text, self._next)
        while self._next == len(self._text) and self._read_on():
            self._next = after_gap(self._text)
        return self._text[self._next : self._next + 1]

    def value(self) -> Any:
        """Read the value that comes next."""
        self.sign()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._next)
            except json.JSONDecodeError as error:
                # so near the end of the piece, or in a string without an end, the value may go on in the next piece
                is_cut = error.msg.startswith("Unterminated string") or error.pos > len(self._text) - 16
                distance = error.pos - self._next
                if not is_cut or not self._read_on():
                    raise self._error(error.msg, self._next + distance) from error
            except (ValueError, RecursionError) as error:  # a name twice, or brackets nested thousands deep
                advice = WRITE_ONCE if isinstance(error, NameTwice) else GET_AGAIN
                raise self._error(str(error), self._next, advice) from error
            else:
                length = end - self._next
                # a number may go on in the next piece
                if self._text[end : end + 1] in _AFTER or not self._read_on():
                    self._next += length
                    return value

    def _take(self, *expected: str) -> str:
        sign = self.sign()
        if sign not in expected:
            raise self._error(f"expecting {expected[0]!r}", self._next)
        self._next += 1
        return sign

    def _read_on(self) -> bool:
        """Read on, doubling the text in memory so that a long entry is not parsed over and over; False at the end."""
        rest = self._text[self._next :]
        limits.check("entry", len(rest), f"An entry of {self._where}")
        more = "".join(islice(self._pieces, 1 + len(rest) // CHUNK))
        self._text = rest + more
        self._passed += self._next
        self._next = 0
        return more != ""

    def _excerpt(self, index: int) -> str:
        return short_repr(self._text[index : index + 80])

    def _error(self, problem: str, index: int, advice: str = GET_AGAIN) -> BuildError:
        return BuildError(
            f"{self._where} is not JSON, or is cut off: {problem} at character {self._passed + index + 1:,}; got "
            f"{self._excerpt(index)}. {advice}"
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
        for begin, problem in _NO_TEXTS.items():
            if error.object.startswith(begin):
                raise BuildError(f"{where} {problem}") from error
        raise BuildError(
            f"{where} is not in UTF-8, or is cut off: {error}. Save it as UTF-8, or get the file again."
        ) from error


def read_bytes(file: Readable, limit: str | None = None) -> bytes:
    """Read a file's content, unpacked if its name ends in .gz."""
    return b"".join(chunks(file, limit))


def chunks(file: Readable, limit: str | None = None, unpack: bool = True) -> Iterator[bytes]:
    """Yield a file's content in pieces of `CHUNK` bytes, never more than the limit allows."""
    check_file(file)
    name = str(file)
    try:
        # the size that the file states is checked before it is read, though it may be too small
        if isinstance(file, Path):
            limit = limit or "file"
            size = file.stat().st_size
        else:
            limit = limit or "unpacked"
            size = _member_of(file).file_size
        limits.check(limit, size, name)
        with file.open("rb") as stream:
            if unpack and file.suffix.lower() == PACKED:
                yield from limited("unpacked", gzip.GzipFile(fileobj=stream), name)  # type: ignore[arg-type]
            else:
                yield from limited(limit, stream, name)
    except PermissionError:
        raise
    except _DAMAGED as error:
        raise BuildError(f"{name} cannot be read, or is cut off: {error}. Get the file again.") from error


def _member_of(file: zipfile.Path) -> zipfile.ZipInfo:
    """Return what a zip states of a member that can be unpacked piece by piece."""
    member = file.root.getinfo(file.at)
    if member.compress_type not in _BOUNDED:
        raise BuildError(f"{file} is packed by another method than deflate; pack the archive anew.")
    return member


def limited(limit: str, stream: Any, name: str) -> Iterator[bytes]:
    """Yield the content of a stream in pieces of `CHUNK` bytes."""
    size = 0
    chunk = stream.read(CHUNK)
    while chunk:
        size += len(chunk)
        limits.check(limit, size, name)
        yield chunk
        chunk = stream.read(CHUNK)


def members(file: Path, begin: str, end: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of some members of a zip; of members with the same name, the last one counts."""
    check_file(file)
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.NameToInfo if name.startswith(begin) and name.endswith(end)]
            limits.check("rows", len(names), str(file))
            for name in names:
                member = zipfile.Path(archive, name)
                if archive.getinfo(name).compress_type == ZSTANDARD:
                    yield name, _unpacked(member)
                else:
                    yield name, read_bytes(member)
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
    packed.compress_type = zipfile.ZIP_STORED
    packed.file_size = member.compress_size
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


def file_key(file: Path) -> Hashable:
    """Return a key that is equal for two paths to the same file or folder, through links of any kind."""
    try:
        status = file.stat()
    except OSError:  # the file does not exist
        return os.path.realpath(file)
    except ValueError:  # no file can have this name
        return file
    return status.st_dev, status.st_ino


def check_once(entries: Iterable[Any], key: Callable[[Any], Hashable] = file_key, kind: str = "file") -> None:
    """Check that no file, or no dataset, is given twice, through links of any kind."""
    firsts: dict[Hashable, Any] = {}
    for entry in entries:
        entry_key = key(entry)
        if entry_key not in firsts:
            firsts[entry_key] = entry
            continue
        also = ""
        if firsts[entry_key] != entry:
            also = f", also as {firsts[entry_key]}"
        raise BuildError(f"{entry} is given twice{also}; expected each {kind} once. Leave one out.")


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
        raise BuildError(
            f"{where} is not JSON, or is cut off: {error}; its end is {end}. {_advice(text, error)}"
        ) from error


def _advice(text: str, error: Exception) -> str:
    """Say what to do about a text that is not JSON."""
    if isinstance(error, NameTwice):
        return WRITE_ONCE
    if not text.strip("\0 \r\n\t"):
        return (
            "These are null bytes, which a crash or a full disk leaves behind: remove them, such as by "
            "`tr -d '\\000' < FILE > NEW`, and see that no row is missing."
        )
    if not text.lstrip().startswith(("{", "[")):
        return "Save it as JSON lines, or name a table .csv, .tsv, .parquet or .xlsx."
    if "Extra data" in str(error) and text.rstrip().endswith("}"):
        return "If objects follow each other in it, write each on a line of its own, such as by `jq -c .`."
    return GET_AGAIN


def values_in(text: str, where: str) -> list[Any]:
    """Return the objects that stand one after another in a text, with or without commas between; [] for other texts."""
    most = limits.most("rows")
    values: list[Any] = []
    place = after_gap(text)
    while place < len(text):
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        values.append(value)
        if len(values) > most:
            limits.check("rows", len(values), where)
        place = after_gap(text, place)
        if text.startswith(",", place):
            place = after_gap(text, place + 1)
    return values


class NameTwice(ValueError):
    """An object has a name twice."""


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object from its pairs, as the `object_pairs_hook` of `json.loads`."""
    content = {intern(name): value for name, value in pairs}  # a name that each row has is held once
    if len(content) < len(pairs):
        names = Counter(name for name, _ in pairs)
        twice = names.most_common(1)[0][0]
        raise NameTwice(f"{short_repr(twice)} occurs twice in one object")
    return content


# Made once: making one takes longer than reading a short row
_DECODER = json.JSONDecoder(object_pairs_hook=once_each)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, whether or not the file exists."""
    try:
        is_inside = (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        # a null byte, half a character, or links in a circle
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

# Those of tables whose cells may be texts, and in which an empty text and none look alike
SHEETS = (".csv", ".tsv", ".xlsx")


def ending(file: Readable) -> str:
    """Return the one of `ENDINGS` that a file's name has before any ".gz"; "" if it has none."""
    name = file.name.lower().removesuffix(PACKED)
    for known in ENDINGS:
        if name.endswith(known):
            return known
    return ""


def plain_name(file: Path) -> str:
    """Return a file's name without its endings, which names the LVLM in a table."""
    name = file.name
    if file.suffix.lower() == PACKED:
        name = file.stem
    return name[: len(name) - len(ending(file))]
