"""`halluscope ask export NAME` and `halluscope ask import FILE...`: asks judges through batch files."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope import registry, scoring
from halluscope.arguments import whole
from halluscope.cli import common
from halluscope.errors import JudgingFailed
from halluscope.judging.batch import exporting, importing, requests
from halluscope.judging.batch.exporting import BatchExport
from halluscope.judging.batch.importing import BatchImport
from halluscope.judging.cache import Cache
from halluscope.judging.server import ENDPOINT, sending_nothing
from halluscope.registry import Benchmark
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, to_json
from halluscope.sanitize import one_line
from halluscope.scoring import Ready
from halluscope.terminal import say

SHOWN = 10
"""How many reasons for missing replies are shown."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the two commands."""
    commands = parser.add_subparsers(required=True, metavar="export | import")
    about = "write the requests that still have no reply as batch files; nothing is sent"
    common.add_benchmarks(
        commands.add_parser("export", help=about, description=f"{about.capitalize()}."),
        lambda one: bool(one.judges and one.is_scored),
        _add_export,
        export,
    )
    about = "read the replies to batch files into the cache"
    _add_import(commands.add_parser("import", help=about, description=f"{about.capitalize()}."))


def _add_export(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    parser.description = (
        f"Write the requests that `halluscope score {benchmark.name}` with the same options would send to judges "
        "behind an endpoint (openai:MODEL[@URL]) and that have no reply yet. Nothing is sent. Judges on this machine "
        "vote as they do in `score`. Options that only choose a convention or shape what is printed do not matter here."
        + (" With --fresh, all rounds belong in one folder." if benchmark.is_graded else "")
    )
    common.add_scoring(parser, benchmark)
    option = parser.add_argument
    option("--out", required=True, type=Path, metavar="FOLDER", help="write the rounds here, one folder each")
    option(
        "--requests",
        type=whole,
        default=exporting.MOST_REQUESTS,
        metavar="N",
        help=f"how many requests one file may hold (default: {exporting.MOST_REQUESTS:,})",
    )
    option(
        "--bytes",
        type=whole,
        default=exporting.MOST_BYTES,
        metavar="N",
        help=f"how large one file may be (default: {exporting.MOST_BYTES:,})",
    )


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=import_)
    option = parser.add_argument
    option(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="the output and error files of batches, in any order (.gz too)",
    )
    option(
        "--exported",
        required=True,
        type=Path,
        metavar="FOLDER",
        help="the folder that `ask export --out` named",
    )
    option(
        "--store",
        metavar="FILE",
        help="where the replies are kept (default: $HALLUSCOPE_STORE or the user's cache)",
    )
    option("--json", action="store_true", help="print JSON instead of text")


def export(given: argparse.Namespace) -> None:
    """Score as far as the kept replies allow, and write the requests for the missing ones."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    _check_judge(benchmark, options)
    to_ask = BatchExport(given.out, given.requests, given.bytes, bool(options.get("fresh")))
    options["store"] = _cache(given, to_ask)
    ready = scoring.prepare(
        benchmark, given.responses, given.dataset, options, common.matching_options(given)
    )
    with sending_nothing(), to_ask.opened():
        for one in ready:
            for chosen in scoring.variants(benchmark, options):
                _try(benchmark, one, chosen | {"bootstrap": 0}, to_ask)
    if given.format == JSON:
        say(to_json(_summary(to_ask)))
    else:
        common.show(_told(to_ask, given), given)


def import_(given: argparse.Namespace) -> None:
    """Read the replies, and keep them."""
    taken = importing.take(given.files, given.exported, Cache(given.store))
    say(to_json(_counts(taken)) if given.json else _told_of(taken))


def _check_judge(benchmark: Benchmark, options: Mapping[str, Any]) -> None:
    """Check that a judge is behind an endpoint, before anything is read.

    Raises:
        ValueError: if no judge is.
    """
    assert benchmark.judges is not None, "only benchmarks with judges have the command"
    name = "judge" if benchmark.is_graded else "judges"
    judges = options.get(name, benchmark.judges.default)
    named = [judges] if isinstance(judges, str) else judges
    if not any(judge.startswith(ENDPOINT) for judge in named):
        said = one_line(" ".join(named), 200) or "missing"
        raise ValueError(
            f"--{name} is {said}; expected a judge behind an endpoint: {ENDPOINT}MODEL[@URL]. "
            "To ask judges on this machine, run `halluscope score`."
        )


def _cache(given: argparse.Namespace, to_ask: BatchExport) -> Cache:
    path = getattr(given, "store", None)
    return (
        Cache(path, "refresh", to_ask, requests.came_anew(given.out))
        if to_ask.fresh
        else Cache(path, export=to_ask)
    )


def _try(benchmark: Benchmark, ready: Ready, options: Mapping[str, Any], to_ask: BatchExport) -> None:
    """Score; too few verdicts of a grader are no error where the missing ones are written as requests."""
    before = to_ask.put
    try:
        scoring.compute(benchmark, ready, options)
    except JudgingFailed:
        if to_ask.put == before or not benchmark.is_graded:
            raise


def _summary(to_ask: BatchExport) -> dict[str, Any]:
    return {
        "round": str(to_ask.part) if to_ask.files else None,
        "files": [vars(file) for file in to_ask.files],
        "requests": to_ask.now.total(),
        "again": to_ask.again,
        "judges": {
            key: {"now": to_ask.now[key], "later_at_most": to_ask.later[key]}
            for key in to_ask.now | to_ask.later
        },
    }


def _told(to_ask: BatchExport, given: argparse.Namespace) -> Report:
    """Say what to do next."""
    if not to_ask.files:
        less = ", but without --fresh, which would ask again" if to_ask.fresh else ""
        return [
            Notes(
                [f"Nothing is left to ask: run `halluscope score {given.name}` with the same options{less}."]
            )
        ]
    rows: list[list[Cell]] = [
        [file.name, file.requests, Number(file.bytes / 1e6, times=1), file.judge] for file in to_ask.files
    ]
    now, later = to_ask.now, to_ask.later
    lines = [
        f"{one_line(to_ask.part)}: {now.total():,} requests. Send each file as a batch to its judge's server.",
        *(
            f"{one_line(key)}: {now[key]:,} questions now, and at most {later[key]:,} in later rounds."
            for key in now | later
            if later.total()
        ),
    ]
    if not to_ask.is_new:
        lines.append(
            "This round was there already, and it has no reply yet. Send its files again only if their batches no "
            "longer run, or you pay twice."
        )
    elif to_ask.again:
        lines.append(
            f"{to_ask.again:,} of them were in an earlier round and have no reply yet. Send them only if the batches "
            "of that round no longer run, or you pay twice."
        )
    store = f" --store {one_line(given.store)}" if hasattr(given, "store") else ""
    lines.append(
        f"Then run `halluscope ask import FILE... --exported {one_line(given.out)}{store}`, and this command again "
        "until nothing is left."
    )
    return [Table("files", ("file", "requests", "MB", "judge"), rows), Notes(lines)]


def _counts(taken: BatchImport) -> dict[str, Any]:
    kept = {name: getattr(taken, name) for name in ("asked", "answers", "new", "kept", "others")}
    return kept | {"failures": dict(taken.failures)}


def _told_of(taken: BatchImport) -> str:
    lines = [
        f"{taken.answers:,} replies to {taken.asked:,} requests: {taken.new:,} are new, {taken.kept:,} were kept "
        "before."
    ]
    if taken.others:
        lines.append(
            f"{taken.others:,} differ from the reply that was kept for the same request; the kept reply "
            "stays."
        )
    if failed := taken.failures.total():
        lines.append(f"Requests without a reply: {failed:,}. The next export holds them again.")
        for reason, count in taken.failures.most_common(SHOWN):
            said = f", such as {taken.said[reason]}" if taken.said[reason] else ""
            lines.append(f"  {reason}: {count:,}{said}")
        if {"HTTP 400", "HTTP 422"} & taken.failures.keys():
            lines.append("If a server refuses a setting, pass --leave-out to both the export and `score`.")
    lines.append("Run the same `halluscope ask export` again: it says what is left.")
    return "\n".join(lines)
