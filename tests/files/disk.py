"""Simulate a full disk, and list a folder's content."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def full(at: int = 0) -> Iterator[None]:
    """Limit the size of files in this process; writing more raises an OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def content(folder: Path) -> dict[str, object]:
    """Return everything in a folder, hidden or not: each file's bytes and identity, and each link's target."""
    return {
        path.relative_to(folder).as_posix(): path.readlink()
        if path.is_symlink()
        else (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }
