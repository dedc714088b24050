"""Who asks: of the processes that share a cache, one asks a request, and the others wait for its reply.

A claim is a row in the cache's file that names its owner. An owner holds a lock on a small file next to the cache. The
operating system takes that lock away when the process ends, however it ends, and the claim is then void; no number of
a process, and no clock, can be mistaken. Nobody waits while he holds claims, so processes cannot wait in a circle.

Claims work where the cache works: among processes of one machine, on a local disk. Several machines need a cache each.
"""

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from halluscope.errors import CacheError

LEAST_WAIT_S = 0.2  # How long a process waits, before it looks again whether another one has the replies

# How many times longer than it looked a process waits: many requests take long to look up
WAIT_PER_LOOK = 20

_TABLE = "CREATE TABLE IF NOT EXISTS claims (key BLOB PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID"

# Opens a transaction that writes to the cache's file; an error is explained to the user
Writing = Callable[[], AbstractContextManager[sqlite3.Connection]]

T = TypeVar("T")


class Claims(Protocol):
    """What one process may ask, while others ask the rest."""

    def take(self, keys: Iterable[bytes]) -> set[bytes]:
        """Claim these keys at once; return those that were free, which are now this process's own."""
        ...

    def release(self) -> None:
        """Give up all claims, whether or not a reply came."""
        ...

    def are_held(self) -> bool:
        """Whether all who held claims at the last `take` still hold them."""
        ...


class Unshared:
    """Claims where no other process can see the replies: everything is free."""

    def take(self, keys: Iterable[bytes]) -> set[bytes]:
        return set(keys)

    def release(self) -> None: ...

    def are_held(self) -> bool:
        return False


class Shared:
    """Claims in the file of a cache."""

    def __init__(self, path: Path, writing: Writing, takes_over: bool) -> None:
        """Claim nothing yet; `takes_over` claims too what others have claimed, because their replies do not count."""
        self._path = Path(os.path.realpath(path))
        self._writing = writing
        self._insert = "REPLACE" if takes_over else "IGNORE"
        self._owner = ""
        self._lock: sqlite3.Connection | None = None
        self._others: set[str] = set()

    def take(self, keys: Iterable[bytes]) -> set[bytes]:
        self.release()
        owner = secrets.token_hex(8)
        with self._writing() as db:
            db.execute(_TABLE)
            self._others = self._living(db)
            self._lock = _locked(self._file_of(owner))
            self._owner = owner
            rows = [(key, owner) for key in keys]
            db.executemany(f"INSERT OR {self._insert} INTO claims VALUES (?, ?)", rows)
            claimed = db.execute("SELECT key FROM claims WHERE owner = ?", (owner,))
            return {key for (key,) in claimed}

    def release(self) -> None:
        if self._lock is None:
            return
        try:
            # if this fails, the claims are void all the same, as soon as the lock is gone
            with suppress(CacheError), self._writing() as db:
                db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
        finally:
            self._lock.close()
            self._lock = None
            self._file_of(self._owner).unlink(missing_ok=True)

    def are_held(self) -> bool:
        return all(_is_locked(self._file_of(owner)) for owner in self._others)

    def _living(self, db: sqlite3.Connection) -> set[str]:
        """Return the owners of claims whose processes live, and remove the claims of the others."""
        living = set()
        for (owner,) in db.execute("SELECT DISTINCT owner FROM claims").fetchall():
            file = self._file_of(owner)
            if _is_locked(file):
                living.add(owner)
            else:
                db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
                file.unlink(missing_ok=True)
        return living

    def _file_of(self, owner: str) -> Path:
        return self._path.with_name(f"{self._path.name}-asking-{owner}")


def turns(
    claims: Claims, keys: Mapping[T, bytes], missing: Callable[[Collection[T]], Collection[T]]
) -> Iterator[list[T]]:
    """Yield the requests to ask now, part by part, while other processes ask the others.

    Each request is yielded at most once: not if another process gets a reply to it, and only when no other process
    asks it. Claims are held while the caller asks, and not while this function waits.

    Args:
        claims: what others ask; the caller releases it if he does not come to the end.
        keys: the requests that had no reply, and what each is found by.
        missing: looks some requests up, and returns those that still have no reply.
    """
    waiting = dict(keys)
    while waiting:
        free = claims.take(waiting.values())
        claimed = [request for request, key in waiting.items() if key in free]
        for request in claimed:
            del waiting[request]
        # a reply may have come between the caller's look and the claim
        still_missing = set(missing(claimed))
        if still_missing:
            yield [request for request in claimed if request in still_missing]
        claims.release()
        while waiting and claims.are_held():
            began = time.monotonic()
            waiting = {request: keys[request] for request in missing(waiting)}
            looked = time.monotonic() - began
            if waiting:
                time.sleep(max(LEAST_WAIT_S, WAIT_PER_LOOK * looked))


def _locked(file: Path) -> sqlite3.Connection:
    """Create a file, and lock it until the connection is closed or the process ends.

    SQLite's locks are the system's on each platform, and several connections of one process exclude each other too.
    """
    lock = sqlite3.connect(file, isolation_level=None)
    lock.execute("PRAGMA journal_mode = OFF")  # nothing is written, so no file of changes is needed
    lock.execute("BEGIN EXCLUSIVE")
    return lock


def _is_locked(file: Path) -> bool:
    """Whether a process that lives has locked this file; not if it is gone."""
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as reader:
            reader.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    return False
