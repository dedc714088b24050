"""Writes files and folders: all of them or nothing, never over what was not written for that, one writer at a time."""

import ctypes
import errno
import filecmp
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from halluscope.errors import OutputError


@contextmanager
def new_file(path: Path, newline: str | None = None, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Give a text file to write to; it appears at `path` when all of it is on disk, and replaces what lies there.

    What fails or is killed leaves `path` as it was. Half characters are spelt out, as JSON does.

    Raises:
        OSError: if it cannot be written.
    """
    path = real(path)
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


def json_line(row: Any, plain: Callable[[Any], Any] | None = None) -> str:
    """A row as a line of a file of JSON lines; `plain` gives what stands there for what JSON does not know."""
    return json_text(row, plain) + "\n"


def json_text(value: Any, plain: Callable[[Any], Any] | None = None) -> str:
    """A value as JSON on one line; JSON itself lets some line ends, control characters and lone surrogates stand."""
    text = json.dumps(value, ensure_ascii=False, default=plain)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


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
    if path.parent.is_file():
        raise OutputError(f"{path} cannot be written, for {path.parent} is a file; expected a folder.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def check_no_folder(path: Path) -> None:
    """Check that nothing lies where a folder is to appear.

    Raises:
        OutputError: if something does.
    """
    if os.path.lexists(path):
        raise OutputError(f"{path} is there already; name a new folder, or remove it.")


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file or folder, through links of any kind, or would."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return real(one) == real(other)


def real(path: Path) -> Path:
    """What a path leads to, through links, there or not."""
    return Path(os.path.realpath(path))  # `Path.resolve` has an error of its own for links in a circle


@contextmanager
def only_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that grows, made if it is missing, for the one process that writes to it.

    A file that was made and stays empty goes again.

    Raises:
        OutputError: if another process writes to it, or it is no file.
        OSError: if it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is a folder or no plain file; expected a file, or a new name.")
    path = real(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = not path.exists()
    with path.open("a+b") as file:
        if not _lock(file, path):
            raise OutputError(f"Another process writes to {path}; wait for its end, or name a new file.")
        try:
            yield file
        finally:
            with suppress(OSError):  # closing says it again
                file.flush()
            if made and not os.fstat(file.fileno()).st_size:
                path.unlink()


@contextmanager
def new_folder(path: Path, replaced: Callable[[], Collection[str]] = tuple) -> Iterator[Path]:
    """Give an empty folder to fill; when it is complete, what it holds goes into `path` in one step.

    What fails or is killed leaves `path` as it was; what a killed one left beside it goes the next time. Other files
    in `path` are neither read nor written: where something is replaced, they get hard links in the new folder.

    Args:
        path: where it goes.
        replaced: is asked when all is complete, and gives the names in `path` that are replaced, files and whole
            folders. Without any, what is new is added to `path`, and what is there stays.

    Raises:
        OutputError: if another process makes the same folder, or another file in it cannot be kept.
        OSError: if it cannot be written.
    """
    path = real(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.parent / f".{path.name}.halluscope-unfinished"
    with _alone(work, path):
        _clear(work, path)
        try:
            (work / "new").mkdir()
            yield work / "new"
            _put(work / "new", path, gone := replaced())
        except BaseException:
            _clear(work, path)
            raise
        try:
            _keep_what_came(work, path, gone)
            _clear(work, path)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{path} is complete.") from None


@contextmanager
def _alone(work: Path, path: Path) -> Iterator[None]:
    """Have a hidden folder for one process."""
    if work.is_symlink():
        raise OutputError(f"{work} is a link, and no folder of ours; remove it, or name another folder.")
    work.mkdir(exist_ok=True)
    lock = work / "lock"
    with lock.open("ab") as file:
        if not _lock(file, lock):
            raise OutputError(f"Another process makes {path}; wait for its end.")
        try:
            yield
        finally:
            lock.unlink()
            with suppress(OSError):  # of what is not ours in it
                work.rmdir()


def _clear(work: Path, path: Path) -> None:
    """Remove what was not finished, and what was replaced; of one killed between two renames, undo the first."""
    new, old = work / "new", work / "old"
    if new.exists() and old.exists():
        if path.exists():
            raise OutputError(f"{old} is what {path} was before a killed build; move it back, or remove it.")
        old.rename(path)
    shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _put(new: Path, path: Path, replaced: Collection[str]) -> None:
    """Put what a folder holds into another, so that at no moment there is half of it."""
    if not path.exists():
        new.rename(path)
    elif not replaced:
        _add(new, path)
    else:
        _keep(path, new, replaced)
        if not _exchange(new, path):
            path.rename(new.with_name("old"))
            new.rename(path)


def _add(new: Path, path: Path) -> None:
    """Move what is new; hidden files first and folders last. A file that is there with the same content stays."""
    added: list[Path] = []
    try:
        for entry in sorted(new.iterdir(), key=lambda entry: (entry.is_dir(), entry.name)):
            there = path / entry.name
            if not os.path.lexists(there):
                added.append(entry.rename(there))
            elif not (entry.is_file() and there.is_file() and filecmp.cmp(entry, there, shallow=False)):
                raise OutputError(f"{there} is there already; move it away, or name another folder.")
    except BaseException:
        for there in added:
            there.rename(new / there.name)
        raise


def _keep(path: Path, new: Path, replaced: Collection[str]) -> None:
    """Give all that is not replaced a place in the new folder too, without a copy.

    Raises:
        OutputError: for what cannot have two places, such as another disk that is mounted there.
    """

    def left_out(folder: str, names: list[str]) -> Collection[str]:
        return replaced if folder == str(path) else ()

    try:
        shutil.copytree(path, new, symlinks=True, ignore=left_out, copy_function=_link, dirs_exist_ok=True)
    except OSError as error:
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise OutputError(
            f"{path} holds other files, which cannot be kept while it is replaced: {why}. Move them away, or name a "
            "new folder."
        ) from error


def _link(source: str, target: str) -> None:
    os.link(source, target, follow_symlinks=False)


def _keep_what_came(work: Path, path: Path, replaced: Collection[str]) -> None:
    """Move over what somebody put into the old folder after `_keep`."""
    for file in sorted(work.rglob("*")):
        _, *name = file.relative_to(work).parts  # less "new" or "old"
        if name and name[0] not in replaced and not os.path.lexists(path.joinpath(*name)):
            file.rename(path.joinpath(*name))


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


def _lock(file: IO[bytes], path: Path) -> bool:
    """Lock a file for this process until it is closed; False if another process holds it, or has just removed it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # a file system without locks
        return True


def _umask() -> int:
    """What new files are denied; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
