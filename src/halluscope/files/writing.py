"""Writes files and folders completely or not at all, and one process at a time.

A folder never replaces other people's files.
"""

import ctypes
import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from halluscope.errors import OutputError, WriteError
from halluscope.files.opening import file_key

# What the system says of a place where nothing more can be written -> what the user can do
REMEDIES = {
    errno.ENOSPC: "Free space there, or name a place on another disk.",
    errno.EDQUOT: "Free space there, or name a place with another quota.",
    errno.EFBIG: "Allow larger files (`ulimit -f`), or name a place on another file system.",
    errno.EROFS: "Name a place that may be written to.",
}

# What is said of a file that is written line by line
KEPT = "What was written before is kept; run the same command again to go on. "

# What JSON allows in a text, but a line of a file or a terminal does not bear
_UNUSUAL = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# Linux's RENAME_EXCHANGE and AT_FDCWD
_EXCHANGE = 2
_WORKING_FOLDER = -100


@contextmanager
def naming(place: object, remark: str = "") -> Iterator[None]:
    """Name the place in errors of a disk to which nothing more can be written, which have no name of their own.

    Args:
        place: the file or folder that is written.
        remark: a sentence about what is there after the error.
    """
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        refused = refusal(error)
        if refused is None:
            raise
        raise not_written(place, refused, remark) from error


def not_written(place: object, refused: OSError, remark: str = "") -> WriteError:
    """Return the error of a place where nothing more can be written."""
    number = refused.errno or 0
    return WriteError(f"{place} cannot be written: {os.strerror(number)}. {remark}{REMEDIES[number]}")


def refusal(error: BaseException | None) -> OSError | None:
    """Return the error of a disk to which nothing more can be written, if it is this error or behind it."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in REMEDIES:
            return error
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def new_file(path: Path) -> Iterator[IO[str]]:
    """Yield a text file that replaces `path` when it is complete on disk; until then `path` stays as it was.

    Lone surrogates are written as escapes, as in JSON.
    """
    path = real(path)
    unfinished = path.with_name(f".{path.name[:100]}-{os.urandom(8).hex()}")
    with _in_its_folder(path):
        file = unfinished.open("x", encoding="utf-8", newline="", errors="backslashreplace")
    with naming(path), _replacing(path, unfinished, file):
        yield file


@contextmanager
def _replacing(path: Path, unfinished: Path, file: IO[str]) -> Iterator[None]:
    try:
        with file:
            yield
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _in_its_folder(path: Path) -> Iterator[None]:
    """Make the folder that a path is in; an error about what is written there names the user's path."""
    try:
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield
    except PermissionError as error:
        raise OutputError(
            f"{path} cannot be written: you may not write to the folder {path.parent}. Name another folder."
        ) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(
            f"{path} cannot be written: {error.filename} is not a folder. Name another folder."
        ) from error


def json_line(row: Any, plain: Callable[[Any], Any] | None = None) -> str:
    """Return a row as a line of a JSON Lines file; `plain` converts values that JSON does not know."""
    return json_text(row, plain) + "\n"


def json_text(value: Any, plain: Callable[[Any], Any] | None = None) -> str:
    """Return a value as JSON on one line; unusual line ends, control characters and lone surrogates are escaped too."""
    text = json.dumps(value, ensure_ascii=False, default=plain)
    return _UNUSUAL.sub(_escaped, text)


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


def check_new(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check, before anything is computed, that a file or folder does not exist yet and can be written.

    `inputs` are files that it must not be, whether or not they exist, such as a cache.
    """
    import tempfile

    if os.path.lexists(path):
        raise OutputError(f"{path} is there already; name a new file or folder, or remove it.")
    for file in inputs:
        if file_key(file) == file_key(path):
            raise OutputError(f"{path} is also an input; name another file to write.")
    with _in_its_folder(path), tempfile.TemporaryFile(dir=path.parent):
        pass


def real(path: Path) -> Path:
    """Return the path that a path leads to through links, whether or not it exists."""
    return Path(os.path.realpath(path))  # unlike `Path.resolve`, it raises no error for links in a circle


@contextmanager
def only_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for appending, as its only writer; a new file that stays empty is removed again."""
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is a folder or not a regular file; expected a file, or a new name.")
    path = real(path)
    is_new = not path.exists()
    with _in_its_folder(path):
        file = path.open("a+b")
    with naming(path, KEPT), file:
        if not _lock(file, path):
            raise OutputError(
                f"Another process is writing to {path}; wait until it ends, or name a new file."
            )
        try:
            yield file
        finally:
            with suppress(OSError):  # closing the file raises the error again
                file.flush()
            if is_new and os.fstat(file.fileno()).st_size == 0:
                path.unlink()


@contextmanager
def new_folder(path: Path, replaced: Callable[[], Collection[str]] = tuple) -> Iterator[Path]:
    """Yield an empty folder to fill; when it is complete, its content is moved into `path` in one step.

    At the end `replaced` names the files and folders in `path` to replace; all others stay, as hard links. If the
    process fails or is killed, `path` stays as it was, and the next call removes the hidden folder that was left.
    """
    path = real(path)
    work = path.parent / f".{path.name}.halluscope-unfinished"
    with naming(path), _alone(work, path):
        _clear(work, path)
        try:
            (work / "new").mkdir()
            yield work / "new"
            names = replaced()
            _put(work / "new", path, names)
        except BaseException:
            _clear(work, path)
            raise
        try:
            _keep_what_came(work, path, names)
            _clear(work, path)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{path} is complete.") from None


@contextmanager
def _alone(work: Path, path: Path) -> Iterator[None]:
    """Make the hidden folder in which a folder is made, as the only process that uses it."""
    if work.is_symlink():
        raise OutputError(f"{work} is a link; expected a folder. Remove it, or name another folder.")
    with _in_its_folder(path):
        work.mkdir(exist_ok=True)
    lock = work / "lock"
    with lock.open("ab") as file:
        if not _lock(file, lock):
            raise OutputError(f"Another process is making {path}; wait until it ends.")
        try:
            yield
        finally:
            lock.unlink()
            with suppress(OSError):  # the folder holds files that we did not write
                work.rmdir()


def _clear(work: Path, path: Path) -> None:
    """Remove unfinished and replaced folders; if a process was killed between two renames, undo the first rename."""
    new = work / "new"
    old = work / "old"
    if new.exists() and old.exists():
        if path.exists():
            raise OutputError(
                f"{old} is {path} as it was before a build that was killed; move it back, or remove it."
            )
        old.rename(path)
    shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _put(new: Path, path: Path, replaced: Collection[str]) -> None:
    """Move the content of a new folder to its path, where a folder may be already."""
    if not path.exists():
        new.rename(path)
        return
    if not replaced:
        _add(new, path)
        return
    _keep(path, new, replaced)
    if not _exchange(new, path):
        path.rename(new.with_name("old"))
        new.rename(path)


def _add(new: Path, path: Path) -> None:
    """Move what is new, hidden files first and folders last; an existing file with the same content stays."""
    import filecmp

    added: list[Path] = []
    try:
        for entry in sorted(new.iterdir(), key=lambda entry: (entry.is_dir(), entry.name)):
            target = path / entry.name
            if not os.path.lexists(target):
                added.append(entry.rename(target))
                continue
            is_same = entry.is_file() and target.is_file() and filecmp.cmp(entry, target, shallow=False)
            if not is_same:
                raise OutputError(f"{target} is there already; move it away, or name another folder.")
    except BaseException:
        for target in added:
            target.rename(new / target.name)
        raise


def _keep(path: Path, new: Path, replaced: Collection[str]) -> None:
    """Link into a new folder what a folder holds beside the names that are replaced."""

    def left_out(folder: str, names: list[str]) -> Collection[str]:
        if folder == str(path):
            return replaced
        return ()

    def link(source: str, target: str) -> None:
        os.link(source, target, follow_symlinks=False)

    try:
        shutil.copytree(path, new, symlinks=True, ignore=left_out, copy_function=link, dirs_exist_ok=True)
    except OSError as error:
        why: object = error
        if isinstance(error, shutil.Error):  # it lists (source, target, why) for each file
            why = error.args[0][0][2]
        raise OutputError(
            f"{path} holds other files, which cannot be kept while it is replaced: {why}. Move them away, or name a "
            "new folder."
        ) from error


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False if the system or the file system cannot."""
    if os.name != "posix":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    status: int = rename(_WORKING_FOLDER, os.fsencode(first), _WORKING_FOLDER, os.fsencode(second), _EXCHANGE)
    return status == 0


def _keep_what_came(work: Path, path: Path, replaced: Collection[str]) -> None:
    """Move over the files that were put into the old folder after `_keep` ran."""
    for file in sorted(work.rglob("*")):
        names = file.relative_to(work).parts[1:]  # without "new" or "old"
        if not names or names[0] in replaced:
            continue
        target = path.joinpath(*names)
        if not os.path.lexists(target):
            file.rename(target)


def _lock(file: IO[bytes], path: Path) -> bool:
    """Lock a file for this process until it is closed; False if another process has locked or just removed it."""
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
