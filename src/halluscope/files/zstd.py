"""Reads zips whose members are packed by Zstandard, such as Inspect's logs; zipfile does so only from Python 3.14."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from halluscope import limits
from halluscope.errors import BuildError, MissingExtra
from halluscope.files.opening import check_file, read_bytes, within
from halluscope.sanitize import one_line, short_repr

# Zstandard's number among the packing methods of a zip
ZSTANDARD = 93

# The header before a member's data: its signature, and at its end the lengths of the name and of the extra
# field
_LOCAL_HEADER = struct.Struct("<4s22xHH")

_MARK = b"PK\3\4"


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
    if mark != _MARK or zlib.crc32(content) != member.CRC:
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
