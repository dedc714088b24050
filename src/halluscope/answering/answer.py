"""Asks a vision-language model a benchmark's questions, and writes its responses to a file of JSON lines.

The file grows batch by batch; repeating the call resumes where a killed one stopped. `halluscope score` reads the file.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

from PIL.Image import Image
from tqdm import tqdm

from halluscope import limits
from halluscope.answering.sources import Source
from halluscope.errors import BuildError
from halluscope.files.opening import parse
from halluscope.files.writing import only_writer
from halluscope.inputs import LARGEST_SEED, finite, whole
from halluscope.judging.cost import CHARACTERS_A_TOKEN
from halluscope.reading.datasets import Row
from halluscope.responses.files import PROMPT
from halluscope.sanitize import short_repr

# The key in each line that describes the run; a file never mixes lines of different runs
RUN = "run"

# The key of a line for the model's reply in the first turn, if there was one
FIRST = "first"

# The most tokens of the reply to a first turn
FIRST_TOKENS = 1024

COLDEST, HOTTEST = 0.01, 10.0


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


@dataclass(frozen=True)
class Asked:
    """A question to a model."""

    prompt: str
    image: Callable[[], Image] | None  # opens the image; None for a question without one
    earlier: tuple[str, str] | None = None  # the first turn and its reply; None without one
    seed: int | None = None  # of the draw; None for the likeliest response


@dataclass(frozen=True)
class Said:
    """A response, and what else is known about it."""

    text: str
    beside: dict[str, Any] = field(default_factory=dict)  # columns of the response's line


@runtime_checkable
class Model(Protocol):
    """A vision-language model, here or behind a server."""

    chat: str  # what tells chat templates apart

    @property
    def key(self) -> str:
        """The model's name, and all about it that can change a response; never a path."""

    def check_turns(self) -> None:
        """Check that the model can be shown an earlier turn."""

    def window(self, batch_size: int, first: bool) -> int:
        """Return how many questions to hand over at a time; `first` says that there is a first turn."""

    def replies(
        self, asked: Sequence[Asked], max_new_tokens: int, temperature: float = 0.0
    ) -> Iterator[tuple[int, Said]]:
        """Yield each question's index with its response, as they come; a question may stay without one."""


def answer(
    model: Model | Callable[[], Model],
    source: Source,
    out: Path,
    *,
    prompt: str | None = None,
    max_new_tokens: int | None = None,
    sample: Sample | None = None,
    first: str | None = None,
    batch_size: int = 8,
    limit: int | None = None,
    progress: bool = True,
) -> int:
    """Ask the model the questions that have no response in `out` yet; return how many got one."""
    run = _Run(source, prompt, max_new_tokens, sample, first, limit, batch_size)
    with only_writer(out) as file:
        run.read(file, out)
        model = model if isinstance(model, Model) else model()
        if first:
            model.check_turns()
        run.settings = {"model": model.key, "chat": model.chat, **run.settings}
        done, end = run.read(file, out)
        file.truncate(end)
        left, written = run.left(done), 0
        start = len(run.rows) - len(left)
        with tqdm(
            total=len(run.rows), initial=start, desc="answering", unit="question", disable=not progress
        ) as bar:
            # in a batch, either all rows have an image or none has
            for _, alike in groupby(left, key=lambda row: row[source.key] is None):
                while some := list(islice(alike, model.window(batch_size, bool(first)))):
                    for line in run.ask(model, some):
                        file.write(line)
                        file.flush()
                        written += 1
                        bar.update()
    return written


@dataclass(frozen=True)
class Outlook:
    """What a run will take."""

    requests: int  # how many questions have no response yet, each turn counted
    done: int  # how many have one
    read: float  # tokens of the prompts that are left
    said: float  # tokens of the responses that are left
    is_measured: bool  # whether tokens are those that a server counted for the responses so far

    def price(self, read: float, said: float) -> float:
        """Return the price at these prices per million tokens."""
        return (self.read * read + self.said * said) / 1e6


def plan(
    source: Source,
    out: Path,
    *,
    prompt: str | None = None,
    max_new_tokens: int | None = None,
    sample: Sample | None = None,
    first: str | None = None,
    limit: int | None = None,
) -> Outlook:
    """Return what the same call of `answer` will take, by what the server counted for the responses so far.

    Before any response, a token is taken as 4 characters, images as nothing, and each response as its longest.
    """
    run = _Run(source, prompt, max_new_tokens, sample, first, limit)
    done: set[str] = set()
    counted: list[dict[str, int]] = []
    if out.exists():
        with out.open("rb") as file:
            done, end = run.read(file, out)
            file.seek(0)
            counted = [json.loads(line).get("usage", {}) for line in file.read(end).splitlines()]
    left = run.left(done)
    reads, says = (
        [one[name] for one in counted if name in one] for name in ("prompt_tokens", "completion_tokens")
    )
    is_measured = bool(reads and says and not first)
    if is_measured:
        read, said = len(left) * sum(reads) / len(reads), len(left) * sum(says) / len(says)
    else:
        characters = sum(len(source.benchmark.asked(row, run.prompt) + 2 * (first or "")) for row in left)
        turns = FIRST_TOKENS if first else 0
        read = characters / CHARACTERS_A_TOKEN + len(left) * turns
        said = float(len(left) * (run.tokens + turns))
    return Outlook(len(left) * (2 if first else 1), len(done), read, said, is_measured)


class _Run:
    """What is asked and how, all checked; each line of the file holds the `settings`."""

    def __init__(
        self,
        source: Source,
        prompt: str | None,
        max_new_tokens: int | None,
        sample: Sample | None,
        first: str | None,
        limit: int | None,
        batch_size: int = 1,
    ) -> None:
        benchmark = source.benchmark
        self.source, self.sample, self.first, self.id = source, sample, first, source.dataset.key
        self.called = prompt if prompt in benchmark.prompts else None  # the prompt's name
        self.prompt = benchmark.named_prompt(prompt)  # None for the benchmark's own
        benchmark.check_prompt(self.prompt or benchmark.prompt)
        self.tokens = benchmark.max_new_tokens if max_new_tokens is None else max_new_tokens
        for name, value in (("max_new_tokens", self.tokens), ("batch_size", batch_size), ("limit", limit)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; expected at least 1.")
        if first is not None and not first.strip():
            raise ValueError("The first turn is empty; expected what to ask before the question.")
        self.rows = source.rows.select(range(min(limit, len(source.rows)))) if limit else source.rows
        self.settings: dict[str, Any] = {
            "dataset": source.name,
            "questions": f"{len(source.rows)}-{source.digest(self.prompt)}",
            "prompt": source.prompt(self.prompt),
            "max_new_tokens": self.tokens,
            "sample": sample and asdict(sample),
            FIRST: first and {"prompt": first, "max_new_tokens": FIRST_TOKENS},
        }

    def left(self, done: set[str]) -> list[Row]:
        return [row for row in self.rows if self._name(row) not in done]

    def _name(self, row: Row) -> str:
        return json.dumps([row.get(name) for name in self.id])

    def ask(self, model: Model, rows: list[Row]) -> Iterator[bytes]:
        """Yield a line for each response as it comes; a row without one has no line."""
        temperature = self.sample.temperature if self.sample else 0.0
        before: dict[int, str] = {}
        if self.first:
            asked = [self._asked(row, self.first, FIRST) for row in rows]
            before = {place: said.text for place, said in model.replies(asked, FIRST_TOKENS, temperature)}
        places = sorted(before) if self.first else list(range(len(rows)))
        prompts = {place: self.source.benchmark.asked(rows[place], self.prompt) for place in places}
        asked = [self._asked(rows[place], prompts[place], "response", before.get(place)) for place in places]
        for index, said in model.replies(asked, self.tokens, temperature):
            place = places[index]
            line = about(rows[place], self.id)
            line |= {FIRST: before[place]} if before else {}
            line |= {"response": said.text, **said.beside}
            line |= {} if "question" in rows[place] else {"prompt": prompts[place]}
            line |= {PROMPT: self.called} if self.called else {}
            yield json.dumps({**line, RUN: self.settings}).encode() + b"\n"

    def _asked(self, row: Row, prompt: str, turn: str, reply: str | None = None) -> Asked:
        image = row[self.source.key]
        return Asked(
            prompt,
            None if image is None else partial(self.source.find, image),
            None if reply is None else (self.first or "", reply),
            self.sample.seed_of(self._name(row), turn) if self.sample else None,
        )

    def read(self, file: IO[bytes], out: Path) -> tuple[set[str], int]:
        """Return the questions that have a response in a file, and where its complete lines end."""
        done: set[str] = set()
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
                done.add(self._name(row))
                end += len(line)
        return done, end

    def _begins(self, line: bytes) -> bool:
        """Whether a line that is cut off is the beginning of a line that `answer` writes for this source."""
        begins = (
            json.dumps({**about(row, self.id), column: ""}).removesuffix('"}').encode()
            for row in self.source.rows
            for column in (FIRST, "response")
        )
        return any(line.startswith(begin) or begin.startswith(line) for begin in begins)


def about(row: Row, id: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns of a row that a line repeats, which identify its question."""
    return {name: row[name] for name in (*id, "image_id", "question") if name in row}
