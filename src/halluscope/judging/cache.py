"""The cache of votes and replies, by what was asked: a second run asks nothing, and a killed run goes on.

All votes of a judge about a text are one record of an SQLite file, each reply is another. A record's checksum covers
what it is found by and what it says, so damage is an error and never a different vote or reply. Several processes may
share the file (on a local disk: SQLite's write-ahead log does not work over a network file system).
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import CacheError
from halluscope.judging.claims import Claims, Shared, Unshared
from halluscope.judging.judge import ChatJudge, Margins, Pairs
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED, VoteResult
from halluscope.paths import cache_folder, path_of
from halluscope.validation import kind

# SQLite's application_id and user_version: which program the file belongs to, and which form it has
APPLICATION = 0x68616C6C
FORM = 5

PATIENCE_S = 60  # How many seconds to wait for another process that writes

IN_MEMORY = ":memory:"  # The path of a cache without a file

_SCHEMA = f"""
CREATE TABLE votes (key BLOB PRIMARY KEY, data BLOB NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE replies (key BLOB PRIMARY KEY, data BLOB NOT NULL, checksum BLOB NOT NULL);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORM};
"""

# SQLite's errors that are about the file's content, and not about the disk, rights or other processes
_DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_OTHER_FILE = "name another file (store=..., --store, or the environment variable HALLUSCOPE_STORE)"

Mode = Literal["write", "read", "refresh"]

# A vote in the record of a judge and a text; a question stands there by 64 bits of its digest
VOTE = np.dtype([("question", "<u8"), ("code", "i1"), ("margin", "<f8")])

_UTF8 = ("utf-8", "surrogatepass")  # texts may hold lone surrogates


class Request(NamedTuple):
    """What a chat judge is asked."""

    prompt: str
    repeat: int  # the number of its repeat
    seed: int  # of the reply; 0 if there is none


def default_path() -> Path:
    """Return the file that HALLUSCOPE_STORE names, else `answers.sqlite` in the user's cache folder."""
    path = os.environ.get("HALLUSCOPE_STORE")
    if path:
        return path_of(path)
    return cache_folder() / "answers.sqlite"


class Cache:
    """Votes and replies in one file, which is opened when it is first used.

    The mode "write" creates a missing file, and replaces no vote and no reply; "read" writes nothing, and a missing
    file holds nothing; "refresh" finds only what came through this object, and replaces what was there. Any method
    raises `CacheError` if the file is not a cache, is damaged, or cannot be written.
    """

    def __init__(self, path: str | Path | None = None, mode: Mode = "write") -> None:
        self.path = default_path() if path is None else path_of(path)
        self.mode: Mode = mode
        self._fresh: set[bytes] = set()  # the keys of what came through this object

    def votes(
        self, judge: str, questions: Sequence[Question], texts: Sequence[str | bytes]
    ) -> tuple[NDArray[np.int8], Margins]:
        """Return a judge's votes [texts, questions], `UNASKED` if there is none, and their margins, NaN if unknown."""
        with _explained(self.path):
            records = [self._find("votes", _key(judge, text)) or b"" for text in texts]
        votes = np.frombuffer(b"".join(records), VOTE)
        votes_in = np.array([len(record) // VOTE.itemsize for record in records], dtype=np.intp)
        row = np.repeat(np.arange(len(texts)), votes_in)
        digests, column = np.unique(_digests(questions), return_inverse=True)
        codes = np.full((len(texts), len(digests)), UNASKED, dtype=np.int8)
        margins = np.full(codes.shape, np.nan)
        if len(digests):
            place = np.searchsorted(digests, votes["question"]).clip(max=len(digests) - 1)
            is_asked = digests[place] == votes["question"]
            cells = row[is_asked], place[is_asked]
            codes[cells] = votes["code"][is_asked]
            margins[cells] = votes["margin"][is_asked]
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
        columns, number = np.unique(pairs[:, 1], return_inverse=True)
        new = np.empty(len(pairs), VOTE)
        new["question"] = _digests([questions[column] for column in columns])[number]
        new["code"] = codes
        new["margin"] = np.nan if margins is None else margins
        order = np.lexsort((new["question"], pairs[:, 0]))
        new = new[order]
        row = pairs[order, 0]
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        with self._writing() as db:
            for text, votes in zip(row[starts].tolist(), np.split(new, starts[1:]), strict=True):
                key = _key(judge, texts[text])
                record = self._find("votes", key) or b""
                self._keep(db, "votes", key, _joined(record, votes), "REPLACE")

    def replies(self, judge: str, requests: Iterable[Request]) -> dict[Request, str]:
        """Return the replies of the judge with this key, by request; those that are missing are left out."""
        with _explained(self.path):
            records = {request: self._find("replies", _key(judge, *request)) for request in requests}
        return {request: data.decode(*_UTF8) for request, data in records.items() if data is not None}

    def keep_replies(self, judge: str, replies: Mapping[Request, str]) -> None:
        """Keep these replies, all or none; on return they are in the file, with only a digest of a prompt."""
        on_conflict = "REPLACE" if self.mode == "refresh" else "IGNORE"
        with self._writing() as db:
            for request, reply in replies.items():
                self._keep(db, "replies", _key(judge, *request), reply.encode(*_UTF8), on_conflict)

    @contextmanager
    def claiming(self) -> Iterator[Claims]:
        """Let this process claim what it asks, so that no other process asks it too; release all in the end.

        A cache that is refreshed asks what others have claimed too, because it takes no reply of theirs.
        """
        if self.is_read or str(self.path) == IN_MEMORY:
            yield Unshared()
            return
        claims = Shared(self.path, self._writing, takes_over=self.mode == "refresh")
        try:
            yield claims
        finally:
            claims.release()

    @property
    def is_read(self) -> bool:
        """Whether nothing is kept; then no judge is asked for replies to whole prompts."""
        return self.mode == "read"

    def count(self) -> tuple[int, int]:
        """Return how many votes and how many replies there are."""
        counts = f"SELECT (SELECT total(length(data)) / {VOTE.itemsize} FROM votes), (SELECT count(*) FROM replies)"
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
        if str(self.path) == IN_MEMORY or (self.is_read and not _is_content(self.path)):
            db = _connect(IN_MEMORY)
            db.executescript(_SCHEMA)
        else:
            db = self._open_file()
        db.execute(f"PRAGMA query_only = {self.is_read:d}")
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    def _open_file(self) -> sqlite3.Connection:
        if not _is_content(self.path):
            _create(self.path)
        _look(self.path)
        mode = "mode=rw"
        if self.is_read:
            # without writes that are still beside the file, it can be read where nothing may be written
            mode = "mode=ro" if _beside(self.path) else "immutable=1"
        return _connect(f"{self.path.absolute().as_uri()}?{mode}")

    def _find(self, table: str, key: bytes) -> bytes | None:
        if self.mode == "refresh" and key not in self._fresh:
            return None
        row = self._db.execute(f"SELECT data, checksum FROM {table} WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        data, checksum = row
        if not isinstance(data, bytes) or _checksum(key, data) != checksum:
            raise _damaged(self.path, f"one of the {table} is not the one that was kept")
        return data

    def _keep(self, db: sqlite3.Connection, table: str, key: bytes, data: bytes, on_conflict: str) -> None:
        db.execute(
            f"INSERT OR {on_conflict} INTO {table} VALUES (?, ?, ?)", (key, data, _checksum(key, data))
        )
        self._fresh.add(key)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of what is inside this context, or nothing."""
        with _explained(self.path), self._db as db:
            db.execute("BEGIN IMMEDIATE")
            yield db


class Record(Cache):
    """The cache of one run: it notes the replies to and from `source`, or holds all that was said."""

    def __init__(self, source: Cache | None = None) -> None:
        if source:
            super().__init__(source.path, source.mode)
        else:
            super().__init__(IN_MEMORY, "read")
        self.source = source
        self.poll: VoteResult | None = None
        self.judge: ChatJudge | None = None  # whose replies these are, once that is known
        # a reply by the judge's key, the prompt's sha256, the repeat and the seed
        self._replies: dict[tuple[str, bytes, int, int], str] = {}

    def finished(self, texts: Sequence[int] | None = None) -> "Record":
        """Return a record that is only read; its votes can be cut to some of the texts."""
        record = copy(self)
        record.source = None
        record.mode = "read"
        if self.poll and texts is not None:
            record.poll = replace(self.poll, votes=self.poll.votes[list(texts)])
        return record

    def replies(self, judge: str, requests: Iterable[Request]) -> dict[Request, str]:
        keys = {request: _noted(judge, request) for request in requests}
        if self.source:
            self._note(judge, self.source.replies(judge, keys))
        return {request: self._replies[key] for request, key in keys.items() if key in self._replies}

    def keep_replies(self, judge: str, replies: Mapping[Request, str]) -> None:
        self._note(judge, replies)
        if self.source:
            self.source.keep_replies(judge, replies)

    def count(self) -> tuple[int, int]:
        return 0, len(self._replies)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the replies of `judge`, as a run's folder holds them: a prompt by its sha256."""
        for (judge, prompt, repeat, seed), reply in self._replies.items():
            if self.judge and judge == self.judge.key:
                yield {"prompt": prompt.hex(), "repeat": repeat, "seed": seed, "reply": reply}

    def read(self, judge: ChatJudge, lines: Iterable[Mapping[str, Any]]) -> None:
        """Read replies of this judge that `lines` yielded."""
        self.judge = judge
        for line in lines:
            digest = bytes.fromhex(line["prompt"])
            self._replies[judge.key, digest, line["repeat"], line["seed"]] = line["reply"]

    def _note(self, judge: str, replies: Mapping[Request, str]) -> None:
        for request, reply in replies.items():
            self._replies[_noted(judge, request)] = reply


def check_store(value: Any) -> None:
    """Check that a user names a cache, or a path of one."""
    kind("store", value, Cache | str | Path | None, "a path, or None for the user's cache")


def cache_of(store: Cache | str | Path | None, fresh: bool = False) -> Cache:
    """Return the cache that a user names; a fresh one asks again."""
    check_store(store)
    if not isinstance(store, Cache):
        return Cache(store, "refresh" if fresh else "write")
    if fresh and not isinstance(store, Record) and store.mode == "write":
        return Cache(store.path, "refresh")
    return store


def sha256(text: str | bytes) -> bytes:
    """Return the digest of a text or prompt; bytes are a digest already."""
    if isinstance(text, bytes):
        return text
    return hashlib.sha256(text.encode(*_UTF8)).digest()


def reply_key(judge: str, request: Request) -> bytes:
    """Return what the reply of the judge with this key to a request is found by."""
    return _key(judge, *request)


def text_keys(judge: str, texts: Iterable[str], questions: Iterable[Question]) -> list[bytes]:
    """Return what a claim on a judge's votes on all these questions about each text is found by."""
    questions_digest = sha256(_digests(questions).tobytes())
    return [_key(judge, text) + questions_digest for text in texts]


def _noted(judge: str, request: Request) -> tuple[str, bytes, int, int]:
    prompt, repeat, seed = request
    return judge, sha256(prompt), repeat, seed


def _key(judge: str, text: str | bytes, *numbers: int) -> bytes:
    """Return what a record is found by, a digest: of the judge, a text or prompt, and a reply's repeat and seed."""
    return sha256(json.dumps([judge, sha256(text).hex(), *numbers]))


def _checksum(key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(key + data, digest_size=8).digest()


def _digests(questions: Iterable[Question]) -> NDArray[np.uint64]:
    return np.array([_digest(question.frame, question.text) for question in questions], dtype=np.uint64)


@lru_cache(maxsize=1 << 16)
def _digest(frame: str, question: str) -> int:
    content = json.dumps([frame, question]).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _joined(votes: bytes, new: NDArray[Any]) -> bytes:
    """Return votes on different questions, of which the first on each stays; `new` is sorted by question."""
    question = new["question"]
    is_known = np.isin(question, np.frombuffer(votes, VOTE)["question"])
    is_first = np.ones(len(question), dtype=bool)
    is_first[1:] = question[1:] != question[:-1]
    more: bytes = new[is_first & ~is_known].tobytes()
    return votes + more


def _damaged(path: Path, damage: object) -> CacheError:
    return CacheError(
        f"The cache {path} cannot be used: it is damaged ({damage}). Nothing was read from it. Put a copy from before "
        f"the damage in its place, delete it, or {_OTHER_FILE}; what is missing is then asked again."
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of the file into a `CacheError` that says what to do."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        # it is about the caller, such as another thread, and not about the file
        raise CacheError(
            f"The cache {path} cannot be used: {error} Give each thread a cache of its own, or the path of the file."
        ) from error
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        # Python's own errors about a database's content have no code
        code = 0 if isinstance(error, OSError) else sqlite3.SQLITE_CORRUPT
        code = getattr(error, "sqlite_errorcode", code)
        if code & 0xFF in _DAMAGE:
            raise _damaged(path, error) from error
        raise CacheError(
            f"The cache {path} cannot be used: {error}. Free space, allow writing, or {_OTHER_FILE}."
        ) from error


def _connect(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, uri=True, timeout=PATIENCE_S, isolation_level=None)
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _is_content(path: Path) -> bool:
    """Whether there is anything: not if a file is missing, or empty, as `mktemp` makes it."""
    return path.exists() and not (path.is_file() and not path.stat().st_size)


def _beside(path: Path) -> list[Path]:
    """Return SQLite's files of writes that are not yet in the cache's file; they are next to that file's real path."""
    real = Path(os.path.realpath(path))
    files = [real.with_name(f"{real.name}-{ending}") for ending in ("wal", "journal")]
    return [file for file in files if file.exists()]


def _create(path: Path) -> None:
    """Create a cache in one step, unless SQLite would take what is left of an earlier one for a part of it."""
    import tempfile

    real = Path(os.path.realpath(path))
    leftovers = _beside(path)
    if leftovers and not real.exists():  # in this order: another process may be creating it
        names = " and ".join(map(str, leftovers))
        raise CacheError(
            f"{names}: left over from a cache that is gone. Remove what is left over, or {_OTHER_FILE}."
        )
    real.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=real.parent, prefix=".") as folder:
        new = Path(folder, "new")
        with closing(_connect(str(new))) as db:
            db.executescript(_SCHEMA)
            db.execute("PRAGMA journal_mode = WAL")
        with suppress(OSError):
            os.link(new, real)
        if not _is_content(real):  # an empty file, or a file system without links
            new.replace(real)


def _look(path: Path) -> None:
    """Refuse a file that is not a cache of halluscope, before SQLite can change it or put a file next to it."""
    # SQLite itself looks, because opening and closing the file in another way would drop this process's locks
    if not path.is_file():
        raise _foreign(path, "a folder, or not a plain file")
    with closing(_connect(f"{path.absolute().as_uri()}?immutable=1")) as db:
        try:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (form,) = db.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise _foreign(path, f"not a database that can be read ({error})") from error
    if application != APPLICATION:
        raise _foreign(path, "a database of another program")
    if form != FORM:
        raise CacheError(
            f"{path} is a cache in format {form}; this version of halluscope reads format {FORM}. Use the version of "
            f"halluscope that made it, or {_OTHER_FILE}."
        )


def _foreign(path: Path, content: str) -> CacheError:
    return CacheError(
        f"{path} is {content}; expected a cache of halluscope, or a name that is not in use. It was not changed. To "
        f"keep votes and replies, {_OTHER_FILE}; a cache whose first bytes are damaged can be deleted."
    )
