"""Opens files: their bytes, text and JSON, packed or in a zip, never more of them than the limits allow."""

import gzip
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from halluscope import limits
from halluscope.errors import BuildError
from halluscope.foreign import brief

Readable = Path | zipfile.Path
"""A file or a folder, on disk or inside a zip."""

PACKED = ".gz"

_DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)
"""What unpacking raises: RuntimeError for a member with a password, NotImplementedError for an unknown method."""


def json_rows(file: Readable) -> Iterator[tuple[str, Any]]:
    """The rows of a file of JSON lines or of one JSON list (.gz too), each with where it stands.

    Raises:
        BuildError: for what is not JSON, or is cut off.
        LimitExceeded: for a file that is too large.
        FileNotFoundError: if there is no such file.
    """
    text = read_text(file)
    if text.lstrip().startswith("["):
        rows = parse(text, str(file))
        yield from ((f"{file}, entry {i}", row) for i, row in enumerate(rows, 1))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{file}, line {number}"
            yield where, parse(line, where)


def read_json(file: Readable) -> Any:
    """What a file of one JSON value says (.gz too).

    Raises:
        BuildError: for what is not JSON, or is cut off.
        LimitExceeded: for a file that is too large.
        FileNotFoundError: if there is no such file.
    """
    return parse(read_text(file), str(file))


def read_text(file: Readable) -> str:
    """A file's text, unpacked if its name ends in .gz.

    Raises:
        BuildError: for what is cut off, or is not UTF-8.
        LimitExceeded: for a file that is too large.
        FileNotFoundError: if there is no such file.
    """
    data = read_bytes(file)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BuildError(f"{file} is in UTF-16; expected UTF-8. Save it as UTF-8, or as xlsx.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BuildError(
            f"{file} is not in UTF-8, or is cut off: {error}. Save it as UTF-8, or get the file again."
        ) from error


def read_bytes(file: Readable, limit: str | None = None) -> bytes:
    """A file's content, unpacked if its name ends in .gz.

    Args:
        file: on disk, or a member of a zip.
        limit: its name (default: "file" for one on disk, "unpacked" for a member); what a .gz holds is "unpacked".

    Raises:
        BuildError: for what is cut off, or cannot be unpacked.
        LimitExceeded: for a file that is too large.
        FileNotFoundError: if there is no such file.
    """
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    on_disk = isinstance(file, Path)
    try:
        with file.open("rb") as stream:
            if file.suffix.lower() == PACKED:
                with gzip.open(stream) as unpacked:  # type: ignore[arg-type]
                    return _within("unpacked", unpacked, str(file))
            return _within(limit or ("file" if on_disk else "unpacked"), stream, str(file))  # type: ignore[arg-type]
    except _DAMAGED as error:
        if on_disk and isinstance(error, PermissionError):
            raise
        raise BuildError(f"{file} cannot be read, or is cut off: {error}. Get the file again.") from error


def _within(limit: str, stream: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    """What a stream holds; no more than the limit is ever in memory."""
    data = stream.read(limits.most(limit) + 1)
    limits.check(limit, len(data), name)
    return data


def parse(text: str, where: str) -> Any:
    """What a text in JSON says.

    Raises:
        BuildError: for what is not JSON, is cut off, or holds a name twice in one object.
    """
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except (ValueError, RecursionError) as error:  # the latter for brackets in brackets, thousands deep
        raise BuildError(
            f"{where} is not JSON, or is cut off: {error}; got {brief(text.strip()[-80:])}."
        ) from error


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, as `json.loads` takes it for `object_pairs_hook`.

    Raises:
        ValueError: for a name that stands in it twice, of which only the last would count.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{brief(twice)} stands there twice")
    return found


ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
"""What the name of a file of rows may end in, before `PACKED`."""


def ending(file: Path) -> str:
    """What a file's name ends in, less ".gz"; "" for none of `ENDINGS`."""
    name = file.name.lower().removesuffix(PACKED)
    return next((ending for ending in ENDINGS if name.endswith(ending)), "")


def plain_name(file: Path) -> str:
    """A file's name without its endings; names an LVLM in a table."""
    name = file.stem if file.suffix.lower() == PACKED else file.name
    return name[: len(name) - len(ending(file))]
