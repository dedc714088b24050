"""`halluscope ask export NAME` and `halluscope ask import FILE...`: asks judges through batch files."""

import argparse
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from halluscope import registry, scoring
from halluscope.cli import common
from halluscope.errors import JudgingFailed
from halluscope.judging import batch
from halluscope.judging.cache import Cache
from halluscope.judging.server import ENDPOINT, sending_nothing
from halluscope.registry import Benchmark
from halluscope.reporting import batches
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
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
    option("--out", required=True, **common.FOLDER, help="write the rounds here, one folder each")
    option(
        "--requests",
        **common.COUNT,
        default=batch.MOST_REQUESTS,
        help=f"how many requests one file may hold (default: {batch.MOST_REQUESTS:,})",
    )
    option(
        "--bytes",
        **common.COUNT,
        default=batch.MOST_BYTES,
        help=f"how large one file may be (default: {batch.MOST_BYTES:,})",
    )


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=import_)
    option = parser.add_argument
    option(
        "files",
        nargs="+",
        **common.FILE,
        help="the output and error files of batches, in any order (.gz too)",
    )
    option(
        "--exported",
        required=True,
        **common.FOLDER,
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
    to_ask = batch.BatchExport(given.out, given.requests, given.bytes, bool(options.get("fresh")))
    path = getattr(given, "store", None)
    cache = (
        Cache(path, "refresh", to_ask, batch.came_anew(given.out))
        if to_ask.fresh
        else Cache(path, export=to_ask)
    )
    options["store"] = cache
    ready = common.ready(given, benchmark, options)
    with closing(cache), sending_nothing(), to_ask.opened():
        for one in ready:
            for chosen in scoring.variants(benchmark, options):
                before = to_ask.put
                try:
                    scoring.compute(benchmark, one, chosen | {"bootstrap": 0})
                except JudgingFailed:  # too few verdicts are no error where the missing ones became requests
                    if to_ask.put == before or not benchmark.is_graded:
                        raise
    store = f" --store {one_line(given.store)}" if hasattr(given, "store") else ""
    score = f"halluscope score {given.name}"
    take = f"halluscope ask import FILE... --exported {one_line(given.out)}{store}"
    common.output(given, lambda: batches.listed(to_ask), lambda: batches.report(to_ask, score, take))


def import_(given: argparse.Namespace) -> None:
    with closing(Cache(given.store)) as cache:
        taken = batch.take(given.files, given.exported, cache)
    say(to_json(batches.counts(taken)) if given.json else "\n".join(batches.lines_of(taken)))


def _check_judge(benchmark: Benchmark, options: Mapping[str, Any]) -> None:
    """Check that a judge is behind an endpoint, before anything is read."""
    assert benchmark.judges is not None, "only benchmarks with judges have the command"
    name = benchmark.judges.option
    judges = options.get(name, benchmark.judges.default)
    named = [judges] if isinstance(judges, str) else judges
    if not any(judge.startswith(ENDPOINT) for judge in named):
        said = one_line(" ".join(named), 200) or "missing"
        raise ValueError(
            f"--{name} is {said}; expected a judge behind an endpoint: {ENDPOINT}MODEL[@URL]. "
            "To ask judges on this machine, run `halluscope score`."
        )
