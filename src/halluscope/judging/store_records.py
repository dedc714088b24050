"""The records of the store's file, and their checksums.

A checksum covers what a record is about (the judge's key, the question with its frame, and the text, as they are
asked), and no row numbers. So it reveals a record that damage has changed, and one that damage has moved to another
number.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import NO, OTHER, YES

SCHEMA = f"""
CREATE TABLE judge (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE);
CREATE TABLE question (id INTEGER PRIMARY KEY, frame BLOB NOT NULL, question BLOB NOT NULL, UNIQUE (frame, question));
CREATE TABLE text (id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32));
CREATE TABLE answer (
    judge INTEGER NOT NULL, question INTEGER NOT NULL, text INTEGER NOT NULL,
    answer INTEGER NOT NULL CHECK (answer IN ({NO}, {YES}, {OTHER})),
    margin REAL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (judge, question, text)
) WITHOUT ROWID;
CREATE TABLE reply (
    judge INTEGER NOT NULL, prompt BLOB NOT NULL CHECK (length(prompt) = 32),
    repeat INTEGER NOT NULL, seed INTEGER NOT NULL,
    reply BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (judge, prompt, repeat, seed)
);
"""
"""Words are kept as UTF-8 that may hold lone surrogates. An unknown margin is NULL, and a missing seed is 0."""

NAMES = {"judge": ("key",), "question": ("frame", "question"), "text": ("sha256",)}
"""The tables that give numbers to judges, questions and texts, and the columns that identify each of them."""

FIND_VOTES = """
SELECT text, answer, margin, checksum FROM answer WHERE judge = ? AND question = ? AND text BETWEEN ? AND ?
"""
FIND_REPLY = """
SELECT reply, checksum FROM reply JOIN judge ON judge = judge.id
WHERE key = ? AND prompt = ? AND repeat = ? AND seed = ?
"""
KEEP_VOTE = "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
KEEP_REPLY = "INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"

REPLACE_REPLY = "INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?)"

VOTE = np.dtype([("text", "i8"), ("answer", "i8"), ("margin", "f8"), ("checksum", "i8")])
"""The fields of a vote as it is read; a margin of NULL becomes NaN."""

Ids = NDArray[np.int64]
Margins = NDArray[np.float64]
FoundBy = tuple[bytes, bytes, int, int]
"""What identifies a reply: the judge's key, the prompt's sha256, the number of the repeat, and the seed."""


@dataclass(frozen=True)
class Named:
    """Judges, questions or texts, by number and digest.

    Attributes:
        ids: their numbers in the file, -1 if they have no number.
        digests: digests of their keys or words.
    """

    ids: Ids
    digests: NDArray[np.uint64]

    def __getitem__(self, which: Any) -> "Named":
        return Named(self.ids[which], self.digests[which])


def find_name(table: str) -> str:
    """Return the statement that finds a number in a table of `NAMES`."""
    where = " AND ".join(f"{column} = ?" for column in NAMES[table])
    return f"SELECT id FROM {table} WHERE {where}"


def keep_name(table: str) -> str:
    """Return the statement that gives a number in a table of `NAMES` to what has no number."""
    columns = NAMES[table]
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING"


def named(ids: Ids, keys: Sequence[Sequence[bytes]]) -> Named:
    """Return `Named` for these numbers and keys; a key holds the columns of `NAMES`."""
    digests = b"".join(_sha256(b"".join(map(_sha256, key)))[:8] for key in keys)
    return Named(ids, np.frombuffer(digests, dtype="<u8").astype(np.uint64))


def utf8(text: str) -> bytes:
    """Return a text's bytes; lone surrogates have bytes of their own."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """Return the text of these bytes.

    Raises:
        UnicodeDecodeError: if they are not the bytes of a text.
    """
    return data.decode("utf-8", "surrogatepass")


def sha256(text: str) -> bytes:
    """Return the digest that is kept of a text or a prompt in place of its words."""
    return _sha256(utf8(text))


def found_by(judge: str, prompt: str, repeat: int, seed: int = 0) -> FoundBy:
    """Return what identifies a reply."""
    return utf8(judge), sha256(prompt), repeat, seed


def vote_rows(
    judges: Named, questions: Named, texts: Named, codes: NDArray[np.integer[Any]], margins: Margins
) -> Iterator[tuple[Any, ...]]:
    """Return votes as rows for `KEEP_VOTE`."""
    sums = vote_checksums(judges, questions, texts, codes, margins)
    columns = (judges.ids, questions.ids, texts.ids, codes, margins, sums)
    return zip(*(column.tolist() for column in np.broadcast_arrays(*columns)), strict=True)


def vote_checksums(
    judges: Named, questions: Named, texts: Named, codes: NDArray[np.integer[Any]], margins: Margins
) -> Ids:
    """Return the checksums of votes. Each step is one to one, so a change in one part alone always changes the sum."""
    total = np.zeros(1, dtype=np.uint64)
    for part in (judges.digests, questions.digests, texts.digests, codes.astype(np.uint64), _bits(margins)):
        total = (total ^ part) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total.view(np.int64)


def reply_checksum(judge: bytes, prompt: bytes, repeat: int, seed: int, reply: bytes) -> bytes:
    """Return the checksum of a reply and of what identifies it."""
    about = _sha256(judge) + prompt + f"{repeat:d} {seed:d} ".encode()
    return hashlib.blake2b(about + reply, digest_size=8).digest()


def _bits(margins: Margins) -> NDArray[np.uint64]:
    """Return the bits of margins, with one kind of NaN and one kind of zero, as SQLite keeps them."""
    return np.where(np.isnan(margins), np.nan, margins + 0.0).view(np.uint64)


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
