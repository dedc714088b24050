"""The cache's SQLite file: looked at before it is changed, and created in one step."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from halluscope.errors import CacheError

# SQLite's application_id and user_version: which program the file belongs to, and which form it has
APPLICATION, FORM = 0x68616C6C, 4

PATIENCE_S = 60  # How many seconds to wait for another process that writes

IN_MEMORY = ":memory:"  # The path of a cache without a file

_SCHEMA = f"""
CREATE TABLE votes (
    judge BLOB NOT NULL, text BLOB NOT NULL CHECK (length(text) = 32),
    votes BLOB NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (judge, text)
);
CREATE TABLE replies (
    judge BLOB NOT NULL, prompt BLOB NOT NULL CHECK (length(prompt) = 32),
    repeat INTEGER NOT NULL, seed INTEGER NOT NULL,
    reply BLOB NOT NULL, checksum BLOB NOT NULL,
    PRIMARY KEY (judge, prompt, repeat, seed)
);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORM};
"""

_COLUMNS = {"votes": "judge text votes checksum", "replies": "judge prompt repeat seed reply checksum"}

# SQLite's errors that are about the disk, rights or other processes, and not about the file's content
_OUTSIDE = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
}

_OTHER_FILE = "name another file (store=..., --store, or the environment variable HALLUSCOPE_STORE)"


def damaged(path: Path, what: object) -> CacheError:
    """Return the error for a cache that does not hold what was written to it."""
    return CacheError(
        f"The cache {path} cannot be used: it is damaged ({what}). Nothing was read from it. Put a copy from before "
        f"the damage in its place, delete it, or {_OTHER_FILE}; what is missing is then asked again."
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of the file into a `CacheError` that says what to do."""
    try:
        yield
    except UnicodeDecodeError as error:  # raised for SQLite's own message if that names a damaged table
        raise damaged(path, error) from error
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        inside = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)
        if inside and (code is None or code & 0xFF not in _OUTSIDE):
            raise damaged(path, error) from error
        raise CacheError(
            f"The cache {path} cannot be used: {error}. Free space, allow writing, or {_OTHER_FILE}."
        ) from error


def in_memory() -> sqlite3.Connection:
    """Return a cache without a file."""
    db = _connect(IN_MEMORY)
    db.executescript(_SCHEMA)
    return db


def to_write(path: Path) -> sqlite3.Connection:
    """Open a cache, or create it if it is missing; nothing is written to a file that is not a cache."""
    if str(path) == IN_MEMORY:
        return in_memory()
    left = _beside(path)
    if not path.exists():
        _make(path, left)
    elif _is_empty(path):
        _fill(path)
    _look(path)
    with _checked(path, _connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    return db


def to_read(path: Path) -> sqlite3.Connection:
    """Open a cache without writing to it or next to it; a file that does not exist counts as an empty cache."""
    if str(path) == IN_MEMORY or not path.exists() or _is_empty(path):
        db = in_memory()
    else:
        _look(path)
        how = "mode=ro" if _beside(path) else "immutable=1"  # beside it: a process writes, or was killed
        with _checked(path, _read_only(path, how)) as db:
            pass
    db.execute("PRAGMA query_only = ON")
    return db


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """Write all of what is inside this context, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _connect(source: str | Path, uri: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(source, uri=uri, timeout=PATIENCE_S, isolation_level=None)
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _read_only(path: Path, how: str) -> sqlite3.Connection:
    return _connect(f"{path.absolute().as_uri()}?{how}", uri=True)


def _beside(path: Path) -> list[Path]:
    """Return SQLite's files of writes that are not yet in the cache's file; they are next to that file's real path."""
    real = Path(os.path.realpath(path))
    files = (real.with_name(f"{real.name}-{ending}") for ending in ("wal", "journal"))
    return [file for file in files if file.exists()]


def _make(path: Path, left: list[Path]) -> None:
    """Create an empty cache in one step, unless SQLite would take what is `left` of an earlier one for a part of it."""
    if left:
        names = " and ".join(map(str, left))
        raise CacheError(
            f"{names}: left over from a cache that is gone. Remove what is left over, or {_OTHER_FILE}."
        )
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=real.parent, prefix=".") as folder, suppress(FileExistsError):
        new = Path(folder, "new")
        with closing(_connect(new)) as db:
            db.executescript(_SCHEMA)
            db.execute("PRAGMA journal_mode = WAL")
        _put(new, real)  # unless another process has created it


def _is_empty(path: Path) -> bool:
    """Whether a file is empty, as `mktemp` makes it."""
    return path.is_file() and not path.stat().st_size


def _fill(path: Path) -> None:
    """Turn an empty file into a cache, statement by statement, because `executescript` would end the transaction."""
    with closing(_connect(path)) as db, writing(db):
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        for statement in () if tables else _SCHEMA.split(";"):  # unless another process was faster
            db.execute(statement)


def _put(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        with path.open("xb") as file:
            file.write(new.read_bytes())


def _look(path: Path) -> None:
    """Refuse a file that is not a cache of halluscope, before SQLite can change it or put a file next to it."""
    # SQLite itself looks at the file, because opening and closing it in another way would drop this process's
    # locks
    if not path.is_file():
        raise _foreign(path, "a folder, or not a plain file")
    with closing(_read_only(path, "immutable=1")) as db:
        try:
            application = _pragma(db, "application_id")
        except sqlite3.DatabaseError as error:
            raise _foreign(path, f"not a database that can be read ({error})") from error
        if application != APPLICATION:
            raise _foreign(path, "a database of another program")
        _check_form(path, db)


def _foreign(path: Path, what: str) -> CacheError:
    return CacheError(
        f"{path} is {what}; expected a cache of halluscope, or a name that is not in use. It was not changed. To keep "
        f"votes and replies, {_OTHER_FILE}; a cache whose first bytes are damaged can be deleted."
    )


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _check_form(path: Path, db: sqlite3.Connection) -> None:
    if (form := _pragma(db, "user_version")) != FORM:
        raise CacheError(
            f"{path} is a cache in format {form}; this version of halluscope reads format {FORM}. Use the version of "
            f"halluscope that made it, or {_OTHER_FILE}."
        )


@contextmanager
def _checked(path: Path, db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        _check_form(path, db)
        for table, columns in _COLUMNS.items():
            there = " ".join(
                name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))
            )
            if there != columns:
                raise damaged(path, f"expected a table {table!r} with the columns {columns!r}, got {there!r}")
        yield db
    except BaseException:
        db.close()
        raise
