"""Gets an upstream file from a path that the user names, or by a download that is checked by sha256.

A zip is never unpacked: its member is read inside it.
"""

import struct
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from halluscope.building.spec import UNKNOWN, Upstream
from halluscope.errors import BuildError, WriteError
from halluscope.files.opening import Readable, check_file, chunks, leads_out
from halluscope.files.writing import naming
from halluscope.paths import cache_folder
from halluscope.sanitize import short_repr
from halluscope.terminal import is_quiet

LONGEST_NAME = 1000  # characters of a name in a zip; zipfile adds an entry for each of the name's folders


class Fetched(NamedTuple):
    """A source that the user has or that was downloaded."""

    path: Readable  # the file or folder to read
    # of the zip, if `path` is a folder in it or its published sum is unknown; None: a folder on disk
    sha256: str | None
    published: bool | None  # whether this is the published sha256; None where one of the two is unknown


def fetch(
    source: Upstream,
    option: str,
    user_path: Path | None = None,
    cache: Path | None = None,
    subset: bool = False,
) -> Fetched:
    """Find a source in what the user named by `option`, or download it; `subset` accepts a file of other content."""
    user_path = user_path or download(source, option, cache)
    path = _locate(source, option, user_path)
    if user_path.is_dir() and path.is_dir():
        return Fetched(path, None, None)
    zipped = path.is_dir() or (source.content_sha256 == UNKNOWN and zipfile.is_zipfile(user_path))
    file, expected = (user_path, source.sha256) if zipped else (path, source.content_sha256)
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


def download(source: Upstream, option: str, cache: Path | None = None) -> Path:
    import pooch

    if source.sha256 == UNKNOWN:
        raise BuildError(
            f"{option} is missing: {source.url} is not downloaded automatically, because its sha256 is unknown and "
            f"the file could not be checked. Download it yourself, and name it with {option}."
        )
    shows_progress = sys.stderr.isatty() and not is_quiet()
    folder, known = cache or cache_folder(), f"sha256:{source.sha256}"
    try:
        with naming(folder):
            return Path(pooch.retrieve(source.url, known, path=folder, progressbar=shows_progress))
    except WriteError:
        raise
    except (OSError, ValueError) as error:
        raise BuildError(
            f"Could not download {source.url}. Try again, or get the file by other means and name it with {option}. "
            f"What went wrong: {error}"
        ) from error


def sha256_of(file: Readable) -> str:
    import hashlib

    if isinstance(file, Path):
        check_file(file)
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    digest = hashlib.sha256()
    for chunk in chunks(file, unpack=False):
        digest.update(chunk)
    return digest.hexdigest()


def _locate(source: Upstream, option: str, user_path: Path) -> Readable:
    name = source.member or source.url.rpartition("/")[2]
    where = f"{option} {user_path}"
    if not user_path.exists():
        raise BuildError(
            f"{where} does not exist; expected the file or folder that you got from {source.url}."
        )
    root: Readable = user_path
    if source.member and user_path.is_file() and zipfile.is_zipfile(user_path):
        _check_members(where, user_path)
        root = zipfile.Path(user_path)
    for path in (root / name, root / Path(name).name, root):
        there = path is root or path.exists()  # `zipfile.Path.exists` is False for the root of a zip
        if there and path.is_dir() == name.endswith("/"):
            return path
    raise BuildError(f"{where} holds no {name}; name the file of {source.url}, or the folder that it is in.")


def _check_members(where: str, archive: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            names = Counter(member.orig_filename for member in opened.infolist())
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        raise BuildError(f"{where} cannot be read: {error}. Get it again.") from error
    for name, count in names.items():
        if leads_out(name) or len(name) > LONGEST_NAME or count > 1:
            raise BuildError(
                f"{where} holds {short_repr(name, 200)}{' twice' * (count > 1)}; expected unique names of at most "
                f"{LONGEST_NAME:,} characters, without '..', backslashes, or a drive or slash in front. Get the "
                "archive from where it is published."
            )
