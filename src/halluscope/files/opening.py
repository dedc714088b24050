"""Reads the bytes, text and JSON of files, packed by gzip or in a zip, and never more than the limits allow."""

import gzip
import io
import json
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from halluscope import limits
from halluscope.errors import BuildError, MissingExtra
from halluscope.sanitize import one_line, short_repr

# A file or a folder, on disk or inside a zip
Readable = Path | zipfile.Path

PACKED = ".gz"

# The bytes that are read at a time
BIT = 2**20

_GAP = re.compile(r"[ \t\n\r]*")

# The errors of unpacking: RuntimeError means a member with a password, NotImplementedError an unknown method
_DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    struct.error,
    zipfile.BadZipFile,
    RuntimeError,
    NotImplementedError,
)

# The allowed packing methods of a zip's member; zipfile would unpack the others without a bound
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


# Zstandard's number among the packing methods of a zip; zipfile unpacks it only from Python 3.14
ZSTANDARD = 93

# The header before a member's data: its signature, and at its end the lengths of the name and of the extra field
_LOCAL_HEADER = struct.Struct("<4s22xHH")


def json_rows(file: Readable) -> Iterator[tuple[str, Any]]:
    """Yield the location and the value of each row of a file of JSON lines or of one JSON list (.gz too)."""
    yield from rows_of(read_text(file), str(file))


def rows_of(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a text as `json_rows` does, one by one because even a short text may hold millions."""
    most = limits.most("rows")
    is_list = text.startswith("[", after_gap(text))
    if not is_list:
        limits.check("rows", text.count("\n"), where)  # empty lines take time too
    for count, row in enumerate(_entries(text, where) if is_list else _lines(text, where), 1):
        if count > most:
            limits.check("rows", count, where)
        yield (f"{where}, entry {count}", row) if is_list else row


def _lines(text: str, where: str) -> Iterator[tuple[str, Any]]:
    start, number = 0, 0
    while start <= len(text):
        end, number = text.find("\n", start), number + 1
        line = text[start:] if end < 0 else text[start:end]
        if line.strip():
            yield f"{where}, line {number}", parse(line, f"{where}, line {number}")
        start = len(text) + 1 if end < 0 else end + 1


def _entries(text: str, where: str) -> Iterator[Any]:
    decode = json.JSONDecoder(object_pairs_hook=once_each).raw_decode
    place = after_gap(text, text.index("[") + 1)
    try:
        while text[place : place + 1] != "]":
            entry, place = decode(text, place)
            yield entry
            place = after_gap(text, place)
            if text[place : place + 1] != ",":
                break
            place = after_gap(text, place + 1)
            if text[place : place + 1] == "]":
                raise json.JSONDecodeError("Expecting value", text, place)
        if text[place:].strip() != "]":
            raise json.JSONDecodeError("Expecting ',' or the list's end", text, place)
    except (ValueError, RecursionError) as error:
        raise _no_json(text, where, error) from error


def after_gap(text: str, place: int = 0) -> int:
    """Return the index of the next character that is not white space."""
    gap = _GAP.match(text, place)
    return gap.end() if gap else place


def read_json(file: Readable, lean: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Read a file that holds one JSON value (.gz too)."""
    return parse(read_text(file), str(file), lean)


def read_text(file: Readable) -> str:
    """Read a file's text, unpacked if its name ends in .gz."""
    data = bytearray()
    for bit in bits(file):
        data += bit
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BuildError(f"{file} is in UTF-16; expected UTF-8. Save it as UTF-8, or as xlsx.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise no_text(str(file), error) from error


def no_text(where: str, error: UnicodeDecodeError) -> BuildError:
    """Make the error for a text that is not UTF-8."""
    return BuildError(
        f"{where} is not in UTF-8, or is cut off: {error}. Save it as UTF-8, or get the file again."
    )


def read_bytes(file: Readable, limit: str | None = None) -> bytes:
    """Read a file's content, unpacked if its name ends in .gz."""
    return b"".join(bits(file, limit))


def bits(file: Readable, limit: str | None = None, unpack: bool = True) -> Iterator[bytes]:
    """Yield a file's content in pieces of `BIT` bytes, never more than the limit allows."""
    check_file(file)
    packed = unpack and file.suffix.lower() == PACKED
    on_disk = isinstance(file, Path)
    limit = limit or ("file" if on_disk else "unpacked")
    try:
        _check_size(file, limit)
        with file.open("rb") as stream:
            source: Any = gzip.GzipFile(fileobj=stream) if packed else stream  # type: ignore[arg-type]
            yield from within("unpacked" if packed else limit, source, str(file))
    except _DAMAGED as error:
        if on_disk and isinstance(error, PermissionError):
            raise
        raise BuildError(f"{file} cannot be read, or is cut off: {error}. Get the file again.") from error


def members(file: Path, begin: str, end: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of some members of a zip; of members with the same name, the last one counts."""
    check_file(file)
    try:
        with zipfile.ZipFile(file) as archive, file.open("rb") as stream:
            names = [name for name in archive.NameToInfo if name.startswith(begin) and name.endswith(end)]
            limits.check("rows", len(names), str(file))
            for name in names:
                yield name, _content(archive, archive.getinfo(name), stream)
    except (zipfile.BadZipFile, NotImplementedError, struct.error, OSError) as error:
        raise BuildError(f"{file} is not a zip, or is cut off: {error}. Get the file again.") from error


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, stream: IO[bytes]) -> bytes:
    if member.compress_type != ZSTANDARD:
        return read_bytes(zipfile.Path(archive, member.filename))
    name = f"{archive.filename}/{one_line(member.filename, 80)}"
    limits.check("unpacked", max(member.file_size, member.compress_size), name)
    stream.seek(member.header_offset)
    mark, *lengths = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(sum(lengths), io.SEEK_CUR)
    content = _unpacked(stream.read(member.compress_size), name)
    if mark != b"PK\3\4" or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"{short_repr(member.filename)} does not match its checksum")
    return content


def _unpacked(packed: bytes, name: str) -> bytes:
    """Unpack data, no more of it than the limit allows; zstandard unpacks it piece by piece, within bounded memory."""
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtra(
            f"{name} is packed by Zstandard, which needs zstandard ({error}): pip install zstandard. Or convert the "
            "log to JSON where Inspect is installed: inspect log convert LOG --to json --output-dir FOLDER."
        ) from error
    stream = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    try:
        return b"".join(within("unpacked", stream, name))
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(f"{name}: {error}") from error


def check_file(file: Readable) -> None:
    """Check that a path is a regular file: reading a pipe could block, and a device never ends."""
    if file.is_file():
        return
    if not file.exists():
        raise FileNotFoundError(f"There is no file {one_line(str(file))}.")
    what = "a folder" if file.is_dir() else "a pipe or a device"
    raise BuildError(f"{file} is {what}; expected a file. Name a file.")


def _check_size(file: Readable, limit: str) -> None:
    """Check the size that a file states before it is read; the stated size may be too small."""
    if isinstance(file, Path):
        limits.check(limit, file.stat().st_size, str(file))
        return
    member = file.root.getinfo(file.at)
    limits.check(limit, member.file_size, str(file))
    if member.compress_type not in _BOUNDED:
        raise NotImplementedError("it is packed by another method than deflate; pack the archive anew")


def within(limit: str, stream: Any, name: str) -> Iterator[bytes]:
    """Yield the content of a stream in pieces of `BIT` bytes."""
    size = 0
    while bit := stream.read(BIT):
        size += len(bit)
        limits.check(limit, size, name)
        yield bit


def check_once(files: Iterable[Path]) -> None:
    """Check that no file is given twice, through links of any kind."""
    given: dict[Hashable, Path] = {}
    for file in files:
        if (key := same(file)) in given:
            other = "" if given[key] == file else f", also as {given[key]}"
            raise BuildError(f"{file} is given twice{other}; expected each file once. Leave one out.")
        given[key] = file


def same(file: Path) -> Hashable:
    """Return a key that is equal for two paths to the same file or folder, through links of any kind."""
    try:
        found = file.stat()
    except (OSError, ValueError):  # the file does not exist
        return file.absolute()
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
        raise _no_json(text, where, error) from error


def _no_json(text: str, where: str, error: Exception) -> BuildError:
    end = short_repr(text[-200:].strip()[-80:])
    return BuildError(f"{where} is not JSON, or is cut off: {error}; its end is {end}. Get the file again.")


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object from its pairs, as the `object_pairs_hook` of `json.loads`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{short_repr(twice)} occurs twice in one object")
    return found


# Made once: making one takes longer than reading a short row
_DECODER = json.JSONDecoder(object_pairs_hook=once_each)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, whether or not the file exists."""
    try:
        leads_out = not (folder / name).resolve().is_relative_to(folder.resolve())
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # a null byte, half a character, or links in a circle
        raise BuildError(
            f"{short_repr(name)} cannot be a file's name ({error}); expected a path in {folder}."
        ) from error
    if leads_out:
        raise BuildError(
            f"The file name {short_repr(name)} leads out of {folder}; expected a file inside it, also if it is a link."
        )
    return folder / name


def is_there(file: Readable) -> bool:
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
