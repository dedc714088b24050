"""Writes requests to a server as batch files in OpenAI's format, round by round, instead of sending them."""

import filecmp
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from halluscope.errors import OutputError
from halluscope.files.writing import new_folder
from halluscope.inputs import whole
from halluscope.judging.batch.requests import (
    ID,
    LIST,
    Reply,
    Vote,
    Wanted,
    custom_id,
    listed,
    next_round,
    read_list,
    rounds,
)
from halluscope.judging.cache import sha256
from halluscope.judging.endpoint import PATH
from halluscope.judging.questions import Question
from halluscope.sanitize import one_line

URL = f"/v1/{PATH}"

# The most requests and bytes that OpenAI accepts in one batch file (platform.openai.com/docs/guides/batch)
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000


@dataclass
class BatchFile:
    """A file of requests to one judge."""

    name: str  # the file's name in its folder
    judge: str  # the judge's key
    requests: int = 0  # how many requests the file holds
    bytes: int = 0  # the file's size in bytes


class _NothingNew(Exception):
    """Raised if there is no new round to write."""


@dataclass
class BatchExport:
    """The round of requests that is being written; an implementation of `halluscope.judging.cache.BatchExport`."""

    folder: Path  # the folder of all rounds
    requests: int = MOST_REQUESTS  # how many requests one file may hold
    bytes: int = MOST_BYTES  # how many bytes one file may have
    fresh: bool = False  # whether new replies are to replace kept ones
    # the files that were written and are to be sent
    files: list[BatchFile] = field(default_factory=list)
    # the most questions that may be asked in later rounds, by the judge's key
    later: Counter[str] = field(default_factory=Counter)
    again: int = 0  # how many of the requests were in an earlier round too
    put: int = 0  # how often a request was written down, counting repeated ones

    def __post_init__(self) -> None:
        whole("requests", self.requests, 1, what="a number of requests")
        whole("bytes", self.bytes, 1, what="a number of bytes")
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError(f"{self.folder} is a file; expected a folder, or a new name.")
        self._earlier = {id for part in rounds(self.folder) for id, _ in read_list(part)}
        self.part = next_round(self.folder)
        self.is_new = True
        self._ids: set[str] = set()
        self._open: dict[str, tuple[BatchFile, IO[str]]] = {}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Accept requests inside this context. At its end, the round appears in the folder in one step."""
        # If there are no requests, or the last round holds the same ones, no round appears; in the latter
        # case `part` is the last round's folder
        with suppress(_NothingNew), new_folder(self.folder) as new:
            self._new = new / self.part.name
            self._new.mkdir()
            with ExitStack() as self._closing:
                self._list = self._create(LIST)
                yield
            self.again = len(self._ids & self._earlier)
            last = rounds(self.folder)[-1:]
            if last and _are_equal(self._new, last[0]):
                self.part, self.is_new = last[0], False
            if not self._ids or not self.is_new:
                raise _NothingNew

    @property
    def now(self) -> Counter[str]:
        """How many requests the round has, by the judge's key."""
        counted: Counter[str] = Counter()
        for file in self.files:
            counted[file.judge] += file.requests
        return counted

    def put_reply(
        self, judge: str, prompt: str, repeat: int, seed: int, body: Mapping[str, Any], empty: bool = False
    ) -> None:
        """Write down the request for a grader's reply."""
        self._put(Reply(judge, sha256(prompt).hex(), repeat, seed, self.fresh, empty), body)

    def put_vote(self, judge: str, text: str, question: Question, body: Mapping[str, Any]) -> None:
        """Write down the request for a voter's vote."""
        self._put(Vote(judge, question.frame, question.text, sha256(text).hex()), body)

    def put_off(self, judge: str, questions: int) -> None:
        """Count questions that are asked in a later round if earlier votes leave them open."""
        if questions:
            self.later[judge] += questions

    def _put(self, wanted: Wanted, body: Mapping[str, Any]) -> None:
        self.put += 1
        id = custom_id(wanted)
        if id in self._ids:
            return
        line = json.dumps({ID: id, "method": "POST", "url": URL, "body": body}) + "\n"
        if len(line) > self.bytes:
            raise OutputError(
                f"A request to {one_line(wanted.judge, 80)} has {len(line):,} bytes, but a file may have only "
                f"{self.bytes:,}. Allow larger files (--bytes)."
            )
        self._ids.add(id)
        file, stream = self._file(wanted.judge, len(line))
        stream.write(line)
        file.requests += 1
        file.bytes += len(line)
        self._list.write(listed(id, wanted))

    def _file(self, judge: str, size: int) -> tuple[BatchFile, IO[str]]:
        """Return the file for the next request to a judge, which has `size` bytes."""
        if judge in self._open:
            file, stream = self._open[judge]
            if file.requests < self.requests and file.bytes + size <= self.bytes:
                return file, stream
            stream.close()
        judges = list(dict.fromkeys([*self._open, judge]))
        number = sum(file.judge == judge for file in self.files) + 1
        file = BatchFile(f"judge-{judges.index(judge) + 1}-{number:04}.jsonl", judge)
        self.files.append(file)
        self._open[judge] = file, self._create(file.name)
        return self._open[judge]

    def _create(self, name: str) -> IO[str]:
        file = (self._new / name).open("w", encoding="utf-8", errors="backslashreplace")
        return self._closing.enter_context(file)


def _are_equal(one: Path, other: Path) -> bool:
    sizes = ({path.name: path.stat().st_size for path in part.glob("*.jsonl")} for part in (one, other))
    return next(sizes) == next(sizes) and filecmp.cmp(one / LIST, other / LIST, shallow=False)
