"""Every answer of a language model is kept, so that nothing is asked twice.

One SQLite file. A vote is found by its content: the judge's key (model, revision, precision, reading rule), the
question with its frame, and the text. A reply in free text likewise: by the judge's key, the prompt, which repeat it
is, and its seed. Each carries a checksum, so that damage is an error and never another answer. A killed run leaves
every answer that was given, and several processes may share the file (on a local disk: SQLite's write-ahead log does
not work over a network file system).
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
"""A prompt, which repeat of it, and the seed; without a seed it is 0."""

A = TypeVar("A", bound=Asked)


class Outbox(Protocol):
    """Where requests for what is not kept are put down instead of being sent."""

    def put_reply(self, judge: str, prompt: str, repeat: int, seed: int, body: Mapping[str, Any]) -> None:
        """Put down the request for the reply to a prompt, of the judge with this key."""
        ...

    def put_vote(self, judge: str, text: str, question: Question, body: Mapping[str, Any]) -> None:
        """Put down the request for the vote on a question about a text, of the judge with this key."""
        ...

    def put_off(self, judge: str, questions: int) -> None:
        """Count questions that depend on votes that are still to come."""
        ...


def default_path() -> Path:
    """The file that HALLUSCOPE_STORE names, else `answers.sqlite` in the user's cache folder."""
    named = os.environ.get("HALLUSCOPE_STORE")
    return Path(named) if named else cache_folder() / "answers.sqlite"


class AnswerStore:
    """The answers given so far, in one file that is made when it is missing.

    Args:
        path: of the file; by default `default_path`.
        outbox: where requests for what is not kept are put down instead of being sent; None lets them be sent.

    Raises:
        StoreError: if the file is not a store, is damaged, comes from another version, or cannot be written.
    """

    _open = staticmethod(store_file.to_write)

    def __init__(self, path: str | Path | None = None, outbox: Outbox | None = None) -> None:
        self.outbox = outbox
        self.path = _checked(path) if path is not None else default_path()
        self._db = self._open(self.path)

    def of(self, judge: str, texts: Sequence[str]) -> "KeptAnswers":
        """The votes that the judge with this key gave about these texts."""
        hashes = [(records.sha256(text),) for text in texts]
        return KeptAnswers(self, self._named("judge", [(utf8(judge),)]), self._named("text", hashes))

    def question_names(self, questions: Sequence[Question]) -> Named:
        """Questions, each with its frame, as they are found in the file."""
        return self._named(
            "question", [(utf8(question.frame), utf8(question.text)) for question in questions]
        )

    def known(self, judge: Named, question: Named, texts: Named) -> tuple[NDArray[np.int8], Margins]:
        """The votes on one question about each text, `UNASKED` where none is kept, and their margins.

        Raises:
            StoreError: if a vote is not the one that was kept.
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
        """Keep votes, row by row; on return they are in the file."""
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
        """Keep one judge's votes on one question; one that is kept already stays.

        Args:
            judge: its key.
            frame: of the question.
            question: as it is put.
            texts: the sha256 of each text, no two equal.
            codes: the votes on them.
            margins: by how much each was given; NaN for unknown.

        Returns:
            The codes of what was kept before, `UNASKED` for a new one.
        """
        of_judge = self._named("judge", [(utf8(judge),)])
        about = self._named("question", [(utf8(frame), utf8(question))])
        those = self._named("text", [(text,) for text in texts])
        before, _ = self.known(of_judge, about, those)
        self.add(of_judge, about, those, codes, margins)
        return before

    def replies(self, judge: str, asked: Sequence[A]) -> dict[A, str]:
        """The kept replies of the judge with this key, by what was asked.

        Raises:
            StoreError: if a reply is not the one that was kept.
        """
        with self._explained():
            found = {one: self._reply(records.found_by(judge, *one)) for one in asked}
        return {one: reply for one, reply in found.items() if reply is not None}

    def keep_reply(self, judge: str, asked: Asked, reply: str, replace: bool = False) -> None:
        """Keep a reply; on return it is in the file. Of the prompt, only its sha256 is kept.

        Args:
            judge: its key.
            asked: what it was asked.
            reply: what it said.
            replace: whether it stands in for one that is kept already, which otherwise stays.
        """
        self.keep_replies([(records.found_by(judge, *asked), reply)], replace)

    def keep_replies(self, replies: Iterable[tuple[FoundBy, str]], replace: bool = False) -> list[str | None]:
        """Keep replies, all of them or none; on return they are in the file.

        Args:
            replies: each with what it is found by, no two by the same.
            replace: as `keep_reply` has it.

        Returns:
            What was kept of each before; None for a new one.
        """
        with self._writing():
            return [self._keep_reply(found_by, reply, replace) for found_by, reply in replies]

    def count(self) -> tuple[int, int]:
        """How many votes and how many replies are kept."""
        with self._explained():
            votes, replies = (
                self._db.execute(f"SELECT count(*) FROM {table}") for table in ("answer", "reply")
            )
            return int(votes.fetchone()[0]), int(replies.fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _votes(self, judge: int, question: int, texts: Ids) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """About which of these texts a vote is kept, and these votes."""
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
        """The numbers of judges, questions or texts; new ones get a number."""
        self._db.executemany(records.keep_name(table), keys)
        return self._find(table, keys)

    def _find(self, table: str, keys: Sequence[tuple[bytes, ...]]) -> Ids:
        """The numbers of judges, questions or texts; -1 for what has none."""
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
    """What a store holds, found without writing to it or beside it. A file that is not there holds nothing.

    Raises:
        StoreError: if the file is not a store, is damaged, or comes from another version.
    """

    _open = staticmethod(store_file.to_read)

    def _named(self, table: str, keys: Sequence[tuple[bytes, ...]]) -> Named:
        """Judges, questions or texts; those that are not there have the number -1."""
        with self._explained():
            return records.named(self._find(table, keys), keys)


class AskAnew:
    """A store in which nothing is found but replies that came through it; they replace those that were kept.

    Args:
        store: a store, or where it lies; it is opened when it is needed.
        came: what replies are found by that came through it before.
    """

    def __init__(self, store: AnswerStore | str | Path | None = None, came: Iterable[FoundBy] = ()) -> None:
        self._given = store
        self._came = set(came)

    @cached_property
    def store(self) -> AnswerStore:
        """Where the replies go."""
        return self._given if isinstance(self._given, AnswerStore) else AnswerStore(self._given)

    @property
    def outbox(self) -> Outbox | None:
        """As `AnswerStore` has it."""
        return self.store.outbox

    def replies(self, judge: str, asked: Sequence[A]) -> dict[A, str]:
        """As `AnswerStore.replies`."""
        return self.store.replies(
            judge, [one for one in asked if records.found_by(judge, *one) in self._came]
        )

    def keep_reply(self, judge: str, asked: Asked, reply: str) -> None:
        """As `AnswerStore.keep_reply`."""
        self.store.keep_reply(judge, asked, reply, replace=True)
        self._came.add(records.found_by(judge, *asked))


class KeptAnswers:
    """One judge's votes about a list of texts, found and kept by their place in that list."""

    def __init__(self, store: AnswerStore, judge: Named, texts: Named) -> None:
        self._store, self._judge, self._texts = store, judge, texts

    def recall(
        self, questions: Sequence[Question], given: NDArray[np.int8], margins: Margins | None = None
    ) -> None:
        """Fill in what is kept, where `given` is `UNASKED`.

        Args:
            questions: what the columns are about.
            given: codes [texts, questions].
            margins: of the same shape, where the margins are wanted too; NaN where a vote was kept without one.

        Raises:
            StoreError: if a vote is not the one that was kept.
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
            margins: [n], by how much each vote was given, in the judge's own unit; NaN or None for unknown.
        """
        known = np.full(len(pairs), np.nan) if margins is None else np.asarray(margins, dtype=np.float64)
        self._store.add(self._judge, self._questions[pairs[:, 1]], self._texts[pairs[:, 0]], answers, known)


def _checked(path: object) -> Path:
    """The file that a user names."""
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise StoreError(f"store is {brief(path)}; expected the name of a file.")
    return Path(path)
