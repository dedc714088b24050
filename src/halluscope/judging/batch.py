"""Batch files in OpenAI's format: requests are written to files instead of sent, and the output is read into the cache.

The output names each request by its id, a digest. All rounds of an export are in one folder: `round-1`, `round-2`, ...,
each with its batch files and a list that says what each id means.
"""

import filecmp
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from halluscope import sanitize
from halluscope.errors import BuildError, OutputError
from halluscope.files.opening import check_once, lines
from halluscope.files.writing import json_line, new_folder
from halluscope.judging.cache import Cache
from halluscope.judging.client import Failure
from halluscope.judging.endpoint import PATH, Vote, reply_of, vote_of
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED
from halluscope.validation import whole

# The most requests and bytes that OpenAI accepts in one batch file (platform.openai.com/docs/guides/batch)
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000

ID = "custom_id"

LIST = "asked.jsonl"  # The file with a round's list of requests

AT_ONCE = 10_000  # How many votes and replies are read before they are kept

# A request: the judge's key, and what is asked for. Of a vote: frame and question as asked, and the text's sha256. Of
# a reply: the prompt's sha256, its repeat and seed, and `empty` if an empty text is a reply
Wanted = dict[str, Any]


def custom_id(wanted: Wanted) -> str:
    """Return the id of a request, 48 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(wanted).encode(), digest_size=24).hexdigest()


def rounds(folder: Path) -> list[Path]:
    """Return the folders of the rounds so far, in their order."""
    parts = {part.name.removeprefix("round-"): part for part in folder.glob("round-*")}
    return [parts[number] for number in sorted(filter(str.isdecimal, parts), key=int)]


def read_list(part: Path) -> Iterator[tuple[str, Wanted]]:
    """Yield what was asked in a round, each request after its id."""
    for where, row in lines(part / LIST):
        wanted = {name: sys.intern(x) if isinstance(x, str) else x for name, x in dict(row).items()}
        id = wanted.pop(ID, "")
        if id != custom_id(wanted):
            raise BuildError(
                f"{where} is {sanitize.short_repr(row)}; expected a request as `halluscope ask export` lists it. "
                "Export again, into another folder."
            )
        yield id, wanted


class _NothingNew(Exception):
    """Raised if there is no new round to write."""


@dataclass
class BatchExport:
    """The round of requests that is being written."""

    folder: Path  # the folder of all rounds
    requests: int = MOST_REQUESTS  # how many requests one file may hold
    bytes: int = MOST_BYTES  # how many bytes one file may have
    # the files that were written and are to be sent: name in the folder, judge, requests, bytes
    files: list[dict[str, Any]] = field(default_factory=list)
    # by the judge's key, how many requests the round has, and how many questions may be asked in later rounds at most
    now: Counter[str] = field(default_factory=Counter)
    later: Counter[str] = field(default_factory=Counter)
    again: int = 0  # how many of the requests were in an earlier round too
    added: int = 0  # how often a request was written down, counting repeated ones

    def __post_init__(self) -> None:
        whole("requests", self.requests, 1, what="a number of requests")
        whole("bytes", self.bytes, 1, what="a number of bytes")
        if self.folder.exists() and not self.folder.is_dir():
            raise OutputError(f"{self.folder} is a file; expected a folder, or a new name.")
        self._earlier = rounds(self.folder)
        number = int(self._earlier[-1].name.removeprefix("round-")) if self._earlier else 0
        self.part = self.folder / f"round-{number + 1}"
        self.is_new = True
        self._ids: set[str] = set()
        self._latest: dict[
            str, tuple[dict[str, Any], IO[str]]
        ] = {}  # by judge, the file that is being written

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Accept requests inside this context. At its end, the round appears in the folder in one step."""
        # If there are no requests, or the last round holds the same ones, no round appears; in the latter
        # case `part` is the last round's folder
        earlier = {id for part in self._earlier for id, _ in read_list(part)}
        with suppress(_NothingNew), new_folder(self.folder) as new:
            self._new = new / self.part.name
            self._new.mkdir()
            with ExitStack() as self._closing:
                self._list = self._create(LIST)
                yield
            self.again = len(self._ids & earlier)
            names = [file.name for file in self._new.iterdir()]
            for last in self._earlier[-1:]:
                self.is_new = filecmp.cmpfiles(self._new, last, names, shallow=False)[0] != names
                self.part = self.part if self.is_new else last
            if not self._ids or not self.is_new:
                raise _NothingNew

    def add(self, wanted: Wanted, body: Mapping[str, Any]) -> None:
        """Write down the request for a vote or a reply."""
        self.added += 1
        id, judge = custom_id(wanted), wanted["judge"]
        if id in self._ids:
            return
        line = json.dumps({ID: id, "method": "POST", "url": f"/v1/{PATH}", "body": body}) + "\n"
        if len(line) > self.bytes:
            raise OutputError(
                f"A request to {sanitize.one_line(judge, 80)} has {len(line):,} bytes, but a file may have only "
                f"{self.bytes:,}. Allow larger files (--bytes)."
            )
        self._ids.add(id)
        self.now[judge] += 1
        file, stream = self._latest.get(judge, ({}, None))
        if not stream or file["requests"] == self.requests or file["bytes"] + len(line) > self.bytes:
            if stream:
                stream.close()
            number = sum(one["judge"] == judge for one in self.files) + 1
            name = f"judge-{[*self.now].index(judge) + 1}-{number:04}.jsonl"
            file, stream = {"name": name, "judge": judge, "requests": 0, "bytes": 0}, self._create(name)
            self.files.append(file)
            self._latest[judge] = file, stream
        stream.write(line)
        file["requests"] += 1
        file["bytes"] += len(line)
        self._list.write(json_line({ID: id, **wanted}))

    def _create(self, name: str) -> IO[str]:
        file = (self._new / name).open("w", encoding="utf-8", errors="backslashreplace")
        return self._closing.enter_context(file)


@dataclass
class BatchImport:
    """The counts of what was read."""

    asked: int  # how many requests were exported, in all rounds
    new: int = 0  # how many votes and replies are newly kept
    kept: int = 0  # how many answer a request that had a vote or reply already, which stays
    # how many requests got no vote or reply, by reason
    failures: Counter[str] = field(default_factory=Counter)
    # for each reason, one of the server's messages, made safe to show
    messages: dict[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> int:
        """How many lines have been read."""
        return self.new + self.kept + self.failures.total()

    def count_new(self, number: int) -> None:
        """Count so many of the votes or replies that are kept as new."""
        self.new += number
        self.kept -= number


def take(files: Sequence[Path], folder: Path, cache: Cache) -> BatchImport:
    """Keep the votes and replies in batches' output: in any order, in parts, even twice, of exported requests only."""
    # All files are checked before anything is kept. A run that is killed halfway may be repeated.
    check_once(files)
    if not (parts := rounds(folder)):
        raise FileNotFoundError(
            f"{folder} holds no round of an export; expected the folder that `halluscope ask export --out` wrote."
        )
    asked = {id: wanted for part in parts for id, wanted in read_list(part)}
    for _ in _rows(files, asked):
        pass
    taken, rows = BatchImport(len(asked)), _rows(files, asked)
    while batch := list(islice(rows, AT_ONCE)):
        _keep([(asked[id], row) for id, row in batch], cache, taken)
    return taken


def _rows(files: Iterable[Path], asked: Mapping[str, Wanted]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of the files, each after the id of its exported request."""
    for file in files:
        for where, row in lines(file, "reply"):
            good = isinstance(row, dict) and isinstance(row.get(ID), str)
            if not good or not {"response", "error"} & row.keys():
                raise BuildError(
                    f"{where} is {sanitize.short_repr(row)}; expected a line of a batch's output or error file, with "
                    "a custom_id, and a response with its status_code and body, or an error. Nothing was kept."
                )
            if row[ID] not in asked:
                raise BuildError(
                    f"{where} answers the request {sanitize.short_repr(row[ID])}, which is not in any round of the "
                    "export; expected answers to exported requests. Name the folder of the export that it belongs to, "
                    "or leave the file out. Nothing was kept."
                )
            yield row[ID], row


def _completion(row: Mapping[str, Any]) -> Any:
    """Return the chat completion in a line of output, or a `Failure`."""
    response, words = row.get("response"), row.get("error")
    if isinstance(words, dict) and words:
        kind, what = "error", words.get("code")
    elif not isinstance(response, dict):
        return Failure("no response")
    else:
        kind, what, words = "HTTP", response.get("status_code"), response.get("body")
        if what == 200:
            return words
    reason = f"{kind} {sanitize.external_text(sanitize.short_repr(what, 400), 40)}"
    return Failure(reason, raw_message=json.dumps(words, ensure_ascii=False))


def _keep(batch: Sequence[tuple[Wanted, Mapping[str, Any]]], cache: Cache, taken: BatchImport) -> None:
    """Keep votes and replies, the first of each."""
    votes = defaultdict[tuple[str, str], dict[Question, Vote]](dict)  # by judge and text
    replies = defaultdict[str, dict[tuple[bytes, int, int], str]](dict)  # by judge
    for wanted, row in batch:
        completion, judge, is_vote = _completion(row), wanted["judge"], "frame" in wanted
        reply: Any = vote_of(completion) if is_vote else reply_of(completion, empty=wanted["empty"])
        if isinstance(reply, Failure):
            taken.failures[reply.reason] += 1
            taken.messages.setdefault(reply.reason, reply.message)
            continue
        taken.kept += 1
        if is_vote:
            question = Question(wanted["question"], "", wanted["frame"])
            votes[judge, wanted["text"]].setdefault(question, reply)
        else:
            request = bytes.fromhex(wanted["prompt"]), wanted["repeat"], wanted["seed"]
            replies[judge].setdefault(request, reply)
    for (judge, text), of_text in votes.items():
        about = judge, [*of_text], [bytes.fromhex(text)]
        taken.count_new(int((cache.votes(*about)[0] == UNASKED).sum()))
        pairs = np.array([(0, column) for column in range(len(of_text))])
        codes, margins = map(np.array, zip(*of_text.values(), strict=True))
        cache.keep_votes(*about, pairs, codes, margins)
    for judge, first in replies.items():
        taken.count_new(len(first) - len(cache.replies(judge, first)))
        cache.keep_replies(judge, first)
