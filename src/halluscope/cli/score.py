"""`halluscope score NAME`: an LVLM's responses against a dataset, for each benchmark in the same way."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope import registry, scoring
from halluscope.cli import common
from halluscope.registry import Benchmark
from halluscope.reporting import published
from halluscope.reporting.tables import Named, to_json
from halluscope.responses.match import ORDER
from halluscope.scoring import Ready

Results = list[tuple[str, dict[str, Any]]]
"""The name of what was scored, and its result."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the benchmarks."""
    common.add_benchmarks(parser, lambda one: bool(one.datasets or one.reads), common.add_scoring, run)


def run(given: argparse.Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is scored."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    items = getattr(given, "items", None)
    ready = scoring.prepare(benchmark, given.responses, given.dataset, options, getattr(given, "limit", None))
    for one, file in zip(ready, given.responses, strict=True):
        _remark(benchmark, one, file, getattr(given, "limit", None))
    shared = {"bootstrap": given.bootstrap, "seed": given.seed} | ({benchmark.items: True} if items else {})
    every = [option.name for option in benchmark.options if option.every]
    results: Results = []
    for one in ready:
        for chosen in scoring.variants(benchmark, options):
            result = scoring.compute(benchmark, one, chosen | shared)
            named = {name: chosen.get(name, _default(benchmark, name)) for name in every}
            results.append((one.matched.name, named | result))
    if items:
        _write(items, ready, results, benchmark)
    _print(benchmark, results, ready, options, given)


def _remark(benchmark: Benchmark, ready: Ready, file: str, limit: int | None) -> None:
    """Say what of the dataset is scored, and by what responses were matched.

    Raises:
        ValueError: for a harness' samples of a part, unless only so many are to be scored.
    """
    matched = ready.matched
    if matched.by == ORDER:
        print(f"{file}: the responses have no id, so they are matched by their order.", file=sys.stderr)
    if benchmark.chooses and len(matched.rows) < matched.of:
        if matched.sampled and not limit:
            raise ValueError(
                f"{matched.name} holds samples of {len(matched.rows)} of the {matched.of} labelled images: of a run "
                f"with a limit, or cut off. Pass --limit {len(matched.rows)} to score them all the same."
            )
        print(
            f"{matched.name}: {len(matched.rows)} of {matched.of} labelled images are scored.",
            file=sys.stderr,
        )


def _default(benchmark: Benchmark, name: str) -> Any:
    """What `compute` takes for an option that is not given."""
    import inspect

    return inspect.signature(benchmark.compute).parameters[name].default


def _write(file: Path, ready: Sequence[Ready], results: Results, benchmark: Benchmark) -> None:
    """Move the tables of rows out of the results into a file of JSON lines."""
    key = registry.identity(benchmark)
    with file.open("w", encoding="utf-8") as lines:
        for one, (name, result) in zip(ready, results, strict=True):
            for row, found in zip(one.matched.rows, result.pop(benchmark.items), strict=True):
                known = {part: getattr(row, part) for part in key.id if part not in found}
                lines.write(json.dumps({"responses": name, **known, **found}, ensure_ascii=False) + "\n")


def _print(
    benchmark: Benchmark,
    results: Results,
    ready: Sequence[Ready],
    options: dict[str, Any],
    given: argparse.Namespace,
) -> None:
    paper = published.of(benchmark, options) if given.published else None
    if given.published and paper is None:
        print(f"No paper's results are known for {benchmark.title} in this form.", file=sys.stderr)
    shown: Named = [*results, *(paper.results if paper else ())]
    if given.format == common.JSON:
        print(to_json(shown))
        return
    report = benchmark.module("report").report
    print(
        report(
            results,
            shown,
            given.format,
            rows=ready[0].matched.rows,
            source=paper.source if paper else "",
            every=len(results) > len(ready),
            **options,
        )
    )
