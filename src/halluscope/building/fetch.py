"""Gets an upstream file from a path that the user names, or by a download that is checked by sha256.

A zip is never unpacked: its member is read inside it.
"""

import hashlib
import struct
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from halluscope.building.spec import UNKNOWN, Upstream
from halluscope.errors import BuildError, WriteError
from halluscope.files.opening import Readable, check_file, chunks, leads_out
from halluscope.files.writing import naming
from halluscope.paths import cache_folder
from halluscope.sanitize import short_repr
from halluscope.terminal import is_quiet

LONGEST_NAME = 1000  # characters of a name in a zip; zipfile adds an entry for each of the name's folders


@dataclass(frozen=True)
class Fetched:
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
    """Find a source in what the user has, or download it.

    Args:
        source: the source.
        option: the option by which the user names it, for messages.
        user_path: the file, its zip, or a folder that holds one of them; None downloads it.
        cache: the folder that keeps downloads; None is the user's cache.
        subset: whether a file of other content than the published one will do.

    Raises:
        BuildError: if the source is not there, cannot be downloaded, or is not the published one.
    """
    if user_path is None:
        user_path = download(source, option, cache)
    elif source.member:
        user_path = _archive_in(user_path, source.url, source.member) or user_path
    path = _locate(source, option, user_path)
    is_folder = path.is_dir()
    if is_folder and user_path.is_dir():
        return Fetched(path, sha256=None, published=None)
    file = path
    expected = source.content_sha256
    if is_folder or (expected == UNKNOWN and zipfile.is_zipfile(user_path)):
        file = user_path
        expected = source.sha256
    sha256 = sha256_of(file)
    if expected == UNKNOWN:
        return Fetched(path, sha256, published=None)
    is_published = sha256 == expected
    if not is_published and not subset:
        where = source.url
        if source.member:
            where += f", member {source.member}"
        raise BuildError(
            f"{file} is not the published file: its sha256 is {sha256}, expected {expected} ({where}). "
            f"Leave {option} out to download it, or pass --subset if you mean to build from a part of it."
        )
    return Fetched(path, sha256, is_published)


def download(source: Upstream, option: str, cache: Path | None = None) -> Path:
    """Download a source's file, unless the cache has it.

    Raises:
        BuildError: if its sha256 is unknown, or it cannot be had.
    """
    import pooch

    if source.sha256 == UNKNOWN:
        raise BuildError(
            f"{option} is missing: {source.url} is not downloaded automatically, because its sha256 is unknown and "
            f"the file could not be checked. Download it yourself, and name it with {option}."
        )
    folder = cache or cache_folder()
    shows_progress = sys.stderr.isatty() and not is_quiet()
    pooch.get_logger().disabled = is_quiet()  # it tells of each download
    try:
        with naming(folder):
            file = pooch.retrieve(
                source.url, f"sha256:{source.sha256}", path=folder, progressbar=shows_progress
            )
    except WriteError:
        raise
    except (OSError, ValueError) as error:
        raise BuildError(
            f"Could not download {source.url}. Try again, or get the file by other means and name it with {option}. "
            f"What went wrong: {error}"
        ) from error
    return Path(file)


def _archive_in(folder: Path, url: str, member: str) -> Path | None:
    """Return the zip of the published name that a folder holds; None if it holds the zip's member itself."""
    archive = folder / url.rpartition("/")[2]
    is_unpacked = (folder / member).exists() or (folder / Path(member).name).exists()
    if is_unpacked or not archive.is_file():
        return None
    return archive


def _locate(source: Upstream, option: str, user_path: Path) -> Readable:
    """Return the source in what the user named: by its published path, by its name alone, or what was named itself."""
    name = source.member or source.url.rpartition("/")[2]
    where = f"{option} {user_path}"
    if not user_path.exists():
        raise BuildError(
            f"{where} does not exist; expected the file or folder that you got from {source.url}."
        )
    root: Readable = user_path
    if user_path.is_file() and user_path.suffix.lower() == ".zip" and not zipfile.is_zipfile(user_path):
        raise BuildError(f"{where} is not a zip, or is cut off. Get it again from {source.url}.")
    if source.member and user_path.is_file() and zipfile.is_zipfile(user_path):
        _check_members(where, user_path)
        root = zipfile.Path(user_path)
    is_folder = name.endswith("/")
    for path in (root / name, root / Path(name).name):
        if path.exists() and path.is_dir() == is_folder:
            return path
    if root.is_dir() == is_folder:
        return root
    raise BuildError(f"{where} holds no {name}; name the file of {source.url}, or the folder that it is in.")


def _check_members(where: str, archive: Path) -> None:
    """Refuse a zip whose names could lead out of it, or stand for two files."""
    try:
        with zipfile.ZipFile(archive) as opened:
            counts = Counter(member.orig_filename for member in opened.infolist())
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        raise BuildError(f"{where} cannot be read: {error}. Get it again.") from error
    for name, count in counts.items():
        if count == 1 and len(name) <= LONGEST_NAME and not leads_out(name):
            continue
        times = ""
        if count > 1:
            times = " twice"
        raise BuildError(
            f"{where} holds {short_repr(name, 200)}{times}; expected unique names of at most {LONGEST_NAME:,} "
            "characters, without '..', backslashes, or a drive or slash in front. Get the archive from where it is "
            "published."
        )


def sha256_of(file: Readable) -> str:
    """Return the sha256 of a file as it is stored: 64 hexadecimal digits."""
    if isinstance(file, Path):
        check_file(file)
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    digest = hashlib.sha256()
    for chunk in chunks(file, unpack=False):
        digest.update(chunk)
    return digest.hexdigest()
