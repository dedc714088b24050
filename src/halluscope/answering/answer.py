"""Asks a vision-language model a benchmark's questions, and writes its responses to a file of JSON lines.

The file grows batch by batch; repeating the call resumes where a killed one stopped.
"""

import hashlib
import json
import os
from collections.abc import Callable, Container, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from tqdm import tqdm

from halluscope import limits
from halluscope.answering.models import Asked, Model
from halluscope.answering.sources import Source
from halluscope.errors import BuildError
from halluscope.files.opening import parse
from halluscope.files.writing import only_writer
from halluscope.judging.planning import CHARACTERS_A_TOKEN
from halluscope.reading.datasets import Row
from halluscope.responses.names import PROMPT
from halluscope.sanitize import short_repr
from halluscope.validation import LARGEST_SEED, finite, whole

# The key in each line that describes the run; a file never mixes lines of different runs
RUN = "run"

# The key of a line for the model's reply in the first turn, if there was one
FIRST = "first"

# The most tokens of the reply to a first turn
FIRST_TOKENS = 1024

COLDEST, HOTTEST = 0.01, 10.0

# The tokens of a question and of its response, as a server counted them, by OpenAI's names
Usage = dict[str, int]


@dataclass(frozen=True)
class Sample:
    """How responses are drawn."""

    seed: int = 0  # of all draws, from 0 to `LARGEST_SEED`
    # the number by which scores are divided before the draw, from `COLDEST` to `HOTTEST`
    temperature: float = 1.0

    def __post_init__(self) -> None:
        whole("seed", self.seed, most=LARGEST_SEED)
        finite("temperature", self.temperature, COLDEST, HOTTEST)

    def seed_of(self, question: str, turn: str) -> int:
        """Return the seed of a question in a turn, derived from the question's name."""
        digest = hashlib.sha256(f"{self.seed} {turn} {question}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1


def answer(
    model: Model | Callable[[], Model], source: Source, out: Path, *, progress: bool = True, **asked: Any
) -> int:
    """Ask the model the questions that have no response in `out` yet, as `Run` says; return how many got one."""
    run = Run(source, **asked)
    with only_writer(out) as file:
        run.read(file, out)
        model = model() if callable(model) else model
        if run.first:
            model.check_turns()
        run.settings = {"model": model.key, "chat": model.chat, **run.settings}
        done, end = run.read(file, out)
        file.truncate(end)
        left, written = run.left(done), 0
        start = len(run.rows) - len(left)
        # a killed run loses the first turns of the rows that are asked together
        together = run.batch_size * model.at_once if run.first else len(left)
        lines = (run.ask(model, left[i : i + together]) for i in range(0, len(left), together or 1))
        with tqdm(
            total=len(run.rows), initial=start, desc="answering", unit="question", disable=not progress
        ) as bar:
            for line in chain.from_iterable(lines):
                file.write(line)
                file.flush()
                written += 1
                bar.update()
    return written


class Outlook(NamedTuple):
    """What a run will take."""

    requests: int  # how many questions have no response yet, each turn counted
    done: int  # how many have one
    read: float  # tokens of the prompts that are left
    said: float  # tokens of the responses that are left
    is_measured: bool  # whether tokens are those that a server counted for the responses so far


def plan(source: Source, out: Path, **asked: Any) -> Outlook:
    """Return what the same call of `answer` will take, by what the server counted for the responses so far.

    Before any response, a token is taken as 4 characters, images as nothing, and each response as its longest.
    """
    run = Run(source, **asked)
    done: dict[str, Usage] = {}
    if out.exists():
        with out.open("rb") as file:
            done, _ = run.read(file, out)
    left, first = run.left(done), run.first or ""
    reads, says = (
        [usage[name] for usage in done.values() if name in usage]
        for name in ("prompt_tokens", "completion_tokens")
    )
    if reads and says and not first:
        read, said = (len(left) * sum(counts) / len(counts) for counts in (reads, says))
        return Outlook(len(left), len(done), read, said, True)
    characters = sum(len(source.benchmark.asked(row, run.asked_with) + 2 * first) for row in left)
    turns, replies = (2, FIRST_TOKENS * len(left)) if first else (1, 0)
    read, said = characters / CHARACTERS_A_TOKEN + replies, float(len(left) * run.tokens + replies)
    return Outlook(turns * len(left), len(done), read, said, False)


@dataclass
class Run:
    """What is asked and how, all checked; each line of the file holds the `settings`."""

    source: Source
    prompt: str | None = None  # another prompt, or the name of one; None for the benchmark's own
    max_new_tokens: int | None = None  # None for the benchmark's own
    sample: Sample | None = None  # None for the likeliest responses
    first: str | None = None  # what is sent in a turn before the question; None for nothing
    limit: int | None = None  # how many rows, from the first on; None for all
    batch_size: int = 8

    def __post_init__(self) -> None:
        source, benchmark, first = self.source, self.source.benchmark, self.first
        self.asked_with = benchmark.named_prompt(self.prompt)
        benchmark.check_prompt(self.asked_with or benchmark.prompt)
        self.tokens = benchmark.max_new_tokens if self.max_new_tokens is None else self.max_new_tokens
        for name in ("max_new_tokens", "batch_size", "limit"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name} is {value}; expected at least 1.")
        if first is not None and not first.strip():
            raise ValueError("The first turn is empty; expected what to ask before the question.")
        every = len(source.rows)
        self.rows = source.rows.select(range(min(self.limit or every, every)))
        self.settings: dict[str, Any] = {
            "dataset": source.name,
            "questions": f"{every}-{source.digest(self.asked_with)}",
            "prompt": source.prompt(self.asked_with),
            "max_new_tokens": self.tokens,
            "sample": self.sample and asdict(self.sample),
            FIRST: first and {"prompt": first, "max_new_tokens": FIRST_TOKENS},
        }

    def left(self, done: Container[str]) -> list[Row]:
        return [row for row in self.rows if self._name(row) not in done]

    def _name(self, row: Row) -> str:
        return json.dumps([row.get(name) for name in self.source.dataset.key])

    def ask(self, model: Model, rows: list[Row]) -> Iterator[bytes]:
        """Yield a line for each response as it comes; a row without one has no line."""
        how = (self.sample.temperature if self.sample else 0.0, self.batch_size)
        begun: list[tuple[Row, tuple[str, ...]]] = [(row, ()) for row in rows]  # each row's turns so far
        if self.first:
            asked = [self._asked(row, (self.first,), FIRST) for row in rows]
            replies = sorted((i, reply) for i, (reply, _) in model.replies(asked, FIRST_TOKENS, *how))
            begun = [(rows[i], (self.first, reply)) for i, reply in replies]
        benchmark = self.source.benchmark
        asked = [
            self._asked(row, (*turns, benchmark.asked(row, self.asked_with)), "response")
            for row, turns in begun
        ]
        for i, (response, more) in model.replies(asked, self.tokens, *how):
            row, turns = begun[i]
            line = about(row, self.source.dataset.key)
            line |= {FIRST: turns[-1]} if turns else {}
            line |= {"response": response, **more}
            line |= {} if "question" in row else {"prompt": asked[i].turns[-1]}
            line |= {PROMPT: self.prompt} if self.prompt in benchmark.prompts else {}
            yield json.dumps({**line, RUN: self.settings}).encode() + b"\n"

    def _asked(self, row: Row, turns: tuple[str, ...], turn: str) -> Asked:
        image, sample = row[self.source.key], self.sample
        return Asked(
            turns,
            None if image is None else partial(self.source.find, image),
            sample.seed_of(self._name(row), turn) if sample else None,
        )

    def read(self, file: IO[bytes], out: Path) -> tuple[dict[str, Usage], int]:
        """Return what a server counted for each question that has a response, and where a file's whole lines end."""
        done: dict[str, Usage] = {}
        limits.check("file", file.seek(0, os.SEEK_END), str(out))
        end = file.seek(0)
        for number, line in enumerate(file, 1):
            is_whole, where = line.endswith(b"\n"), f"{out}, line {number}"
            try:
                row = parse(line.decode("utf-8", "replace"), where)
            except BuildError as error:
                if not is_whole and self._begins(line):
                    break
                raise ValueError(
                    f"{error} `halluscope answer` did not write this file; name a new file."
                ) from error
            if not isinstance(row, dict) or not isinstance(row.get(RUN), dict):
                raise ValueError(f"{where} was not written by `halluscope answer`; name a new file.")
            if other := [name for name in self.settings if row[RUN].get(name) != self.settings[name]]:
                said = ", ".join(
                    f"{name} {short_repr(row[RUN].get(name))}, not {short_repr(self.settings[name])}"
                    for name in other
                )
                raise ValueError(
                    f"{where} was made with {said}. Name a new file, or repeat the earlier settings."
                )
            if is_whole:
                done[self._name(row)] = row.get("usage", {})
                end += len(line)
        return done, end

    def _begins(self, line: bytes) -> bool:
        """Whether a line that is cut off is the beginning of a line that `answer` writes for this source."""
        begins = (
            json.dumps({**about(row, self.source.dataset.key), column: ""}).removesuffix('"}').encode()
            for row in self.source.rows
            for column in (FIRST, "response")
        )
        return any(line.startswith(begin) or begin.startswith(line) for begin in begins)


def about(row: Row, id: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns of a row that a line repeats, which identify its question."""
    return {name: row[name] for name in (*id, "image_id", "question") if name in row}
