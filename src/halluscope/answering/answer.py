"""Asks a vision-language model a benchmark's questions, and writes its responses to a file of JSON lines.

The file grows batch by batch; repeating the call resumes where a killed one stopped. `halluscope score` reads the file.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from halluscope import limits
from halluscope.answering.model import Asked, Model, Said, Sample
from halluscope.answering.sources import Source
from halluscope.errors import BuildError
from halluscope.files.opening import parse
from halluscope.files.writing import only_writer
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


@dataclass(frozen=True)
class Asking:
    """How a question is asked."""

    prompt: str | None  # the prompt to use instead of the benchmark's own; None for the benchmark's own
    max_new_tokens: int  # the most tokens of a response
    sample: Sample | None  # how responses are drawn; None for greedy decoding
    first: str | None  # what is asked in an earlier turn; None for no such turn
    called: str | None = None  # the name of the prompt; None if it has no name

    def settings(self) -> dict[str, Any]:
        """Return the part of these settings that each line holds."""
        return {
            "max_new_tokens": self.max_new_tokens,
            "sample": self.sample and asdict(self.sample),
            FIRST: self.first and {"prompt": self.first, "max_new_tokens": FIRST_TOKENS},
        }


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
    asking, settings = _asking(source, prompt, max_new_tokens, sample, first, batch_size, limit)
    with only_writer(out) as file:
        _read(file, out, settings, source)
        model = model if isinstance(model, Model) else model()
        if first:
            model.check_turns()
        run = {"model": model.key, "chat": model.chat, **settings}
        done, end = _read(file, out, run, source)
        file.truncate(end)
        rows, left = _left(source, done, limit)
        written = 0
        with tqdm(
            total=len(rows),
            initial=len(rows) - len(left),
            desc="answering",
            unit="question",
            disable=not progress,
        ) as bar:
            for some in _batches(left, source.key, model.window(batch_size, bool(first))):
                for line in _answered(model, source, some, asking, run):
                    file.write(line)
                    file.flush()
                    written += 1
                    bar.update()
    return written


def _asking(
    source: Source,
    prompt: str | None,
    max_new_tokens: int | None,
    sample: Sample | None,
    first: str | None,
    batch_size: int,
    limit: int | None,
) -> tuple[Asking, dict[str, Any]]:
    """Return how questions are asked, and what each line holds of it besides the model; all is checked."""
    benchmark = source.benchmark
    called = prompt if prompt in benchmark.prompts else None
    prompt = benchmark.named_prompt(prompt)
    benchmark.check_prompt(prompt or benchmark.prompt)
    length = benchmark.max_new_tokens if max_new_tokens is None else max_new_tokens
    for name, value in (("max_new_tokens", length), ("batch_size", batch_size), ("limit", limit)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1.")
    if first is not None and not first.strip():
        raise ValueError("The first turn is empty; expected what to ask before the question.")
    asking = Asking(prompt, length, sample, first, called)
    settings = {
        "dataset": source.name,
        "questions": f"{len(source.rows)}-{source.digest(prompt)}",
        "prompt": source.prompt(prompt),
        **asking.settings(),
    }
    return asking, settings


def _left(source: Source, done: set[str], limit: int | None) -> tuple[Any, list[Row]]:
    """Return the rows to answer, and those of them that have no response yet."""
    rows = source.rows.select(range(min(limit, len(source.rows)))) if limit else source.rows
    return rows, [row for row in rows if _name(row, source.dataset.key) not in done]


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
    asking, settings = _asking(source, prompt, max_new_tokens, sample, first, 1, limit)
    done: set[str] = set()
    counted: list[dict[str, int]] = []
    if out.exists():
        with out.open("rb") as file:
            done, end = _read(file, out, settings, source)
            file.seek(0)
            counted = [json.loads(line).get("usage", {}) for line in file.read(end).splitlines()]
    _, left = _left(source, done, limit)
    reads, says = (
        [one[name] for one in counted if name in one] for name in ("prompt_tokens", "completion_tokens")
    )
    if reads and says and not first:
        read, said = len(left) * sum(reads) / len(reads), len(left) * sum(says) / len(says)
    else:
        texts = [source.benchmark.asked(row, asking.prompt) + 2 * (first or "") for row in left]
        turns = FIRST_TOKENS if first else 0
        read = sum(map(len, texts)) / CHARACTERS_A_TOKEN + len(left) * turns
        said = float(len(left) * (asking.max_new_tokens + turns))
    return Outlook(len(left) * (2 if first else 1), len(done), read, said, bool(reads and says and not first))


def _answered(
    model: Model, source: Source, rows: list[Row], asking: Asking, run: Mapping[str, Any]
) -> Iterator[bytes]:
    """Yield a line for each response as it comes; a row without one has no line."""
    drawn = asking.sample

    def asked(
        turn: str, prompts: Mapping[int, str], earlier: Mapping[int, str]
    ) -> Iterator[tuple[int, Said]]:
        places = [*prompts]
        names = [_name(rows[place], source.dataset.key) for place in places]
        seeds: list[int | None] = [*drawn.seeds(names, turn)] if drawn else [None] * len(places)
        every = [
            Asked(
                prompts[place],
                None if (image := rows[place][source.key]) is None else partial(source.find, image),
                (asking.first or "", earlier[place]) if place in earlier else None,
                seed,
            )
            for place, seed in zip(places, seeds, strict=True)
        ]
        tokens = FIRST_TOKENS if turn == FIRST else asking.max_new_tokens
        for index, said in model.replies(every, tokens, drawn.temperature if drawn else 0.0):
            yield places[index], said

    before: dict[int, str] = {}
    if asking.first:
        first = asked(FIRST, dict.fromkeys(range(len(rows)), asking.first), {})
        before = {place: said.text for place, said in first}
    prompts = {
        place: source.benchmark.asked(row, asking.prompt)
        for place, row in enumerate(rows)
        if place in before or not asking.first
    }
    for place, said in asked("response", prompts, before):
        row = rows[place]
        line = about(row, source.dataset.key)
        line |= {FIRST: before[place]} if before else {}
        line |= {"response": said.text, **said.beside}
        line |= {} if "question" in row else {"prompt": prompts[place]}
        line |= {PROMPT: asking.called} if asking.called else {}
        yield json.dumps({**line, RUN: run}).encode() + b"\n"


def _batches(rows: list[Any], key: str, size: int) -> Iterator[list[Any]]:
    """Yield rows in their order, `size` at a time; in a batch, either all rows have an image or none has."""
    for _, alike in groupby(rows, key=lambda row: row[key] is None):
        while some := list(islice(alike, size)):
            yield some


def _read(file: IO[bytes], out: Path, run: Mapping[str, Any], source: Source) -> tuple[set[str], int]:
    """Return the questions that have a response in a file, and where its complete lines end."""
    done: set[str] = set()
    limits.check("file", file.seek(0, os.SEEK_END), str(out))
    end = file.seek(0)
    for number, line in enumerate(file, 1):
        whole, where = line.endswith(b"\n"), f"{out}, line {number}"
        try:
            row = parse(line.decode("utf-8", "replace"), where)
        except BuildError as error:
            if not whole and _begun(line, source):
                break
            raise ValueError(
                f"{error} `halluscope answer` did not write this file; name a new file."
            ) from error
        if not isinstance(row, dict) or not isinstance(row.get(RUN), dict):
            raise ValueError(f"{where} was not written by `halluscope answer`; name a new file.")
        if other := [name for name in run if row[RUN].get(name) != run[name]]:
            said = ", ".join(
                f"{name} {short_repr(row[RUN].get(name))}, not {short_repr(run[name])}" for name in other
            )
            raise ValueError(
                f"{where} was made with {said}. Name a new file, or repeat the earlier settings."
            )
        if whole:
            done.add(_name(row, source.dataset.key))
            end += len(line)
    return done, end


def _begun(line: bytes, source: Source) -> bool:
    """Whether a line that is cut off is the beginning of a line that `answer` writes for this source."""
    key = source.dataset.key
    begins = (
        json.dumps({**about(row, key), column: ""}).removesuffix('"}').encode()
        for row in source.rows
        for column in (FIRST, "response")
    )
    return any(line.startswith(begin) or begin.startswith(line) for begin in begins)


def about(row: Row, id: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns of a row that a line repeats, which identify its question."""
    return {name: row[name] for name in (*id, "image_id", "question") if name in row}


def _name(row: Mapping[str, Any], id: tuple[str, ...]) -> str:
    return json.dumps([row.get(name) for name in id])
