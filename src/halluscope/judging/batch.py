"""Batch files in OpenAI's format: requests are written to files instead of sent, and the output is read into the cache.

The output names each request only by its id, which is a digest of the request. All rounds of an export are in one
folder: `round-1`, `round-2`, ..., each with its batch files and a list that says what each id means.
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
from typing import IO, Any, NamedTuple

import numpy as np

from halluscope import sanitize
from halluscope.errors import BuildError, OutputError
from halluscope.files.opening import check_once, lines
from halluscope.files.writing import json_line, new_folder, only_writer
from halluscope.inputs import whole
from halluscope.judging.cache import Cache, Key, Request
from halluscope.judging.client import Failure
from halluscope.judging.endpoint import PATH, reply_of, vote_of
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED

# The most requests and bytes that OpenAI accepts in one batch file (platform.openai.com/docs/guides/batch)
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000

ID = "custom_id"

LIST = "asked.jsonl"  # The file with a round's list of requests

# The file with the ids that were asked again and have come, one per line; it is in the folder of all rounds
CAME = "came.txt"

AT_ONCE = 10_000  # How many votes and replies are read before they are kept, in one step per judge

EXPECTED = (
    "a line of a batch's output or error file, with a custom_id, and a response with its status_code and body, or an "
    "error"
)


class Reply(NamedTuple):
    """A request for a grader's reply."""

    judge: str  # the grader's key
    prompt: str  # the sha256 of the prompt, in hexadecimal digits
    repeat: int
    seed: int
    fresh: bool  # whether the reply is to replace one that is kept
    empty: bool  # whether an empty text is a reply

    @property
    def request(self) -> Request:
        """What identifies the judge's reply in the cache."""
        return bytes.fromhex(self.prompt), self.repeat, self.seed


class Vote(NamedTuple):
    """A request for a voter's vote."""

    judge: str  # the voter's key
    frame: str  # the question's frame
    question: str  # the question as it is asked
    text: str  # the sha256 of the text, in hexadecimal digits


Wanted = Reply | Vote


def custom_id(wanted: Wanted) -> str:
    """Return the id of a request, 48 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(wanted).encode(), digest_size=24).hexdigest()


def rounds(folder: Path) -> list[Path]:
    """Return the folders of the rounds so far, in their order."""
    parts = [part for part in folder.glob("round-*") if part.name.removeprefix("round-").isdecimal()]
    return sorted(parts, key=lambda part: int(part.name.removeprefix("round-")))


def read_list(part: Path) -> Iterator[tuple[str, Wanted]]:
    """Yield what was asked in a round, each request after its id."""
    for where, row in lines(part / LIST):
        try:
            kind: Any = Vote if "frame" in row else Reply
            values = {name: sys.intern(x) if isinstance(x, str) else x for name, x in row.items()}
            id, wanted = values.pop(ID), kind(**values)
        except (AttributeError, KeyError, TypeError):
            id, wanted = "", None
        if wanted is None or id != custom_id(wanted):
            raise BuildError(
                f"{where} is {sanitize.short_repr(row)}; expected a request as `halluscope ask export` lists it. "
                "Export again, into another folder."
            )
        yield id, wanted


def came(folder: Path) -> set[str]:
    """Return the ids that were asked again and whose replies have come."""
    file = folder / CAME
    return set(file.read_text(encoding="utf-8").split()) if file.exists() else set()


def came_anew(folder: Path) -> set[Key]:
    """Return the keys of the replies that were asked for again and have come."""
    ids = came(folder)
    of_lists = (one for part in rounds(folder) if ids for one in read_list(part))
    return {(one.judge, *one.request) for id, one in of_lists if id in ids and isinstance(one, Reply)}


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
    """The round of requests that is being written."""

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
        self._last = rounds(self.folder)
        self._earlier = {id for part in self._last for id, _ in read_list(part)}
        number = int(self._last[-1].name.removeprefix("round-")) + 1 if self._last else 1
        self.part = self.folder / f"round-{number}"
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
            names = [file.name for file in self._new.iterdir()]
            for last in self._last[-1:]:
                if filecmp.cmpfiles(self._new, last, names, shallow=False)[0] == names:
                    self.part, self.is_new = last, False
            if not self._ids or not self.is_new:
                raise _NothingNew

    @property
    def now(self) -> Counter[str]:
        """How many requests the round has, by the judge's key."""
        counted: Counter[str] = Counter()
        for file in self.files:
            counted[file.judge] += file.requests
        return counted

    def add(self, wanted: Wanted, body: Mapping[str, Any]) -> None:
        """Write down the request for a vote or a reply."""
        self.put += 1
        id = custom_id(wanted)
        if id in self._ids:
            return
        line = json.dumps({ID: id, "method": "POST", "url": f"/v1/{PATH}", "body": body}) + "\n"
        if len(line) > self.bytes:
            raise OutputError(
                f"A request to {sanitize.one_line(wanted.judge, 80)} has {len(line):,} bytes, but a file may have only "
                f"{self.bytes:,}. Allow larger files (--bytes)."
            )
        self._ids.add(id)
        file, stream = self._file(wanted.judge, len(line))
        stream.write(line)
        file.requests += 1
        file.bytes += len(line)
        self._list.write(json_line({ID: id, **wanted._asdict()}))

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

    def count(self, before: Any, said: Any) -> None:
        """Count a reply, or a vote's code, that came where `before` was kept; None if nothing was."""
        if before is None:
            self.new += 1
        elif before == said:
            self.kept += 1
        else:
            self.others += 1


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
    taken = BatchImport(len(asked))
    rows = _rows(files, asked)
    while batch := list(islice(rows, AT_ONCE)):
        _keep([(id, asked[id], _completion(row)) for id, row in batch], folder, cache, taken)
    return taken


def _rows(files: Iterable[Path], asked: Mapping[str, Wanted]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of the files, each after the id of its exported request."""
    for file in files:
        for where, row in lines(file, "reply"):
            good = isinstance(row, dict) and isinstance(row.get(ID), str)
            if not good or not {"response", "error"} & row.keys():
                raise BuildError(
                    f"{where} is {sanitize.short_repr(row)}; expected {EXPECTED}. Nothing was kept."
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
    response, error = row.get("response"), row.get("error")
    words: Any
    if isinstance(error, dict) and error:
        kind, what, words = "error", error.get("code"), error
    elif not isinstance(response, dict):
        return Failure("no response")
    elif (status := response.get("status_code")) == 200:
        return response.get("body")
    else:
        kind, what, words = "HTTP", status, response.get("body")
    for name in ("error", "message"):
        words = words.get(name, words) if isinstance(words, dict) else words
    text = words if isinstance(words, str) else sanitize.short_repr(words, 400) if words else ""
    return Failure(f"{kind} {sanitize.heard(sanitize.short_repr(what, 400), 40)}", words=text)


def _keep(batch: Sequence[tuple[str, Wanted, Any]], folder: Path, cache: Cache, taken: BatchImport) -> None:
    """Keep votes and replies, the first of each; one that was asked again replaces the kept reply, but only once."""
    found: dict[str, tuple[Any, Any]] = {}  # id -> the request, and the reply or the vote with its margin
    wanted: Any
    said: Any
    for id, wanted, completion in batch:
        is_reply = isinstance(wanted, Reply)
        said = reply_of(completion, empty=wanted.empty) if is_reply else vote_of(completion)
        if isinstance(said, Failure):
            taken.failures[said.reason] += 1
            taken.said.setdefault(said.reason, said.said if said.words else "")
        elif id in found:
            was = found[id][1]
            taken.count(*((was, said) if is_reply else (was[0], said[0])))
        else:
            found[id] = wanted, said
    anew = {id for id, (wanted, _) in found.items() if isinstance(wanted, Reply) and wanted.fresh}
    anew -= came(folder) if anew else set()
    groups: dict[tuple[bool, str, bool], list[tuple[Any, Any]]] = defaultdict(list)
    for id, (wanted, said) in found.items():
        groups[isinstance(wanted, Vote), wanted.judge, id in anew].append((wanted, said))
    for (are_votes, judge, replace), group in groups.items():
        if are_votes:
            _keep_votes(judge, group, cache, taken)
            continue
        new = {wanted.request: reply for wanted, reply in group}
        before = {} if replace else cache.replies(judge, new)
        cache.keep_replies(judge, new, replace)
        for request, reply in new.items():
            taken.count(before.get(request), reply)
    if anew:
        with only_writer(
            folder / CAME
        ) as file:  # lines begin with a break, so one that was cut off stays separate
            file.write("".join(f"\n{id}" for id in anew).encode())


def _keep_votes(
    judge: str, group: Sequence[tuple[Vote, tuple[int, float]]], cache: Cache, taken: BatchImport
) -> None:
    questions = {(vote.frame, vote.question): Question(vote.question, "", vote.frame) for vote, _ in group}
    texts = {vote.text: bytes.fromhex(vote.text) for vote, _ in group}
    row, column = ({key: number for number, key in enumerate(keys)} for keys in (texts, questions))
    pairs = np.array([(row[vote.text], column[vote.frame, vote.question]) for vote, _ in group])
    codes, margins = zip(*(said for _, said in group), strict=True)
    about = judge, list(questions.values()), list(texts.values())
    before, _ = cache.votes(*about)
    cache.keep_votes(*about, pairs, np.array(codes, dtype=np.int8), np.array(margins))
    for was, code in zip(before[tuple(pairs.T)].tolist(), codes, strict=True):
        taken.count(None if was == UNASKED else was, code)
