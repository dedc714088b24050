"""A disk that is full, and what lies in a folder."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def full(at: int = 0) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes: what is written there ends in an OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def content(folder: Path) -> dict[str, object]:
    """All that lies in a folder, hidden or not: a file's bytes and which file it is, where a link leads."""
    return {
        path.relative_to(folder).as_posix(): path.readlink()
        if path.is_symlink()
        else (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }
