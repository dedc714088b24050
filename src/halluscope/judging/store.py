"""Keeps every vote and reply of a language model, so that nothing is asked twice.

The store is one SQLite file. A vote is found by the judge's key (model, revision, precision, reading rule), the
question with its frame, and the text; a reply in free text is found by the judge's key, the prompt, the number of its
repeat, and its seed. Each record carries a checksum, so that damage is an error and never a different vote or reply. A
killed run keeps all that was given before. Several processes may share the file (on a local disk: SQLite's write-ahead
log does not work over a network file system).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import StoreError
from halluscope.foreign import brief
from halluscope.judging import store_file
from halluscope.judging import store_records as records
from halluscope.judging.questions import Question
from halluscope.judging.store_records import FoundBy, Ids, Margins, Named, utf8
from halluscope.judging.votes import UNASKED
from halluscope.paths import cache_folder

Asked = tuple[str, int] | tuple[str, int, int]
"""A prompt, the number of its repeat, and the seed, which is 0 if there is none."""

A = TypeVar("A", bound=Asked)


class Outbox(Protocol):
    """Where requests for missing votes and replies are written down instead of being sent."""

    def put_reply(self, judge: str, prompt: str, repeat: int, seed: int, body: Mapping[str, Any]) -> None:
        """Write down the request to the judge with this key for its reply to a prompt."""
        ...

    def put_vote(self, judge: str, text: str, question: Question, body: Mapping[str, Any]) -> None:
        """Write down the request to the judge with this key for its vote on a question about a text."""
        ...

    def put_off(self, judge: str, questions: int) -> None:
        """Count questions that wait for votes that are still to come."""
        ...


def default_path() -> Path:
    """Return the file that HALLUSCOPE_STORE names, else `answers.sqlite` in the user's cache folder."""
    named = os.environ.get("HALLUSCOPE_STORE")
    return Path(named) if named else cache_folder() / "answers.sqlite"


class AnswerStore:
    """The votes and replies given so far, in one file, which is created if it is missing.

    Args:
        path: the file's path; by default `default_path`.
        outbox: where requests for missing votes and replies are written instead of being sent; None to send them.

    Raises:
        StoreError: if the file is not a store, is damaged, comes from another version, or cannot be written.
    """

    _open = staticmethod(store_file.to_write)

    def __init__(self, path: str | Path | None = None, outbox: Outbox | None = None) -> None:
        self.outbox = outbox
        self.path = _checked(path) if path is not None else default_path()
        self._db = self._open(self.path)

    def of(self, judge: str, texts: Sequence[str]) -> "KeptAnswers":
        """Return the votes on these texts by the judge with this key."""
        hashes = [(records.sha256(text),) for text in texts]
        return KeptAnswers(self, self._named("judge", [(utf8(judge),)]), self._named("text", hashes))

    def question_names(self, questions: Sequence[Question]) -> Named:
        """Return the numbers and digests of questions, each with its frame."""
        return self._named(
            "question", [(utf8(question.frame), utf8(question.text)) for question in questions]
        )

    def known(self, judge: Named, question: Named, texts: Named) -> tuple[NDArray[np.int8], Margins]:
        """Return the votes on one question about each text, `UNASKED` if no vote is kept, and their margins.

        Raises:
            StoreError: if a kept vote is damaged.
        """
        codes, margins = np.full(len(texts.ids), UNASKED, dtype=np.int8), np.full(len(texts.ids), np.nan)
        hit, votes = self._votes(int(judge.ids[0]), int(question.ids[0]), texts.ids)
        expected = records.vote_checksums(judge, question, texts[hit], votes["answer"], votes["margin"])
        if (expected != votes["checksum"]).any():
            raise store_file.damaged(self.path, "a vote is not the one that was kept")
        codes[hit], margins[hit] = votes["answer"], votes["margin"]
        return codes, margins

    def add(
        self, judge: Named, questions: Named, texts: Named, codes: NDArray[np.int8], margins: Margins
    ) -> None:
        """Keep votes, one per row; on return they are in the file."""
        with self._writing():
            self._db.executemany(
                records.KEEP_VOTE, records.vote_rows(judge, questions, texts, codes, margins)
            )

    def keep_votes(
        self,
        judge: str,
        frame: str,
        question: str,
        texts: Sequence[bytes],
        codes: NDArray[np.int8],
        margins: Margins,
    ) -> NDArray[np.int8]:
        """Keep one judge's votes on one question; a vote that is already kept is not replaced.

        Args:
            judge: the judge's key.
            frame: the question's frame.
            question: the question as it is asked.
            texts: the sha256 of each text, no two equal.
            codes: the votes on these texts.
            margins: the votes' margins; NaN where unknown.

        Returns:
            The codes of the votes kept before, `UNASKED` where there was no vote.
        """
        of_judge = self._named("judge", [(utf8(judge),)])
        about = self._named("question", [(utf8(frame), utf8(question))])
        those = self._named("text", [(text,) for text in texts])
        before, _ = self.known(of_judge, about, those)
        self.add(of_judge, about, those, codes, margins)
        return before

    def replies(self, judge: str, asked: Sequence[A]) -> dict[A, str]:
        """Return the kept replies of the judge with this key, by what was asked.

        Raises:
            StoreError: if a kept reply is damaged.
        """
        with self._explained():
            found = {one: self._reply(records.found_by(judge, *one)) for one in asked}
        return {one: reply for one, reply in found.items() if reply is not None}

    def keep_reply(self, judge: str, asked: Asked, reply: str, replace: bool = False) -> None:
        """Keep a reply; on return it is in the file. Only the sha256 of the prompt is kept.

        Args:
            judge: the judge's key.
            asked: what the judge was asked.
            reply: what the judge said.
            replace: whether the reply replaces one that is already kept; otherwise the kept one stays.
        """
        self.keep_replies([(records.found_by(judge, *asked), reply)], replace)

    def keep_replies(self, replies: Iterable[tuple[FoundBy, str]], replace: bool = False) -> list[str | None]:
        """Keep all of these replies, or none if an error occurs; on return they are in the file.

        Args:
            replies: pairs of what identifies a reply and the reply, each identified differently.
            replace: as for `keep_reply`.

        Returns:
            For each reply, the one kept before; None if there was none.
        """
        with self._writing():
            return [self._keep_reply(found_by, reply, replace) for found_by, reply in replies]

    def count(self) -> tuple[int, int]:
        """Return how many votes and how many replies are kept."""
        with self._explained():
            votes, replies = (
                self._db.execute(f"SELECT count(*) FROM {table}") for table in ("answer", "reply")
            )
            return int(votes.fetchone()[0]), int(replies.fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _votes(self, judge: int, question: int, texts: Ids) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Return for which of these texts a vote is kept, and the kept votes."""
        with self._explained():
            between = int(texts.min(initial=0)), int(texts.max(initial=0))
            rows = self._db.execute(records.FIND_VOTES, (judge, question, *between))
            found = store_file.numbers(self.path, rows, records.VOTE)
        if not len(found):
            return np.zeros(len(texts), dtype=bool), found
        place = np.searchsorted(found["text"], texts).clip(max=len(found) - 1)
        hit = found["text"][place] == texts
        return hit, found[place[hit]]

    def _keep_reply(self, found_by: FoundBy, reply: str, replace: bool) -> str | None:
        before = self._reply(found_by)
        key, *place = found_by
        data = utf8(reply)
        (number,) = self._numbers("judge", [(key,)])
        row = (int(number), *place, data, records.reply_checksum(*found_by, data))
        self._db.execute(records.REPLACE_REPLY if replace else records.KEEP_REPLY, row)
        return before

    def _reply(self, found_by: FoundBy) -> str | None:
        row = self._db.execute(records.FIND_REPLY, found_by).fetchone()
        if row is None:
            return None
        reply, checksum = row
        if not isinstance(reply, bytes) or records.reply_checksum(*found_by, reply) != checksum:
            raise store_file.damaged(self.path, "a reply is not the one that was kept")
        return records.text_of(reply)

    def _named(self, table: str, keys: Sequence[tuple[bytes, ...]]) -> Named:
        with self._writing():
            return records.named(self._numbers(table, keys), keys)

    def _numbers(self, table: str, keys: Sequence[tuple[bytes, ...]]) -> Ids:
        """Return the numbers of judges, questions or texts; give new ones a number."""
        self._db.executemany(records.keep_name(table), keys)
        return self._find(table, keys)

    def _find(self, table: str, keys: Sequence[tuple[bytes, ...]]) -> Ids:
        """Return the numbers of judges, questions or texts; -1 for those without a number."""
        find = records.find_name(table)
        rows = (self._db.execute(find, key).fetchone() for key in keys)
        return store_file.numbers(self.path, (row[0] if row else -1 for row in rows), np.int64)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._explained(), store_file.writing(self._db):
            yield

    def _explained(self) -> AbstractContextManager[None]:
        return store_file.explained(self.path)


class ReadOnlyStore(AnswerStore):
    """A store that is read without writing to its file or next to it. A file that does not exist holds nothing.

    Raises:
        StoreError: if the file is not a store, is damaged, or comes from another version.
    """

    _open = staticmethod(store_file.to_read)

    def _named(self, table: str, keys: Sequence[tuple[bytes, ...]]) -> Named:
        """Return judges, questions or texts; those that are not in the file have the number -1."""
        with self._explained():
            return records.named(self._find(table, keys), keys)


class AskAnew:
    """A store that finds only replies that came through it; they replace replies that were kept before.

    Args:
        store: a store, or its path; it is opened when it is needed.
        came: what identifies the replies that already came through.
    """

    def __init__(self, store: AnswerStore | str | Path | None = None, came: Iterable[FoundBy] = ()) -> None:
        self._given = store
        self._came = set(came)

    @cached_property
    def store(self) -> AnswerStore:
        """The store in which the replies are kept."""
        return self._given if isinstance(self._given, AnswerStore) else AnswerStore(self._given)

    @property
    def outbox(self) -> Outbox | None:
        """The store's outbox."""
        return self.store.outbox

    def replies(self, judge: str, asked: Sequence[A]) -> dict[A, str]:
        """Return replies that came through, as `AnswerStore.replies` does."""
        return self.store.replies(
            judge, [one for one in asked if records.found_by(judge, *one) in self._came]
        )

    def keep_reply(self, judge: str, asked: Asked, reply: str) -> None:
        """Keep a reply, as `AnswerStore.keep_reply` does, in place of one kept before."""
        self.store.keep_reply(judge, asked, reply, replace=True)
        self._came.add(records.found_by(judge, *asked))


class KeptAnswers:
    """One judge's votes about a list of texts, found and kept by their place in that list."""

    def __init__(self, store: AnswerStore, judge: Named, texts: Named) -> None:
        self._store, self._judge, self._texts = store, judge, texts

    def recall(
        self, questions: Sequence[Question], given: NDArray[np.int8], margins: Margins | None = None
    ) -> None:
        """Fill in kept votes where `given` is `UNASKED`.

        Args:
            questions: the questions of the columns.
            given: codes [texts, questions].
            margins: an array of the same shape, if the margins are wanted too; NaN for a vote without a margin.

        Raises:
            StoreError: if a kept vote is damaged.
        """
        self._questions = self._store.question_names(questions)
        for column in range(len(questions)):
            unasked = given[:, column] == UNASKED
            if unasked.any():
                known = self._store.known(self._judge, self._questions[[column]], self._texts[unasked])
                given[unasked, column] = known[0]
                if margins is not None:
                    margins[unasked, column] = known[1]

    def keep(
        self, pairs: NDArray[np.int64], answers: NDArray[np.int8], margins: Margins | None = None
    ) -> None:
        """Keep the votes on `pairs` [n, 2] of (text, question), questions as last recalled.

        Args:
            pairs: what was asked.
            answers: codes [n].
            margins: the votes' margins [n], in the judge's own unit; NaN or None if unknown.
        """
        known = np.full(len(pairs), np.nan) if margins is None else np.asarray(margins, dtype=np.float64)
        self._store.add(self._judge, self._questions[pairs[:, 1]], self._texts[pairs[:, 0]], answers, known)


def _checked(path: object) -> Path:
    """Return the file that a user names, as a path."""
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise StoreError(f"store is {brief(path)}; expected the name of a file.")
    return Path(path)
