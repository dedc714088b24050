"""A run of each benchmark that the registry finds, on the small copy of its dataset."""

import json
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from halluscope import registry, scoring
from halluscope.benchmark import Benchmark
from halluscope.runs import folder as folders
from halluscope.runs.run import Run, score
from tests import small_datasets
from tests.fake_judge import FakeJudge
from tests.test_contract import offline

SAID = (
    "A dog and a cup, no person.",
    "Yes.",
    "No, <think>yes</think> a \0 dog \u2028 \u202e",
    "",
    "Two dogs.",
)
"""What LVLMs say, one after the other."""


def made(benchmark: Benchmark, tmp_path: Path, said: Any = SAID, **options: Any) -> Run:
    """Score a benchmark's small dataset, by default with a judge that needs no model."""
    name = registry.first_dataset(benchmark).name
    built = small_datasets.build(name, tmp_path) if not (tmp_path / name).exists() else tmp_path / name
    rows = benchmark.module("rows").load([str(built)])
    key = registry.first_dataset(benchmark).key
    responses = [
        {column: getattr(row, column) for column in key} | {"response": text}
        for row, text in zip(rows, cycle(said), strict=False)
    ]
    asked = {"bootstrap": 20, "seed": 1} | offline(benchmark) | rules(benchmark) | options
    each = {option: [asked[option]] for option in benchmark.each & asked.keys()}
    ready = scoring.prepare(benchmark, [responses], [str(built)], asked | each)
    return score(benchmark, ready[0], asked)


def rules(benchmark: Benchmark) -> dict[str, Any]:
    """The option that lets rules judge."""
    if benchmark.judges is None:
        return {}
    return {"judges" if benchmark.judges.kind == "votes" else "judge": benchmark.judges.rules[0]}


FITTING = {"string": "dog", "integer": 0, "number": 0, "boolean": False, "array": []}
"""A value of each type of a schema."""


class Fitting(FakeJudge):
    """A grader whose replies fit the given schema; without a schema it says "incorrect"."""

    structured = True

    def __init__(self) -> None:
        super().__init__(lambda prompt, _: "incorrect")

    def replies(self, asked: Sequence[str], schemas: Sequence[Any]) -> Iterator[tuple[int, str | None]]:
        for (place, said), schema in zip(super().replies(asked), schemas, strict=True):
            fields = (schema or {"properties": {}})["properties"]
            fitting = {
                name: of["enum"][-1] if "enum" in of else FITTING[of["type"]] for name, of in fields.items()
            }
            yield place, json.dumps(fitting) if schema else said


def moody(replies: list[str | None]) -> FakeJudge:
    """A grader with a sequence of replies."""
    said = cycle(replies)
    return FakeJudge(lambda prompt, _: next(said))


def write(run: Run, folder: Path) -> Path:
    """Write a run."""
    folders.write([run], folder)
    return folder


def change(folder: Path, name: str, by: Any, sealed: bool = True) -> None:
    """Change a file of JSON or JSON lines, and compute new checksums, as a forger would."""
    file = folder / name
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        text = "".join(json.dumps(row) + "\n" for row in by(rows))
    else:
        text = json.dumps(by(json.loads(file.read_text())))
    file.write_text(text)
    if sealed:
        seal(folder)


def seal(folder: Path) -> None:
    """Compute the checksums again."""
    names = [line.split("  ", 1)[1] for line in (folder / folders.SUMS).read_text().splitlines()]
    lines = (f"{folders.sha256_of(folder / name)}  {name}\n" for name in names)
    (folder / folders.SUMS).write_text("".join(lines))
