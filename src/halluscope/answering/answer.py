"""Puts a benchmark's questions to a vision-language model and keeps the answers in a file of JSON lines.

The file grows batch by batch; the same call goes on where a killed one stopped. It is what `halluscope score` reads.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from halluscope.answering.sources import Source
from halluscope.answering.vlm import Vlm
from halluscope.errors import BuildError
from halluscope.files.opening import parse
from halluscope.reading.rows import Row

RUN = "run"
"""What each line says of the run that made it; lines of different runs do not mix."""


def answer(
    vlm: Vlm | Callable[[], Vlm],
    source: Source,
    out: Path,
    *,
    prompt: str | None = None,
    max_new_tokens: int | None = None,
    batch_size: int = 8,
    limit: int | None = None,
    progress: bool = True,
) -> int:
    """Answer the questions that `out` does not answer yet.

    Args:
        vlm: who answers, or what loads it when everything else is checked.
        source: what is asked.
        out: the file; a last line that is cut off is asked again.
        prompt: what to ask instead; "{question}" stands for the row's question.
        max_new_tokens: how long an answer may be (default: the benchmark's).
        batch_size: how many prompts are answered at a time.
        limit: ask only the first so many questions.
        progress: show it.

    Returns:
        How many answers were added.

    Raises:
        ValueError: for a file that another model, prompt or dataset made, or is none of this kind; before a question
            is asked.
    """
    benchmark = source.benchmark
    benchmark.check_prompt(prompt or benchmark.prompt)
    length = benchmark.max_new_tokens if max_new_tokens is None else max_new_tokens
    for name, value in (("max_new_tokens", length), ("batch_size", batch_size), ("limit", limit)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1.")
    settings = {
        "dataset": source.name,
        "questions": f"{len(source.rows)}-{source.digest(prompt)}",
        "prompt": prompt or benchmark.prompt,
        "max_new_tokens": length,
    }
    _read(out, settings, source)
    out.parent.mkdir(parents=True, exist_ok=True)
    vlm = vlm if isinstance(vlm, Vlm) else vlm()
    run = {"model": vlm.key, "chat": vlm.chat, **settings}
    done, end = _read(out, run, source)
    if out.exists():
        os.truncate(out, end)
    rows = source.rows.select(range(min(limit, len(source.rows)))) if limit else source.rows
    left = [row for row in rows if _name(row, source.dataset.key) not in done]
    with (
        out.open("a", encoding="utf-8") as file,
        tqdm(
            total=len(rows),
            initial=len(rows) - len(left),
            desc="answering",
            unit="question",
            disable=not progress,
        ) as bar,
    ):
        for some in _batches(left, source.key, batch_size):
            images = (
                [source.find(row[source.key]) for row in some] if some[0][source.key] is not None else None
            )
            said = vlm.reply([benchmark.asked(row, prompt) for row in some], images, length)
            for row, text in zip(some, said, strict=True):
                file.write(json.dumps({**_about(row, source.dataset.key), "response": text, RUN: run}) + "\n")
            file.flush()
            bar.update(len(some))
    return len(left)


def _batches(rows: list[Any], key: str, size: int) -> Iterator[list[Any]]:
    """Rows in their order, so many at a time; a batch has an image for each of its rows, or for none."""
    for _, alike in groupby(rows, key=lambda row: row[key] is None):
        while some := list(islice(alike, size)):
            yield some


def _read(out: Path, run: Mapping[str, Any], source: Source) -> tuple[set[str], int]:
    """Which questions a file answers, and where its whole lines end: a last one that was cut off does not count."""
    done: set[str] = set()
    end = 0
    if not out.exists():
        return done, end
    if not out.is_file():
        raise ValueError(f"{out} is a folder; expected a file of answers, or a new name.")
    with out.open("rb") as file:
        for number, line in enumerate(file, 1):
            whole, where = line.endswith(b"\n"), f"{out}, line {number}"
            try:
                row = parse(line.decode("utf-8", "replace"), where)
            except BuildError:
                if not whole and (number > 1 or _begun(line, source)):
                    break
                raise
            if not isinstance(row, dict) or not isinstance(row.get(RUN), dict):
                raise ValueError(f"{where} was not written by `halluscope answer`; choose a new file.")
            if other := [name for name in run if row[RUN].get(name) != run[name]]:
                said = ", ".join(
                    f"{name} {row[RUN].get(name)!r:.80}, not {run[name]!r:.80}" for name in other
                )
                raise ValueError(f"{where} was made with {said}. Choose a new file.")
            if whole:
                done.add(_name(row, source.dataset.key))
                end += len(line)
    return done, end


def _begun(line: bytes, source: Source) -> bool:
    """Whether a file's only line, cut off, is the beginning of our first."""
    first = json.dumps({**_about(source.rows[0], source.dataset.key), "response": ""})
    ours = first.removesuffix('"}').encode()
    return line.startswith(ours) or ours.startswith(line)


def _about(row: Row, id: tuple[str, ...]) -> dict[str, Any]:
    """What a line says of its question."""
    return {name: row[name] for name in (*id, "image_id", "question") if name in row}


def _name(row: Mapping[str, Any], id: tuple[str, ...]) -> str:
    return json.dumps([row.get(name) for name in id])
