"""The cache of votes and replies, by what was asked: a second run asks nothing, and a killed run goes on.

The cache is one SQLite file. All votes of a judge about a text are one record, each reply is another. A record's
checksum covers what it is found by and what it says, so damage is an error and never a different vote or reply. Several
processes may share the file (on a local disk: SQLite's write-ahead log does not work over a network file system). A
file is looked at before it is changed, and a new one is created in one step.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import CacheError
from halluscope.inputs import word
from halluscope.judging.judge import Margins, Pairs
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED, VoteResult
from halluscope.paths import cache_folder
from halluscope.sanitize import short_repr

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

# SQLite's errors that are about the disk, rights or other processes, and not about the file's content
_OUTSIDE = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
}

_OTHER_FILE = "name another file (store=..., --store, or the environment variable HALLUSCOPE_STORE)"

MODES = ("write", "read", "refresh")

# A prompt or its sha256, the number of its repeat, and the seed of the reply, which is 0 if there is none
Request = tuple[str, int, int] | tuple[bytes, int, int]

R = TypeVar("R", bound=Request)

# What a record is found by: a judge's key and a text's sha256, or a judge's key and a `Request` with a sha256
Key = tuple[Any, ...]

# A vote in the record of a judge and a text; a question stands there by 64 bits of its digest
VOTE = np.dtype([("question", "<u8"), ("code", "i1"), ("margin", "<f8")])

_UTF8 = ("utf-8", "surrogatepass")  # texts may hold lone surrogates

_FIND = {
    "votes": "SELECT votes, checksum FROM votes WHERE judge = ? AND text = ?",
    "replies": "SELECT reply, checksum FROM replies WHERE judge = ? AND prompt = ? AND repeat = ? AND seed = ?",
}
_KEEP_VOTES = """
INSERT INTO votes VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET votes = excluded.votes, checksum = excluded.checksum
"""
_KEEP_REPLY = "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_REPLACE_REPLY = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)"


def default_path() -> Path:
    """Return the file that HALLUSCOPE_STORE names, else `answers.sqlite` in the user's cache folder."""
    named = os.environ.get("HALLUSCOPE_STORE")
    return Path(named) if named else cache_folder() / "answers.sqlite"


class Cache:
    """Votes and replies in one file, which is opened when it is first used.

    The mode "write" creates a missing file, and replaces no vote and no reply; "read" writes nothing to the file or
    next to it, and a missing file holds nothing; "refresh" finds only what came through this object and the replies in
    `fresh`, and replaces what was there. With an `export` (`judging.batch.BatchExport`), requests for
    what is missing are written down, not sent.

    Any method raises `CacheError` if the file is not a cache, is damaged, or cannot be written.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        mode: str = "write",
        export: Any = None,
        fresh: Iterable[Key] = (),
    ) -> None:
        if path is not None and (not isinstance(path, str | Path) or "\0" in str(path)):
            raise CacheError(f"store is {short_repr(path)}; expected the name of a file.")
        self.path = default_path() if path is None else Path(path)
        self.mode, self.export = word("mode", mode, MODES), export
        self._fresh = {*fresh}

    def votes(
        self, judge: str, questions: Sequence[Question], texts: Sequence[str | bytes]
    ) -> tuple[NDArray[np.int8], Margins]:
        """Return a judge's votes [texts, questions], `UNASKED` if there is none, and their margins, NaN if unknown."""
        with _explained(self.path):
            records = [self._votes((judge, sha256(text))) for text in texts]
        votes = np.frombuffer(b"".join(records), VOTE)
        row = np.repeat(np.arange(len(texts)), np.fromiter(map(len, records), np.intp) // VOTE.itemsize)
        digests, column = np.unique(_digests(questions), return_inverse=True)
        codes = np.full((len(texts), len(digests)), UNASKED, dtype=np.int8)
        margins = np.full(codes.shape, np.nan)
        if len(digests):
            at = np.searchsorted(digests, votes["question"]).clip(max=len(digests) - 1)
            asked = digests[at] == votes["question"]
            cells = row[asked], at[asked]
            codes[cells], margins[cells] = votes["code"][asked], votes["margin"][asked]
        return codes[:, column], margins[:, column]

    def keep_votes(
        self,
        judge: str,
        questions: Sequence[Question],
        texts: Sequence[str | bytes],
        pairs: Pairs,
        codes: NDArray[np.int8],
        margins: Margins | None = None,
    ) -> None:
        """Keep the votes on `pairs` of a text and a question, [n, 2], all or none; on return they are in the file."""
        if not len(pairs):
            return
        asked, number = np.unique(pairs[:, 1], return_inverse=True)
        new = np.empty(len(pairs), VOTE)
        new["question"] = _digests([questions[column] for column in asked])[number]
        new["code"], new["margin"] = codes, np.nan if margins is None else margins
        order = np.lexsort((new["question"], pairs[:, 0]))
        new, row = new[order], pairs[order, 0]
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        with self._writing() as db:
            for text, votes in zip(row[starts].tolist(), np.split(new, starts[1:]), strict=True):
                key = judge, sha256(texts[text])
                db.execute(_KEEP_VOTES, _record(key, _joined(self._votes(key), votes)))
                self._refresh(key)

    def replies(self, judge: str, requests: Iterable[R]) -> dict[R, str]:
        """Return the replies of the judge with this key, by request; those that are missing are left out."""
        with _explained(self.path):
            replies = {request: self._find("replies", _reply_key(judge, request)) for request in requests}
        return {request: data.decode(*_UTF8) for request, data in replies.items() if data is not None}

    def keep_replies(self, judge: str, replies: Mapping[R, str], replace: bool = False) -> None:
        """Keep these replies, all or none; on return they are in the file, with only the sha256 of a prompt."""
        keys = [_reply_key(judge, request) for request in replies]
        records = [_record(key, _utf8(reply)) for key, reply in zip(keys, replies.values(), strict=True)]
        with self._writing() as db:
            db.executemany(_REPLACE_REPLY if replace or self.mode == "refresh" else _KEEP_REPLY, records)
            self._refresh(*keys)

    @property
    def is_read(self) -> bool:
        """Whether nothing can be kept, so that no judge is asked for replies to whole prompts."""
        return self.mode == "read"

    def count(self) -> tuple[int, int]:
        """Return how many votes and how many replies there are."""
        counts = f"SELECT (SELECT total(length(votes)) / {VOTE.itemsize} FROM votes), (SELECT count(*) FROM replies)"
        with _explained(self.path):
            votes, replies = self._db.execute(counts).fetchone()
        return int(votes), int(replies)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if "_db" in vars(self):
            self._db.close()
            del self._db

    @cached_property
    def _db(self) -> sqlite3.Connection:
        reads, there = self.mode == "read", str(self.path) != IN_MEMORY
        if there and not _is_content(self.path):
            if reads:
                there = False
            else:
                _create(self.path)
        if not there:
            db = _connect(IN_MEMORY)
            db.executescript(_SCHEMA)
        else:
            _look(self.path)
            how = "mode=rw" if not reads else "mode=ro" if _beside(self.path) else "immutable=1"
            db = _connect(self.path, how)
            try:
                _check_form(self.path, db)  # again, because it may stand in the log
                if not reads:
                    db.execute("PRAGMA journal_mode = WAL")
                    db.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                db.close()
                raise
        if reads:
            db.execute("PRAGMA query_only = ON")
        return db

    def _votes(self, key: Key) -> bytes:
        return self._find("votes", key) or b""

    def _find(self, table: str, key: Key) -> bytes | None:
        if self.mode == "refresh" and key not in self._fresh:
            return None
        judge, *rest = key
        row = self._db.execute(_FIND[table], (_utf8(judge), *rest)).fetchone()
        if row is None:
            return None
        data, checksum = row
        if not isinstance(data, bytes) or _record(key, data)[-1] != checksum:
            raise _damaged(self.path, f"one of the {table} is not the one that was kept")
        return data

    def _refresh(self, *keys: Key) -> None:
        if self.mode == "refresh":
            self._fresh.update(keys)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of what is inside this context, or nothing."""
        with _explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


class Record(Cache):
    """The cache of one run: it notes what passes to and from `source`, or holds all that was said."""

    def __init__(
        self, source: Cache | None = None, poll: VoteResult | None = None, judge: Any = None
    ) -> None:
        super().__init__(source.path if source else IN_MEMORY, export=source.export if source else None)
        self.source, self.poll, self.judge = source, poll, judge
        self.missing: dict[Request, None] = {}  # prompts without a reply, if `source` is only read
        self._replies: dict[Key, str] = {}

    @property
    def is_read(self) -> bool:
        return self.source is None or self.source.is_read

    def finished(self, texts: Sequence[int] | None = None) -> "Record":
        """Return a record that is only read; its votes can be cut to some of the texts."""
        record = copy(self)
        record.source = record.export = None
        if self.poll and texts is not None:
            record.poll = replace(self.poll, votes=self.poll.votes[[*texts]])
        return record

    def votes(self, *asked: Any) -> tuple[NDArray[np.int8], Margins]:
        assert self.source is not None, "a poll is read as a whole"
        return self.source.votes(*asked)

    def keep_votes(self, *votes: Any) -> None:
        assert self.source is not None, "nobody is asked"
        self.source.keep_votes(*votes)

    def replies(self, judge: str, requests: Iterable[R]) -> dict[R, str]:
        requests = list(requests)
        if self.source:
            replies = self.source.replies(judge, requests)
            self._note(judge, replies)
            if self.source.is_read:
                self.missing |= dict.fromkeys(request for request in requests if request not in replies)
            return replies
        known = ((request, self._replies.get(_reply_key(judge, request))) for request in requests)
        return {request: reply for request, reply in known if reply is not None}

    def keep_replies(self, judge: str, replies: Mapping[R, str], replace: bool = False) -> None:
        self._note(judge, replies)
        if self.source:
            self.source.keep_replies(judge, replies, replace)

    def count(self) -> tuple[int, int]:
        return 0, len(self._replies)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the replies of `judge`, as a run's folder holds them: a prompt by its sha256."""
        for (judge, prompt, repeat, seed), reply in self._replies.items():
            if judge == self.judge.key:
                yield {"prompt": prompt.hex(), "repeat": repeat, "seed": seed, "reply": reply}

    def read(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Read replies that `lines` yielded."""
        for row in lines:
            request = bytes.fromhex(row["prompt"]), row["repeat"], row["seed"]
            self._note(self.judge.key, {request: row["reply"]})

    def _note(self, judge: str, replies: Mapping[R, str]) -> None:
        self._replies |= {_reply_key(judge, request): reply for request, reply in replies.items()}


def cache_of(store: Cache | str | Path | None, fresh: bool = False) -> Cache:
    """Return the cache that a user names; a fresh one asks again."""
    if not isinstance(store, Cache):
        return Cache(store, "refresh" if fresh else "write")
    if fresh and not isinstance(store, Record) and store.mode == "write":
        return Cache(store.path, "refresh", store.export)
    return store


def sha256(text: str | bytes) -> bytes:
    """Return the digest of a text or prompt; bytes are a digest already."""
    import hashlib

    return text if isinstance(text, bytes) else hashlib.sha256(_utf8(text)).digest()


def _utf8(text: str) -> bytes:
    return text.encode(*_UTF8)


def _reply_key(judge: str, request: Request) -> Key:
    prompt, repeat, seed = request
    return judge, sha256(prompt), repeat, seed


def _record(key: Key, data: bytes) -> tuple[Any, ...]:
    """Return a row of a table: its key, what was said, and a checksum of both."""
    import hashlib

    judge, *rest = key
    row = _utf8(judge), *rest, data
    checksum = hashlib.blake2b(digest_size=8)
    for part in row:
        content = part if isinstance(part, bytes) else b"%d" % part
        checksum.update(b"%d " % len(content) + content)
    return *row, checksum.digest()


def _digests(questions: Iterable[Question]) -> NDArray[np.uint64]:
    return np.array([_digest(question.frame, question.text) for question in questions], dtype=np.uint64)


@lru_cache(maxsize=1 << 16)
def _digest(frame: str, question: str) -> int:
    import hashlib

    content = json.dumps([frame, question]).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _joined(votes: bytes, new: NDArray[Any]) -> bytes:
    """Return votes on different questions, of which the first on each stays; `new` is sorted by question."""
    question = new["question"]
    is_new = np.diff(question, prepend=~question[:1]) != 0
    is_new &= (np.frombuffer(votes, VOTE)["question"] != question[:, np.newaxis]).all(axis=1)
    more: bytes = new[is_new].tobytes()
    return votes + more


def _damaged(path: Path, what: object) -> CacheError:
    return CacheError(
        f"The cache {path} cannot be used: it is damaged ({what}). Nothing was read from it. Put a copy from before "
        f"the damage in its place, delete it, or {_OTHER_FILE}; what is missing is then asked again."
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of the file into a `CacheError` that says what to do."""
    try:
        yield
    except UnicodeDecodeError as error:  # raised for SQLite's own message if that names a damaged table
        raise _damaged(path, error) from error
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        inside = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)
        if inside and (code is None or code & 0xFF not in _OUTSIDE):
            raise _damaged(path, error) from error
        raise CacheError(
            f"The cache {path} cannot be used: {error}. Free space, allow writing, or {_OTHER_FILE}."
        ) from error


def _connect(source: str | Path, how: str = "") -> sqlite3.Connection:
    """Open a file, in the way that the query of its URI says."""
    name = f"{source.absolute().as_uri()}?{how}" if how and isinstance(source, Path) else source
    db = sqlite3.connect(name, uri=bool(how), timeout=PATIENCE_S, isolation_level=None)
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _is_content(path: Path) -> bool:
    """Whether there is anything: not if a file is missing, or empty, as `mktemp` makes it."""
    return path.exists() and not (path.is_file() and not path.stat().st_size)


def _beside(path: Path) -> list[Path]:
    """Return SQLite's files of writes that are not yet in the cache's file; they are next to that file's real path."""
    real = Path(os.path.realpath(path))
    files = (real.with_name(f"{real.name}-{ending}") for ending in ("wal", "journal"))
    return [file for file in files if file.exists()]


def _create(path: Path) -> None:
    """Create a cache in one step, unless SQLite would take what is left of an earlier one for a part of it."""
    import tempfile

    real = Path(os.path.realpath(path))
    if not real.exists() and (left := _beside(path)):
        names = " and ".join(map(str, left))
        raise CacheError(
            f"{names}: left over from a cache that is gone. Remove what is left over, or {_OTHER_FILE}."
        )
    real.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=real.parent, prefix=".") as folder:
        new = Path(folder, "new")
        with closing(_connect(new)) as db:
            db.executescript(_SCHEMA)
            db.execute("PRAGMA journal_mode = WAL")
        with suppress(OSError):
            os.link(new, real)
        if not _is_content(real):  # an empty file, or a file system without links
            new.replace(real)


def _look(path: Path) -> None:
    """Refuse a file that is not a cache of halluscope, before SQLite can change it or put a file next to it."""
    # SQLite itself looks at the file, because opening and closing it in another way would drop this process's
    # locks
    if not path.is_file():
        raise _foreign(path, "a folder, or not a plain file")
    with closing(_connect(path, "immutable=1")) as db:
        try:
            application = db.execute("PRAGMA application_id").fetchone()[0]
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


def _check_form(path: Path, db: sqlite3.Connection) -> None:
    if (form := db.execute("PRAGMA user_version").fetchone()[0]) != FORM:
        raise CacheError(
            f"{path} is a cache in format {form}; this version of halluscope reads format {FORM}. Use the version of "
            f"halluscope that made it, or {_OTHER_FILE}."
        )
