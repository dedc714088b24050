"""The cache of votes and replies, by what was asked: a second run asks nothing, and a killed run goes on.

The cache is one SQLite file. All votes of a judge about a text are one record, each reply is another. A record's
checksum covers what it is found by and what it says, so damage is an error and never a different vote or reply. Several
processes may share the file (on a local disk: SQLite's write-ahead log does not work over a network file system).
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import CacheError
from halluscope.inputs import word
from halluscope.judging import cache_file
from halluscope.judging.cache_file import IN_MEMORY
from halluscope.judging.judge import Margins, Pairs
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED, VoteResult
from halluscope.paths import cache_folder
from halluscope.sanitize import short_repr

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


class Export(Protocol):
    """Where requests for missing votes and replies are written down instead of being sent: `judging.batch`."""

    later: Counter[str]  # the most questions that may be asked in later rounds, by the judge's key

    def put_reply(
        self, judge: str, prompt: str, repeat: int, seed: int, empty: bool, body: Mapping[str, Any]
    ) -> None: ...

    def put_vote(self, judge: str, text: str, question: Question, body: Mapping[str, Any]) -> None: ...


def default_path() -> Path:
    """Return the file that HALLUSCOPE_STORE names, else `answers.sqlite` in the user's cache folder."""
    named = os.environ.get("HALLUSCOPE_STORE")
    return Path(named) if named else cache_folder() / "answers.sqlite"


class Cache:
    """Votes and replies in one file, which is opened when it is first used.

    Args:
        path: the file, by default `default_path`; ":memory:" for none.
        mode: "write" creates a missing file, and replaces no vote and no reply. "read" writes nothing to the file or
            next to it, and a missing file holds nothing. "refresh" finds only what came through this object, which
            replaces earlier replies, and all earlier votes of the judge about a text.
        export: where requests for missing votes and replies are written instead of being sent; None to send them.
        fresh: replies that the mode "refresh" finds too: of each the judge's key, the prompt's sha256, the repeat, and
            the seed.

    Raises:
        CacheError: from any method, if the file is not a cache, is damaged, is of another version, or cannot be
            written; nothing of a file that is not a cache is changed.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        mode: str = "write",
        export: Export | None = None,
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
        with cache_file.explained(self.path):
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
        with cache_file.explained(self.path):
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
        with cache_file.explained(self.path):
            votes, replies = self._db.execute(counts).fetchone()
        return int(votes), int(replies)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if "_db" in vars(self):
            self._db.close()
            del self._db

    @cached_property
    def _db(self) -> Connection:
        return (cache_file.to_read if self.mode == "read" else cache_file.to_write)(self.path)

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
            raise cache_file.damaged(self.path, f"one of the {table} is not the one that was kept")
        return data

    def _refresh(self, *keys: Key) -> None:
        if self.mode == "refresh":
            self._fresh.update(keys)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with cache_file.explained(self.path), cache_file.writing(self._db):
            yield self._db


class Record(Cache):
    """The cache of one run: it notes what passes to and from `source`, or holds all that was said."""

    def __init__(
        self, source: Cache | None = None, poll: VoteResult | None = None, judge: Any = None
    ) -> None:
        super().__init__(source.path if source else IN_MEMORY, export=source.export if source else None)
        self.source, self.poll, self.judge = source, poll, judge
        self.missing: dict[Request, None] = {}  # prompts without a reply, if `source` is only read

    @property
    def is_read(self) -> bool:
        """As `Cache.is_read`."""
        return self.source is None or self.source.is_read

    def finished(self, texts: Sequence[int] | None = None) -> "Record":
        """Return a record that is only read; its votes can be cut to some of the texts."""
        _ = self._db  # which both share
        record = copy(self)
        record.source = record.export = None
        if self.poll and texts is not None:
            record.poll = replace(self.poll, votes=self.poll.votes[[*texts]])
        return record

    def votes(
        self, judge: str, questions: Sequence[Question], texts: Sequence[str | bytes]
    ) -> tuple[NDArray[np.int8], Margins]:
        """As `Cache.votes`; they are noted in `poll`."""
        assert self.source is not None, "a poll is read as a whole"
        return self.source.votes(judge, questions, texts)

    def keep_votes(self, *votes: Any) -> None:
        """As `Cache.keep_votes`."""
        assert self.source is not None, "nobody is asked"
        self.source.keep_votes(*votes)

    def replies(self, judge: str, requests: Iterable[R]) -> dict[R, str]:
        """As `Cache.replies`."""
        if not self.source:
            return super().replies(judge, requests)
        requests = list(requests)
        replies = self.source.replies(judge, requests)
        super().keep_replies(judge, replies)
        if self.source.is_read:
            self.missing |= dict.fromkeys(request for request in requests if request not in replies)
        return replies

    def keep_replies(self, judge: str, replies: Mapping[R, str], replace: bool = False) -> None:
        """As `Cache.keep_replies`."""
        super().keep_replies(judge, replies, replace=True)
        if self.source:
            self.source.keep_replies(judge, replies, replace)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield the replies of `judge`, as a run's folder holds them: a prompt by its sha256."""
        find = "SELECT prompt, repeat, seed, reply FROM replies WHERE judge = ? ORDER BY rowid"
        for prompt, repeat, seed, reply in self._db.execute(find, (_utf8(self.judge.key),)):
            yield {"prompt": prompt.hex(), "repeat": repeat, "seed": seed, "reply": reply.decode(*_UTF8)}

    def read(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Read replies that `lines` yielded."""
        replies = {(bytes.fromhex(row["prompt"]), row["repeat"], row["seed"]): row["reply"] for row in lines}
        self.keep_replies(self.judge.key, replies)

    @cached_property
    def _db(self) -> Connection:
        return cache_file.in_memory()


def cache_of(store: Cache | str | Path | None, fresh: bool = False) -> Cache:
    """Return the cache that a user names; a fresh one asks again."""
    if not isinstance(store, Cache):
        return Cache(store, "refresh" if fresh else "write")
    if fresh and not isinstance(store, Record) and store.mode == "write":
        return Cache(store.path, "refresh", store.export)
    return store


def sha256(text: str | bytes) -> bytes:
    """Return the digest of a text or prompt; bytes are a digest already."""
    return text if isinstance(text, bytes) else hashlib.sha256(_utf8(text)).digest()


def _utf8(text: str) -> bytes:
    return text.encode(*_UTF8)


def _reply_key(judge: str, request: Request) -> Key:
    prompt, repeat, seed = request
    return judge, sha256(prompt), repeat, seed


def _record(key: Key, data: bytes) -> tuple[Any, ...]:
    """Return a row of a table: its key, what was said, and a checksum of both."""
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
    content = json.dumps([frame, question]).encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _joined(votes: bytes, new: NDArray[Any]) -> bytes:
    """Return votes on different questions, of which the first on each stays; `new` is sorted by question."""
    question = new["question"]
    is_new = np.diff(question, prepend=~question[:1]) != 0
    is_new &= (np.frombuffer(votes, VOTE)["question"] != question[:, np.newaxis]).all(axis=1)
    more: bytes = new[is_new].tobytes()
    return votes + more
