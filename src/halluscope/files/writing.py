"""Writes files and folders: all of them or nothing, never over what was not written for that, one writer at a time."""

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from halluscope.errors import OutputError


@contextmanager
def new_file(path: Path, newline: str | None = None, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Give a text file to write to; it appears at `path` when all of it is on disk, and replaces what lies there.

    What fails or is killed leaves `path` as it was. Half characters are spelt out, as JSON does.

    Raises:
        OSError: if it cannot be written.
    """
    path = path.resolve()  # of a link, what it leads to
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}-")
    unfinished = Path(name)
    os.close(handle)
    try:
        with unfinished.open("w", encoding=encoding, newline=newline, errors="backslashreplace") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_new(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check that a file can be written, before anything is computed: it is not there yet, and its folder takes files.

    Args:
        path: the file to be written.
        inputs: what is read, for a message of its own.

    Raises:
        OutputError: if something lies there.
        OSError: if nothing can be written there.
    """
    if any(is_same(path, given) for given in inputs):
        raise OutputError(f"{path} is read as well; name another file to be written.")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected the name of a new file.")
    if path.exists() or path.is_symlink():
        raise OutputError(f"{path} is there already; name a new file, or remove it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file or folder, through links of any kind, or would."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return one.resolve() == other.resolve()


@contextmanager
def only_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that grows, made if it is missing, for the one process that writes to it.

    Raises:
        OutputError: if another process writes to it.
        OSError: if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if not _lock(file.fileno()):
            raise OutputError(f"Another process writes to {path}; wait for its end, or name a new file.")
        yield file


@contextmanager
def new_folder(path: Path, kept: Iterable[str] = ()) -> Iterator[Path]:
    """Give an empty folder to fill, and put it in `path`'s place at once when it is complete.

    What fails or is killed leaves `path` as it was. What a killed one left beside `path` goes.

    Args:
        path: where the folder goes; what is there already is replaced.
        kept: what lies in `path` and is to lie in the new folder too; names.

    Raises:
        OutputError: if another process makes the same folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.parent / f".{path.name}.unfinished"
    work.mkdir(exist_ok=True)
    handle = os.open(work, os.O_RDONLY)
    if not _lock(handle):
        os.close(handle)
        raise OutputError(f"Another process makes {path}; wait for its end.")
    try:
        shutil.rmtree(work / "new", ignore_errors=True)
        new = work / "new"
        new.mkdir()
        yield new
        for name in kept:
            _link(path / name, new / name)
        _put(new, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(handle)


def _put(new: Path, path: Path) -> None:
    """Put a folder in another's place, so that at no moment there is none."""
    if not path.exists():
        new.rename(path)
    elif not _exchange(new, path):
        old = new.with_name("old")
        path.rename(old)
        new.rename(path)


_EXCHANGE, _HERE = 2, -100
"""Linux's RENAME_EXCHANGE and AT_FDCWD."""


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system has no such step."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):  # a file system without it
        return False
    raise OSError(number, os.strerror(number), str(other))


def _link(source: Path, target: Path) -> None:
    """Give a file or folder a second place, without a copy where the file system can."""
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, copy_function=_link_file)
    else:
        _link_file(str(source), str(target))


def _link_file(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _lock(handle: int) -> bool:
    """Lock a file or folder for this process until it is closed; False if another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _umask() -> int:
    """What new files are denied; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
