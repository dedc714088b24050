"""Asks a vision-language model a benchmark's questions, and writes its responses to a file of JSON lines.

The file grows batch by batch; repeating the call resumes where a killed one stopped. `halluscope score` reads the file.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from halluscope import limits
from halluscope.answering.sources import Source
from halluscope.answering.vlm import Sample, Vlm
from halluscope.errors import BuildError
from halluscope.files.opening import parse
from halluscope.files.writing import only_writer
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
    vlm: Vlm | Callable[[], Vlm],
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
    """Ask the model the questions that have no response in `out` yet."""
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
    with only_writer(out) as file:
        _read(file, out, settings, source)
        vlm = vlm if isinstance(vlm, Vlm) else vlm()
        if first:
            vlm.check_turns()
        run = {"model": vlm.key, "chat": vlm.chat, **settings}
        done, end = _read(file, out, run, source)
        file.truncate(end)
        rows = source.rows.select(range(min(limit, len(source.rows)))) if limit else source.rows
        left = [row for row in rows if _name(row, source.dataset.key) not in done]
        with tqdm(
            total=len(rows),
            initial=len(rows) - len(left),
            desc="answering",
            unit="question",
            disable=not progress,
        ) as bar:
            for some in _batches(left, source.key, batch_size):
                file.write(b"".join(_answered(vlm, source, some, asking, run)))
                file.flush()
                bar.update(len(some))
    return len(left)


def _answered(
    vlm: Vlm, source: Source, rows: list[Row], asking: Asking, run: Mapping[str, Any]
) -> Iterator[bytes]:
    with_images = rows[0][source.key] is not None
    images = [source.find(row[source.key]) for row in rows] if with_images else None
    named = [_name(row, source.dataset.key) for row in rows]
    asked = [source.benchmark.asked(row, asking.prompt) for row in rows]

    def draws(turn: str) -> tuple[float, list[int]] | None:
        drawn = asking.sample
        return (drawn.temperature, drawn.seeds(named, turn)) if drawn else None

    before: list[str] = []
    if asking.first:
        before = vlm.reply([asking.first] * len(rows), images, FIRST_TOKENS, None, draws(FIRST))
    earlier = [(asking.first or "", text) for text in before] or None
    said = vlm.reply(asked, images, asking.max_new_tokens, earlier, draws("response"))
    for place, (row, text) in enumerate(zip(rows, said, strict=True)):
        kept = {FIRST: before[place]} if before else {}
        put = {} if "question" in row else {"prompt": asked[place]}
        put |= {PROMPT: asking.called} if asking.called else {}
        line = {**about(row, source.dataset.key), **kept, "response": text, **put, RUN: run}
        yield json.dumps(line).encode() + b"\n"


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
