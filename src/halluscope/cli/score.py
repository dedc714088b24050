"""`halluscope score NAME`: scores LVLMs' responses against a dataset, in the same way for each benchmark."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import registry, scoring
from halluscope.cli import common
from halluscope.errors import RunError
from halluscope.files.writing import check_no_folder
from halluscope.registry import Benchmark
from halluscope.reporting import published
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Notes, Table, listed, to_json
from halluscope.responses.match import NOT_COMPARED, ORDER
from halluscope.runs import comparing
from halluscope.runs import folder as folders
from halluscope.runs import run as runs
from halluscope.runs.comparison_tables import FEW, of_differences
from halluscope.runs.result_tables import beside, comparable, of_each, of_other_rows, of_results, with_choices
from halluscope.runs.run import Run
from halluscope.sanitize import one_line
from halluscope.scoring import Ready
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, tell

Results = list[tuple[str, dict[str, Any]]]
"""Names of what was scored, each with its result."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add a subcommand for each benchmark that scores responses."""
    common.add_benchmarks(parser, lambda one: one.is_scored, _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    common.add_scoring(parser, benchmark)
    parser.add_argument(
        "--intervals", action="store_true", help="show each score with its interval, if it has one"
    )
    common.add_run(parser)


def run(given: argparse.Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is scored."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    if given.out:
        check_no_folder(given.out)
        common.check_output(given, "out")
    ready = scoring.prepare(
        benchmark, given.responses, given.dataset, options, common.matching_options(given)
    )
    for one in ready:
        remark(benchmark, one, given)
    shared = {"bootstrap": given.bootstrap, "seed": given.seed}
    about = {"command": given.words, "dataset": given.dataset}
    results: Results = []
    scored: list[Run] = []
    for one in ready:
        for chosen in scoring.variants(benchmark, options):
            scored.append(runs.score(benchmark, one, chosen | shared, about))
            result = scored[-1].scores
            if result["thoughts"]:
                tell(
                    f"{_shown(one)}: {result['thoughts']:,} responses contained thoughts (text in <think> or similar "
                    "tags), which were removed."
                )
            results.append((one.matched.name, with_choices(benchmark, result, chosen)))
    if given.out:
        folders.write(scored, given.out)
        if len(scored) > 1:
            tell(f"`halluscope compare {one_line(given.out)}` compares groups and classes too.")
    if given.published and not published.of(benchmark, options):
        tell(f"No published results are known for {benchmark.title} with these options.")
    if given.format == JSON:
        notes = of_each(benchmark, results, options)
        tell("\n".join([*(line for one in notes for line in one.lines), *of_other_rows(results)]))
        papers = comparable(benchmark, results, options) if given.published else ()
        say(to_json(listed([*results, *papers])))
    else:
        resampling = Bootstrap(given.bootstrap, given.seed)
        told = _told(results, scored, given.published, options, resampling)
        common.show(told, given, benchmark, given.intervals)


def _shown(ready: Ready) -> str:
    """Return the name of what is scored, for a message."""
    return one_line(ready.matched.name)


def remark(benchmark: Benchmark, ready: Ready, given: argparse.Namespace) -> None:
    """Say how much of the dataset is scored, and how responses were matched.

    Raises:
        ValueError: for a harness's samples of only some rows, unless `--limit` or `--partial` allows that.
    """
    matched, also, said = ready.matched, registry.identity(benchmark).also, []
    if matched.by.endswith(ORDER):
        said.append(f"the responses have no id that tells them apart, so they are matched by their {ORDER}")
    if also and not matched.checked:
        said.append(
            "they state neither question nor image, and other files have the same ids: give them a column question "
            "or image, and it is checked that they are about this dataset"
        )
    if len(matched.rows) < matched.of:
        if matched.sampled and not (given.limit or getattr(given, "partial", False)):
            raise ValueError(
                f"{matched.name} holds samples of {len(matched.rows)} of the {matched.of} rows: the run had a limit, "
                f"or was cut off. Pass --limit {len(matched.rows)} to score them anyway."
            )
        said.append(scoring.part_of(benchmark, len(matched.rows), matched.of))
    for column, values in also.items():
        named = [value for value in values if value in matched.name]
        held = {getattr(row, column) for row in matched.rows}
        if len(named) == 1 and len(held) == 1 and "" not in held and named[0] not in held:
            said.append(
                f"its name says {named[0]}, but the {column} of the dataset is {held.pop()}: is this the right dataset?"
            )
    if matched.left_out:
        said.append(f"{matched.left_out:,} responses about other rows are left out")
    if matched.other_prompts:
        said.append(f"{matched.other_prompts:,} answer a prompt other than the dataset's")
    for column, count in matched.uncompared.items():
        said.append(f"the {column} of {count:,} is ignored: {NOT_COMPARED}")
    if empty := matched.texts.count(""):
        said.append(f"{empty:,} responses are empty")
    if said:
        tell(f"{_shown(ready)}: {'; '.join(said)}.")


def _told(
    results: Results,
    scored: Sequence[Run],
    with_published: bool,
    options: Mapping[str, Any],
    resampling: Bootstrap,
) -> list[Table | Notes]:
    """Return the benchmark's report on the results, which differences are not due to chance, and published scores."""
    benchmark, rows = scored[0].benchmark, scored[0].ready.matched.rows
    every = len({run.name for run in scored}) < len(scored)
    return [
        *of_results(benchmark, results, options, rows, every),
        *of_each(benchmark, results, options),
        *([] if every else _differences(scored, resampling)),
        *(beside(benchmark, results, options) if with_published else ()),
    ]


def _differences(scored: Sequence[Run], resampling: Bootstrap) -> list[Table | Notes]:
    """Compare the models by the principal score, on the rows that all have."""
    if len(scored) < 2 or not resampling.resamples:
        return []
    try:
        found = comparing.compare({run.name: run for run in scored}, [], resampling, in_parts=False)
    except RunError as error:
        return [Notes([f"The models are not compared. {error}"])]
    return of_differences(found, scored[0].benchmark, FEW)
