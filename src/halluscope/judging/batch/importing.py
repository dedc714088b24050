"""Reads the output of batch files into the cache: in any order, in parts, even twice, only for exported requests."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import sanitize
from halluscope.errors import BuildError
from halluscope.files.json_stream import lines
from halluscope.files.opening import check_once
from halluscope.files.writing import only_writer
from halluscope.judging.batch.requests import CAME, ID, Reply, Vote, Wanted, came, read_list, rounds
from halluscope.judging.cache import Cache, Request
from halluscope.judging.client import Failure
from halluscope.judging.endpoint import reply_of, vote_of
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED

AT_ONCE = 10_000  # How many votes and replies are read before they are kept, in one step per judge

EXPECTED = (
    "a line of a batch's output or error file, with a custom_id, and a response with its status_code and body, or an "
    "error"
)

# A request's id, what it asked, and the vote or reply as it was read, or a `Failure`
Answer = tuple[str, Wanted, Any]


@dataclass
class BatchImport:
    """The counts of what was read."""

    asked: int  # how many requests were exported, in all rounds
    new: int = 0  # how many votes and replies are newly kept
    kept: int = 0  # how many equal those that were kept before
    others: int = 0  # how many differ from those kept before, which are not replaced
    # how many requests got no vote or reply, by reason
    failures: Counter[str] = field(default_factory=Counter)
    # for each reason, one of the server's messages, made safe to show
    said: dict[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> int:
        """How many lines have been read."""
        return self.new + self.kept + self.others + self.failures.total()


def take(files: Sequence[Path], folder: Path, cache: Cache) -> BatchImport:
    """Keep the votes and replies in batches' output."""
    # All files are checked before anything is kept. A run that is killed halfway may be repeated.
    check_once(files)
    asked = _asked(folder)
    for _ in _rows(files, asked):
        pass
    taken = BatchImport(len(asked))
    rows = _rows(files, asked)
    while batch := list(islice(rows, AT_ONCE)):
        _keep([_read(id, asked[id], row) for id, row in batch], folder, cache, taken)
    return taken


def _asked(folder: Path) -> dict[str, Wanted]:
    if not (parts := rounds(folder)):
        raise FileNotFoundError(
            f"{folder} holds no round of an export; expected the folder that `halluscope ask export --out` wrote."
        )
    return {id: wanted for part in parts for id, wanted in read_list(part)}


def _rows(files: Iterable[Path], asked: dict[str, Wanted]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of the files, each after the id of its exported request."""
    for file in files:
        for where, row in lines(file, "reply"):
            if (
                not isinstance(row, dict)
                or not isinstance(row.get(ID), str)
                or not {"response", "error"} & row.keys()
            ):
                raise BuildError(
                    f"{where} is {sanitize.short_repr(row)}; expected {EXPECTED}. Nothing was kept."
                )
            if row[ID] not in asked:
                raise BuildError(
                    f"{where} answers the request {sanitize.short_repr(row[ID])}, which is not in any round of the "
                    "export; "
                    "expected answers to exported requests. Name the folder of the export that it belongs to, or leave "
                    "the file out. Nothing was kept."
                )
            yield row[ID], row


def _read(id: str, wanted: Wanted, row: dict[str, Any]) -> Answer:
    completion = _completion(row)
    said = reply_of(completion, empty=wanted.empty) if isinstance(wanted, Reply) else vote_of(completion)
    return id, wanted, said


def _completion(row: dict[str, Any]) -> Any:
    response, error = row.get("response"), row.get("error")
    if isinstance(error, dict) and error:
        return _failure(f"error {sanitize.heard(sanitize.short_repr(error.get('code'), 400), 40)}", error)
    if not isinstance(response, dict):
        return Failure("no response")
    status, body = response.get("status_code"), response.get("body")
    if status != 200:
        return _failure(f"HTTP {sanitize.heard(sanitize.short_repr(status, 400), 40)}", body)
    return body


def _failure(reason: str, words: Any) -> Failure:
    inner = words.get("error", words) if isinstance(words, dict) else words
    said = inner.get("message", inner) if isinstance(inner, dict) else inner
    return Failure(
        reason, words=said if isinstance(said, str) else sanitize.short_repr(said, 400) if said else ""
    )


def _keep(answers: Sequence[Answer], folder: Path, cache: Cache, taken: BatchImport) -> None:
    replies: dict[str, tuple[Reply, str]] = {}
    votes: dict[str, tuple[Vote, Any]] = {}
    for id, wanted, said in answers:
        first: dict[str, Any] = replies if isinstance(wanted, Reply) else votes
        if isinstance(said, Failure):
            taken.failures[said.reason] += 1
            taken.said.setdefault(said.reason, said.said if said.words else "")
        elif id in first:
            _count(taken, _word(first[id][1]), _word(said))
        else:
            first[id] = wanted, said
    _keep_replies(replies, folder, cache, taken)
    _keep_votes(votes.values(), cache, taken)


def _keep_replies(
    replies: dict[str, tuple[Reply, str]], folder: Path, cache: Cache, taken: BatchImport
) -> None:
    """Keep replies; one that was asked again replaces the kept reply, but only once."""
    anew = {id for id, (wanted, _) in replies.items() if wanted.fresh}
    anew -= came(folder) if anew else set()
    for replace in (False, True):
        of_judge: dict[str, dict[Request, str]] = defaultdict(dict)
        for id, (wanted, reply) in replies.items():
            if (id in anew) == replace:
                of_judge[wanted.judge][wanted.request] = reply
        for judge, new in of_judge.items():
            before = {} if replace else cache.replies(judge, new)
            cache.keep_replies(judge, new, replace)
            for request, reply in new.items():
                _count(taken, before.get(request), reply)
    if anew:
        with only_writer(folder / CAME) as file:
            file.write(
                "".join(f"\n{id}" for id in anew).encode()
            )  # so a line that was cut off stays separate


def _keep_votes(votes: Iterable[tuple[Vote, tuple[int, float]]], cache: Cache, taken: BatchImport) -> None:
    of_judge: dict[str, list[tuple[Vote, tuple[int, float]]]] = defaultdict(list)
    for vote, said in votes:
        of_judge[vote.judge].append((vote, said))
    for judge, new in of_judge.items():
        questions = {(vote.frame, vote.question): Question(vote.question, "", vote.frame) for vote, _ in new}
        texts = {vote.text: bytes.fromhex(vote.text) for vote, _ in new}
        row, column = ({key: number for number, key in enumerate(keys)} for keys in (texts, questions))
        pairs = np.array([(row[vote.text], column[vote.frame, vote.question]) for vote, _ in new])
        codes, margins = zip(*(said for _, said in new), strict=True)
        about = judge, list(questions.values()), list(texts.values())
        before, _ = cache.votes(*about)
        cache.keep_votes(*about, pairs, np.array(codes, dtype=np.int8), np.array(margins))
        for was, code in zip(before[tuple(pairs.T)].tolist(), codes, strict=True):
            _count(taken, None if was == UNASKED else was, code)


def _word(said: Any) -> Any:
    """Return what is compared: a reply, or a vote without its margin."""
    return said if isinstance(said, str) else said[0]


def _count(taken: BatchImport, before: Any, said: Any) -> None:
    if before is None:
        taken.new += 1
    elif before == said:
        taken.kept += 1
    else:
        taken.others += 1
