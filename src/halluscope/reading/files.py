"""Rows in files: JSON lines or one JSON list, gzipped or not."""

import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError

Readable = Path | zipfile.Path
"""A file or a folder, on disk or inside a zip."""

PACKED = ".gz"


def json_rows(file: Readable) -> Iterator[tuple[str, Any]]:
    """The rows of a file of JSON lines or of one JSON list (.gz too), each with where it stands.

    Raises:
        BuildError: for what is not JSON, or is cut off.
        FileNotFoundError: if there is no such file.
    """
    text = read_text(file)
    if text.lstrip().startswith("["):
        yield from ((f"{file}, entry {i}", row) for i, row in enumerate(parse(text, str(file)), 1))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{file}, line {number}"
            yield where, parse(line, where)


def read_text(file: Readable) -> str:
    """A file's text, unpacked if its name ends in .gz.

    Raises:
        BuildError: for what is cut off, or is not UTF-8.
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


def read_bytes(file: Readable) -> bytes:
    """A file's content, unpacked if its name ends in .gz.

    Raises:
        BuildError: for what is cut off.
        FileNotFoundError: if there is no such file.
    """
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    data = file.read_bytes()
    try:
        return gzip.decompress(data) if file.suffix.lower() == PACKED else data
    except (OSError, EOFError, zlib.error) as error:
        raise BuildError(f"{file} cannot be read, or is cut off: {error}. Get the file again.") from error


def parse(text: str, where: str) -> Any:
    """What a text in JSON says.

    Raises:
        BuildError: for what is not JSON, or is cut off.
    """
    try:
        return json.loads(text, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:  # the latter for brackets in brackets, thousands deep
        raise BuildError(
            f"{where} is not JSON, or is cut off: {error}; got {text.strip()[-80:]!r}."
        ) from error


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.80} stands there twice")
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
