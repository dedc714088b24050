"""Every answer of a language model is kept, so that nothing is asked twice.

One SQLite file. An answer is found by its content: the judge's key (model, revision, precision, reading rule),
the question with its frame, and the text. A reply in free text likewise: by the judge's key, the prompt, and which
repeat it is. A killed run leaves every answer that was given, and several processes may share the file (on a local
disk: SQLite's write-ahead log does not work over a network file system).
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import StoreError
from halluscope.judging.questions import Question
from halluscope.judging.votes import NO, OTHER, UNASKED, YES
from halluscope.paths import cache_folder

APPLICATION, VERSION = 0x68616C6C, 2
"""What SQLite calls application_id and user_version: whose file this is, and of which form. Form 1 has no replies."""

PATIENCE_S = 60
"""How long to wait for another process that writes, in seconds."""

_REPLIES = f"""
CREATE TABLE IF NOT EXISTS reply (
    judge INTEGER NOT NULL, prompt BLOB NOT NULL, repeat INTEGER NOT NULL,
    reply BLOB NOT NULL,
    PRIMARY KEY (judge, prompt, repeat)
);
PRAGMA user_version = {VERSION};
"""
_SCHEMA = f"""
CREATE TABLE judge (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE question (id INTEGER PRIMARY KEY, frame TEXT NOT NULL, question TEXT NOT NULL, UNIQUE (frame, question));
CREATE TABLE text (id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE);
CREATE TABLE answer (
    judge INTEGER NOT NULL, question INTEGER NOT NULL, text INTEGER NOT NULL,
    answer INTEGER NOT NULL CHECK (answer IN ({NO}, {YES}, {OTHER})),
    PRIMARY KEY (judge, question, text)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
{_REPLIES}"""

Ids = NDArray[np.int64]


def default_path() -> Path:
    """The file that HALLUSCOPE_STORE names, else `answers.sqlite` in the user's cache folder."""
    named = os.environ.get("HALLUSCOPE_STORE")
    return Path(named) if named else cache_folder() / "answers.sqlite"


class AnswerStore:
    """The answers given so far, in one file that is made when it is missing.

    Raises:
        StoreError: if the file is not a store, is damaged, comes from another version, or cannot be written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._open()

    def of(self, judge: str, texts: Sequence[str]) -> "KeptAnswers":
        """The answers that the judge with this key gave about these texts."""
        return KeptAnswers(
            self, int(self._ids("judge (key)", "key = ?", [(judge,)])[0]), self._text_ids(texts)
        )

    def replies(self, judge: str, asked: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The kept replies of the judge with this key, by prompt and repeat."""
        find = "SELECT reply FROM reply JOIN judge ON judge = judge.id WHERE key = ? AND prompt = ? AND repeat = ?"
        with self._explained():
            rows = {
                (prompt, repeat): self._db.execute(find, (judge, _digest(prompt), repeat)).fetchone()
                for prompt, repeat in asked
            }
        return {one: row[0].decode("utf-8", "surrogatepass") for one, row in rows.items() if row}

    def keep_reply(self, judge: str, asked: tuple[str, int], reply: str) -> None:
        """Keep a reply to a prompt and repeat; on return it is in the file. Of the prompt, only its sha256 is kept."""
        prompt, repeat = asked
        with self._writing():
            self._db.execute("INSERT OR IGNORE INTO judge (key) VALUES (?)", (judge,))
            self._db.execute(
                "INSERT OR IGNORE INTO reply SELECT id, ?, ?, ? FROM judge WHERE key = ?",
                (_digest(prompt), repeat, reply.encode("utf-8", "surrogatepass"), judge),
            )

    def question_ids(self, questions: Sequence[Question]) -> Ids:
        """The numbers of questions, each with its frame."""
        keys = [(question.frame, question.text) for question in questions]
        return self._ids("question (frame, question)", "frame = ? AND question = ?", keys)

    def known(self, judge: int, question: int, texts: Ids) -> NDArray[np.int8]:
        """The answers to one question about each text, `UNASKED` where none is kept."""
        answers = np.full(len(texts), UNASKED, dtype=np.int8)
        if not len(texts):
            return answers
        with self._explained():
            rows = self._db.execute(
                "SELECT text, answer FROM answer WHERE judge = ? AND question = ? AND text BETWEEN ? AND ?",
                (judge, question, int(texts.min()), int(texts.max())),
            ).fetchall()
        if rows:
            found = np.array(rows, dtype=np.int64)
            place = np.searchsorted(found[:, 0], texts).clip(max=len(found) - 1)
            hit = found[place, 0] == texts
            answers[hit] = found[place[hit], 1]
        return answers

    def add(self, judge: int, questions: Ids, texts: Ids, answers: NDArray[np.int8]) -> None:
        """Keep answers, row by row; on return they are in the file."""
        rows = zip(questions.tolist(), texts.tolist(), answers.tolist(), strict=True)
        with self._writing():
            self._db.executemany(
                "INSERT OR IGNORE INTO answer (judge, question, text, answer) VALUES (?, ?, ?, ?)",
                [(judge, *row) for row in rows],
            )

    def count(self) -> tuple[int, int]:
        """How many votes and how many replies are kept."""
        with self._explained():
            votes, replies = (self._rows(table) for table in ("answer", "reply"))
        return votes, replies

    def _rows(self, table: str) -> int:
        """How many rows a table has; a file of form 1 has no replies, one that is not there has nothing."""
        there = self._db.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) if there else 0

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _open(self) -> None:
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        empty = not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if empty:
            with self._writing():
                if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    self._run(_SCHEMA)
        elif application != APPLICATION:
            raise StoreError(
                f"{self.path} is a database of another program; name another file for the answers."
            )
        elif version == 1:
            self._renew()
        elif version != VERSION:
            raise StoreError(
                f"{self.path} is an answer store of form {version}; this version of halluscope reads form 1 or "
                f"{VERSION}. Name another file, or use the version of halluscope that made it."
            )

    def _renew(self) -> None:
        """Bring a file of form 1 to the present form."""
        with self._writing():
            self._run(_REPLIES)

    def _run(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";")):
            self._db.execute(statement)

    def _text_ids(self, texts: Sequence[str]) -> Ids:
        """The numbers of texts. Only a text's sha256 is kept, never the text."""
        return self._ids("text (sha256)", "sha256 = ?", [(_digest(text),) for text in texts])

    def _ids(self, into: str, where: str, keys: Sequence[tuple[object, ...]]) -> Ids:
        table = into.split()[0]
        marks = ", ".join("?" * len(keys[0])) if keys else ""
        with self._writing():
            self._db.executemany(f"INSERT OR IGNORE INTO {into} VALUES ({marks})", keys)
            find = f"SELECT id FROM {table} WHERE {where}"
            return np.array([self._db.execute(find, key).fetchone()[0] for key in keys], dtype=np.int64)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The answer store {self.path} cannot be used: {error}. Free space, allow writing, or name another "
                "file (store=..., or the environment variable HALLUSCOPE_STORE). A damaged file can be deleted; "
                "its answers are then asked again."
            ) from error


class ReadOnlyStore(AnswerStore):
    """What a store holds, found without writing to it or beside it. A file that is not there holds nothing.

    Raises:
        StoreError: if the file is not a store, is damaged, or comes from another version.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()
        with self._explained():
            self.there = self.path.exists() and (self.path.is_dir() or self.path.stat().st_size > 0)
            beside = self.path.with_name(f"{self.path.name}-wal").exists()  # somebody writes, or was killed
            found = f"{self.path.absolute().as_uri()}?{'mode=ro' if beside else 'immutable=1'}"
            source = found if self.there else ":memory:"
            self._db = sqlite3.connect(source, uri=self.there, timeout=PATIENCE_S, isolation_level=None)
            self._open()

    def _renew(self) -> None:
        """Form 1 has the same answers."""

    def _ids(self, into: str, where: str, keys: Sequence[tuple[object, ...]]) -> Ids:
        """The numbers of what is there, -1 for what is not."""
        with self._explained():
            find = f"SELECT id FROM {into.split()[0]} WHERE {where}"
            rows = (self._db.execute(find, key).fetchone() for key in keys)
            return np.array([row[0] if row else -1 for row in rows], dtype=np.int64)


class KeptAnswers:
    """One judge's answers about a list of texts, found and kept by their place in that list."""

    def __init__(self, store: AnswerStore, judge: int, texts: Ids) -> None:
        self._store, self._judge, self._texts = store, judge, texts

    def recall(self, questions: Sequence[Question], given: NDArray[np.int8]) -> None:
        """Fill into `given` [texts, questions] what is kept, where it is `UNASKED`."""
        self._questions = self._store.question_ids(questions)
        for column, question in enumerate(self._questions.tolist()):
            unasked = given[:, column] == UNASKED
            if unasked.any():
                given[unasked, column] = self._store.known(self._judge, question, self._texts[unasked])

    def keep(self, pairs: NDArray[np.int64], answers: NDArray[np.int8]) -> None:
        """Keep the answers to `pairs` [n, 2] of (text, question), questions as last recalled."""
        self._store.add(self._judge, self._questions[pairs[:, 1]], self._texts[pairs[:, 0]], answers)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
