"""Gets an upstream file from a path that the user names, or by a download that is checked by sha256.

Nothing is unpacked: a zip's member is read inside the zip, so that no archive can write anywhere. A zip with a member
whose path leads out of it is refused all the same.
"""

import hashlib
import struct
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import pooch

from halluscope.building.spec import UNKNOWN, Source
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, bits, check_file, leads_out
from halluscope.foreign import brief
from halluscope.paths import cache_folder
from halluscope.terminal import is_quiet

LONGEST_NAME = 1000
"""The most characters of a name in a zip; zipfile adds an entry for each of the name's folders."""


@dataclass(frozen=True)
class Fetched:
    """A source that was found or downloaded.

    Attributes:
        path: the file or folder to read.
        sha256: the sha256 of the file; of the whole zip, if `path` is a folder in it or a member whose published sha256
            is unknown; None for a folder on disk.
        published: whether this is the published sha256; None for a folder on disk, which has no sha256, and if the
            published one is unknown.
    """

    path: Readable
    sha256: str | None
    published: bool | None


def fetch(
    source: Source, option: str, given: Path | None = None, cache: Path | None = None, subset: bool = False
) -> Fetched:
    """Find a source in a path from the user, or download it.

    Args:
        source: what is wanted.
        option: the option that names it on the command line, for messages.
        given: the file itself, the zip that holds it, or a folder that holds it.
        cache: the folder that keeps downloads.
        subset: accept a file that is not the published one.

    Raises:
        BuildError: if nothing is found, or the file is not the published one.
    """
    if given is None:
        given = download(source, option, cache)
    path = _locate(source, option, given)
    if given.is_dir() and path.is_dir():
        return Fetched(path, None, None)
    zipped = path.is_dir() or (source.content_sha256 == UNKNOWN and zipfile.is_zipfile(given))
    file, expected = (given, source.sha256) if zipped else (path, source.content_sha256)
    sha256 = sha256_of(file)
    if expected == UNKNOWN:
        return Fetched(path, sha256, None)
    if sha256 != expected and not subset:
        raise BuildError(
            f"{file} is not the published file: its sha256 is {sha256}, expected {expected} "
            f"({source.url}{f', member {source.member}' if source.member else ''}). "
            f"Leave {option} out to download it, or pass --subset if you mean to build from a part of it."
        )
    return Fetched(path, sha256, sha256 == expected)


def download(source: Source, option: str, cache: Path | None = None) -> Path:
    """Download a source, or take it from the cache folder if it was downloaded before.

    Raises:
        BuildError: if it cannot be downloaded or checked, or another file arrived; the message says which was expected.
    """
    if not source.pinned or source.bytes is None:
        raise BuildError(
            f"{option} is missing: {source.url} is not downloaded automatically, because its sha256 is unknown and "
            f"the file could not be checked. Download it yourself, and name it with {option}."
        )
    try:
        file = pooch.retrieve(
            source.url,
            known_hash=f"sha256:{source.sha256}",
            path=cache or cache_folder(),
            downloader=partial(_download, most=source.bytes),
        )
    except (OSError, ValueError) as error:
        raise BuildError(
            f"Could not download {source.url}. Try again, or get the file by other means and name it with {option}. "
            f"What went wrong: {error}"
        ) from error
    return Path(file)


def _download(url: str, name: str, of: Any, most: int) -> None:
    """Download a file for `pooch.retrieve`, but no more bytes than were published."""
    with Path(name).open("wb") as file:
        pooch.HTTPDownloader(progressbar=sys.stderr.isatty() and not is_quiet())(
            url, _Bounded(file, most), of
        )


class _Bounded:
    """A file that accepts a limited number of bytes.

    Raises:
        ValueError: if more arrive; pooch then removes the file.
    """

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._left, self._most = file, most, most

    def write(self, data: bytes) -> None:
        """Write more bytes."""
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(f"more arrived than the {self._most:,} bytes that were published")
        self._file.write(data)

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is closed."""


def sha256_of(file: Readable) -> str:
    """Compute the sha256 of a file, in hexadecimal.

    Raises:
        BuildError: for a member of a zip that cannot be read.
        LimitExceeded: for a member of a zip that is too large.
        FileNotFoundError: if there is no such file.
    """
    if isinstance(file, Path):  # a file on disk may have any size
        check_file(file)
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    digest = hashlib.sha256()
    for bit in bits(file, unpack=False):
        digest.update(bit)
    return digest.hexdigest()


def _locate(source: Source, option: str, given: Path) -> Readable:
    """Find the source's file or folder in the folder, zip or file that the user named."""
    name = source.member or source.url.rpartition("/")[2]
    if not given.exists():
        raise BuildError(
            f"{option} {given} does not exist; expected the file or folder that you got from {source.url}."
        )
    if not (given.is_file() or given.is_dir()):
        raise BuildError(f"{option} {given} is a pipe or a device; expected a file or a folder.")
    zipped = given.is_file() and zipfile.is_zipfile(given)
    if given.is_file() and (source.member is None or not (zipped or name.endswith("/"))):
        return given
    if given.is_file() and not zipped:
        raise BuildError(
            f"{option} {given} is neither a folder nor a zip; expected the files of {source.url}."
        )
    if zipped:
        _check_members(option, given)
    root = zipfile.Path(given) if zipped else given
    for place in (root / name, root / Path(name).name, root):
        there = place is root or place.exists()  # `zipfile.Path.exists` is False for the root of a zip
        if there and (place.is_dir() == name.endswith("/")):
            return place
    raise BuildError(
        f"{option} {given} holds no {name}; name the file of {source.url}, or the folder that it is in."
    )


def _check_members(option: str, archive: Path) -> None:
    """Check that no member of a zip leads out of it, occurs twice, or has a very long name."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = [member.orig_filename for member in opened.infolist()]
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        raise BuildError(f"{option} {archive} cannot be read: {error}. Get it again.") from error
    for wrong, what in (
        ([name for name in names if leads_out(name)], "which leads out of it"),
        (
            [name for name in names if len(name) > LONGEST_NAME],
            f"a name of more than {LONGEST_NAME:,} characters",
        ),
        ([name for name, count in Counter(names).items() if count > 1], "twice"),
    ):
        if wrong:
            raise BuildError(
                f"{option} {archive} holds {brief(wrong[0], 200)}, {what}; expected unique names without '..', "
                "backslashes, or a drive or slash in front. Get the archive from where it is published."
            )
