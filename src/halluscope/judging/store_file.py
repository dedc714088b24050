"""The store's file: checked before it is changed, created in one step, and upgraded to the present form."""

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import StoreError
from halluscope.judging import store_records as records
from halluscope.judging.votes import NO, OTHER, YES

APPLICATION, FORM = 0x68616C6C, 3
"""SQLite's application_id and user_version: which program the file belongs to, and which form it has."""

PATIENCE_S = 60
"""How many seconds to wait for another process that writes."""

IN_MEMORY = ":memory:"
"""The path of a store without a file."""

_SCHEMA = f"{records.SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORM};"

_FORM_1 = {
    "judge": "id key",
    "question": "id frame question",
    "text": "id sha256",
    "answer": "judge question text answer",
}
_FORM_2 = _FORM_1 | {"reply": "judge prompt repeat reply"}
_FORM_3 = {
    **{table: _FORM_1[table] for table in records.NAMES},
    "answer": "judge question text answer margin checksum",
    "reply": "judge prompt repeat seed reply checksum",
}
_TABLES = {1: _FORM_1, 2: _FORM_2, 3: _FORM_3}
"""The columns of each table, by form. Form 1 has no replies, form 2 has no checksums."""

_AT_ONCE = 100_000
"""How many votes of an older form are in memory at once."""

_OUTSIDE = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
}
"""SQLite's errors that are about the disk, rights or other processes, and not about the file's content."""

_OTHER_FILE = "name another file (store=..., --store, or the environment variable HALLUSCOPE_STORE)"


def damaged(path: Path, what: object) -> StoreError:
    """Return the error for a store that does not hold what was written to it."""
    return StoreError(
        f"The answer store {path} cannot be used: it is damaged ({what}). Nothing was read from it. Put a copy from "
        f"before the damage in its place, delete it, or {_OTHER_FILE}; what is missing is then asked again."
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of the file into a `StoreError` that says what to do."""
    try:
        yield
    except UnicodeDecodeError as error:  # raised for SQLite's own message if that names a damaged table
        raise damaged(path, error) from error
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        inside = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)
        if inside and (code is None or code & 0xFF not in _OUTSIDE):
            raise damaged(path, error) from error
        raise StoreError(
            f"The answer store {path} cannot be used: {error}. Free space, allow writing, or {_OTHER_FILE}."
        ) from error


def numbers(path: Path, rows: Iterable[Any], dtype: Any) -> NDArray[Any]:
    """Return rows from the file as an array of numbers.

    Raises:
        StoreError: for a value that is not a number.
    """
    try:
        return np.fromiter(rows, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(path, f"a value that is not a number: {error}") from error


def in_memory() -> sqlite3.Connection:
    """Return a store without a file."""
    db = _connect(IN_MEMORY)
    db.executescript(_SCHEMA)
    return db


def to_write(path: Path) -> sqlite3.Connection:
    """Open a store; create it if it is missing, and upgrade it if it is of an older form.

    Raises:
        StoreError: if the file is not a store, is damaged, or is of a later form; nothing is then written to it.
    """
    if str(path) == IN_MEMORY:
        return in_memory()
    with explained(path):
        left = _beside(path)
        if not path.exists():
            _make(path, left)
        elif _is_empty(path):
            _fill(path)
        _look(path)
        with _closed_on_error(_connect(path)) as db:
            if _checked_form(path, db) < FORM:
                _upgrade(path, db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
        return db


def to_read(path: Path) -> sqlite3.Connection:
    """Open a store without writing to it or next to it; a file that does not exist counts as an empty store.

    Raises:
        StoreError: if the file is not a store, is damaged, or is of a later form.
    """
    with explained(path):
        if not path.exists() or _is_empty(path):
            return in_memory()
        _look(path)
        how = "mode=ro" if _beside(path) else "immutable=1"  # beside it: a process writes, or was killed
        with _closed_on_error(_read_only(path, how)) as db:
            return db if _checked_form(path, db) == FORM else _upgraded_copy(path, db)


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


def _execute(db: sqlite3.Connection, statements: str) -> None:
    """Execute statements within a transaction, which `executescript` would end."""
    for statement in filter(str.strip, statements.split(";")):
        db.execute(statement)


def _connect(source: str | Path, uri: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(source, uri=uri, timeout=PATIENCE_S, isolation_level=None)
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _read_only(path: Path, how: str) -> sqlite3.Connection:
    return _connect(f"{path.absolute().as_uri()}?{how}", uri=True)


@contextmanager
def _closed_on_error(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield db
    except BaseException:
        db.close()
        raise


def _beside(path: Path) -> list[Path]:
    """Return SQLite's files of writes that are not yet in the store's file; they are next to that file's real path."""
    real = Path(os.path.realpath(path))
    files = (real.with_name(f"{real.name}-{ending}") for ending in ("wal", "journal"))
    return [file for file in files if file.exists()]


def _make(path: Path, left: list[Path]) -> None:
    """Create an empty store in one step, so that a file is never half a store.

    Args:
        path: the path of a file that does not exist.
        left: files of an earlier store, which SQLite would take for a part of the new one.
    """
    if left:
        names = " and ".join(map(str, left))
        raise StoreError(
            f"{names}: left over from an answer store that is gone. Remove what is left over, or {_OTHER_FILE}."
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
    """Turn an empty file into a store."""
    with closing(_connect(path)) as db, writing(db):
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:  # otherwise another process was faster
            _execute(db, _SCHEMA)


def _put(new: Path, path: Path) -> None:
    """Move a finished file to a path that does not exist yet.

    Raises:
        FileExistsError: if the path exists.
    """
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        with path.open("xb") as file:
            file.write(new.read_bytes())


def _look(path: Path) -> None:
    """Refuse a file that is not a store of halluscope, before SQLite can change it or put a file next to it.

    SQLite itself looks at the file, because opening and closing it in another way would drop this process's locks.
    """
    if not path.is_file():
        raise _foreign(path, "a folder, or not a plain file")
    with closing(_read_only(path, "immutable=1")) as db:
        try:
            application = _pragma(db, "application_id")
        except sqlite3.DatabaseError as error:
            raise _foreign(path, f"not a database that can be read ({error})") from error
        if application != APPLICATION:
            raise _foreign(path, "a database of another program")
        _form(path, db)


def _foreign(path: Path, what: str) -> StoreError:
    return StoreError(
        f"{path} is {what}; expected an answer store of halluscope, or a name that is not in use. It was not "
        f"changed. To keep answers, {_OTHER_FILE}; a store whose first bytes are damaged can be deleted."
    )


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _form(path: Path, db: sqlite3.Connection) -> int:
    form = _pragma(db, "user_version")
    if form not in _TABLES:
        raise StoreError(
            f"{path} is an answer store in format {form}; this version of halluscope reads formats 1 to {FORM}. Use "
            f"the version of halluscope that made it, or {_OTHER_FILE}."
        )
    return form


def _checked_form(path: Path, db: sqlite3.Connection) -> int:
    """Return a store's form, after a check that the store has the tables of that form.

    Form and tables are read in one transaction, because another process may upgrade the store meanwhile.
    """
    if db.in_transaction:
        return _checked_tables(path, db)
    db.execute("BEGIN")
    try:
        return _checked_tables(path, db)
    finally:
        db.execute("ROLLBACK")


def _checked_tables(path: Path, db: sqlite3.Connection) -> int:
    form = _form(path, db)
    for table, columns in _TABLES[form].items():
        there = " ".join(name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,)))
        if there != columns:
            raise damaged(path, f"expected a table {table!r} with the columns {columns!r}, found {there!r}")
    return form


def _upgraded_copy(path: Path, old: sqlite3.Connection) -> sqlite3.Connection:
    """Return a copy in memory of an older store, upgraded to the present form."""
    with closing(old), _closed_on_error(_connect(IN_MEMORY)) as db:
        old.backup(db)
        _upgrade(path, db)
    return db


def _upgrade(path: Path, db: sqlite3.Connection) -> None:
    """Upgrade a store to the present form; an upgrade that is killed or refused leaves the store as it was."""
    with writing(db):
        form = _checked_form(path, db)
        if form == FORM:  # another process has upgraded it
            return
        (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise damaged(path, found)
        old = _TABLES[form]
        for table in old:
            db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        _execute(db, _SCHEMA)
        _take_votes(path, db)
        if "reply" in old:
            _take_replies(path, db)
        for table in old:
            db.execute(f"DROP TABLE old_{table}")


def _take_votes(path: Path, db: sqlite3.Connection) -> None:
    judges, questions, texts = (_take_names(path, db, table) for table in records.NAMES)
    rows = db.execute("SELECT judge, question, text, answer FROM old_answer")
    kinds = [(column, "i8") for column in ("judge", "question", "text", "answer")]
    while len(old := numbers(path, islice(rows, _AT_ONCE), kinds)):
        if not np.isin(old["answer"], (NO, YES, OTHER)).all():
            raise damaged(path, "a vote with an unknown code")
        about = (
            _those(path, judges, old["judge"]),
            _those(path, questions, old["question"]),
            _those(path, texts, old["text"]),
        )
        margins = np.full(len(old), np.nan)
        db.executemany(records.KEEP_VOTE, records.vote_rows(*about, old["answer"], margins))


def _take_names(path: Path, db: sqlite3.Connection, table: str) -> records.Named:
    """Copy a table of names from the older form; the names keep their numbers."""
    words = ", ".join(f"CAST({column} AS BLOB)" for column in records.NAMES[table])
    db.execute(f"INSERT INTO {table} SELECT id, {words} FROM old_{table}")
    rows = db.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    return records.named(numbers(path, (row[0] for row in rows), np.int64), [row[1:] for row in rows])


def _those(path: Path, names: records.Named, ids: records.Ids) -> records.Named:
    """Return the names that have these numbers."""
    if not np.isin(ids, names.ids).all():
        raise damaged(path, "a vote about a name that does not exist")
    return names[np.searchsorted(names.ids, ids)]


def _take_replies(path: Path, db: sqlite3.Connection) -> None:
    rows = db.execute("SELECT judge, key, prompt, repeat, reply FROM old_reply LEFT JOIN judge ON id = judge")
    for judge, key, prompt, repeat, reply in rows:
        try:
            records.text_of(reply)
            checksum = records.reply_checksum(key, prompt, repeat, 0, reply)
        except (AttributeError, TypeError, ValueError) as error:
            raise damaged(path, f"a reply that cannot be read: {error}") from error
        db.execute(records.KEEP_REPLY, (judge, prompt, repeat, 0, reply, checksum))
