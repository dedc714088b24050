"""`halluscope plan NAME`: estimates what scoring with the same options will take."""

import argparse
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from halluscope import registry, scoring
from halluscope.arguments import number
from halluscope.cli import common
from halluscope.judging.cache import Cache, Record
from halluscope.judging.cache_file import IN_MEMORY
from halluscope.judging.cost.planning import Load, Plan
from halluscope.judging.cost.verdicts import foresee, plan_verdicts, stand_in
from halluscope.judging.options import VoteOptions
from halluscope.judging.server import ENDPOINT, sending_nothing
from halluscope.options import taken
from halluscope.registry import Benchmark
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, to_json
from halluscope.sanitize import one_line
from halluscope.terminal import say

# Units of time, in seconds
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def add(parser: argparse.ArgumentParser) -> None:
    """Add a subcommand for each benchmark that has judges."""
    common.add_benchmarks(parser, lambda one: bool(one.judges and one.is_scored), _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    parser.description = (
        f"Estimate what `halluscope score {benchmark.name}` will take. All of its options may be given; those that "
        "only choose a convention or shape what is printed do not matter here."
    )
    common.add_scoring(parser, benchmark)
    common.add_run(parser)
    if not benchmark.is_graded:
        parser.add_argument(
            "--calibrate",
            type=number,
            nargs="?",
            const=10.0,
            default=0.0,
            metavar="SECONDS",
            help="ask each judge on this machine for about SECONDS (default: 10), to estimate how long the rest takes; "
            "the votes are kept in the cache",
        )
    parser.add_argument(
        "--prices",
        type=number,
        nargs=2,
        metavar=("READ", "SAID"),
        help="what an endpoint's tokens cost, per million that it reads and per million that it writes",
    )


def run(given: argparse.Namespace) -> None:
    """Plan the files of responses one after the other, as they are scored."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    plan = (_of_verdicts if benchmark.is_graded else _of_votes)(given, benchmark, options)
    if given.format == JSON:
        say(_json(plan))
    else:
        common.show(_report(plan), given)


def _of_votes(given: argparse.Namespace, benchmark: Benchmark, options: Mapping[str, Any]) -> Plan:
    ready = scoring.prepare(
        benchmark, given.responses, given.dataset, options, common.matching_options(given)
    )
    sets = [(one.matched.texts, one.inputs["references"]) for one in ready]
    function = benchmark.module("metric").plan
    judging = {
        name: value
        for name, value in options.items()
        if name in {field.name for field in fields(VoteOptions)}
    }
    plan: Plan = function(
        sets, **taken(function, options), **judging, calibrate=given.calibrate, prices=given.prices
    )
    return plan


def _of_verdicts(given: argparse.Namespace, benchmark: Benchmark, options: dict[str, Any]) -> Plan:
    """Score as far as possible without verdicts, and note what would be asked."""
    judge, fresh = _grader(benchmark, options), options.pop("fresh", False)
    outlook = foresee(judge, options.get("device"), given.prices)
    cache = Cache(getattr(given, "store", None), "read")
    record = Record(Cache(IN_MEMORY, "read") if fresh else cache)
    noting = {"judge": stand_in(judge, outlook), "store": record, "bootstrap": 0, "max_failed": 1}
    ready = scoring.prepare(
        benchmark, given.responses, given.dataset, options, common.matching_options(given)
    )
    with sending_nothing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scoring gives these warnings
        for one in ready:
            for chosen in scoring.variants(benchmark, options):
                scoring.compute(benchmark, one, chosen | noting)
    plan = plan_verdicts(record, judge, outlook, options.get("repeats", 1), given.prices)
    return replace(plan, store=str(cache.path))


def _grader(benchmark: Benchmark, options: Mapping[str, Any]) -> str:
    assert benchmark.judges is not None, "only benchmarks with judges have the command"
    judge = str(options.get(benchmark.judges.option, benchmark.judges.default))
    if not judge or judge in benchmark.judges.rules:
        raise ValueError(
            f"--judge is {judge or 'missing'}; expected a language model: {ENDPOINT}MODEL[@URL], or a local model."
        )
    return judge


def duration(seconds: float) -> str:
    """Return a duration in words, in its two largest units; minutes after hours are rounded to tens.

    >>> [duration(seconds) for seconds in (0.4, 42.0, 310.0, 7_777.0, 277_000.0)]
    ['under 1 s', 'about 42 s', 'about 5 min', 'about 2 h 10 min', 'about 3 d 5 h']
    """
    if seconds < 1:
        return "under 1 s"
    exact_to = 1 if seconds < 60 else 60 if seconds < 3_600 else 600 if seconds < 86_400 else 3_600
    left = round(seconds / exact_to) * exact_to
    parts = []
    for unit, size in UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return f"about {' '.join(parts)}"


def _json(plan: Plan) -> str:
    judges = [asdict(load) | {"left": load.left} for load in plan.loads]
    totals = {
        amount: plan.total(amount) for amount in ("questions", "kept", "left", "tokens", "flop", "seconds")
    }
    plain = {name: value for name, value in asdict(plan).items() if name != "loads"}
    return to_json(plain | {"exact": plan.exact, "judges": judges, "total": totals})


def _report(plan: Plan) -> Report:
    rows = [_row(load) for load in plan.loads]
    if len(rows) > 1:
        sums = [plan.total(amount) for amount in ("questions", "kept", "left", "tokens", "flop", "seconds")]
        rows.append(["language models", *map(_count, sums[:4]), _flop(sums[4]), _time(sums[5])])
    header = ["judge", plan.asked, "kept", "to ask", "tokens", "FLOP", "time"]
    return [Table("plan", header, rows), Notes(_remarks(plan))]


def _row(load: Load) -> list[Cell]:
    counts = (load.questions, load.kept, load.left, load.tokens)
    return [load.judge, *map(_count, counts), _flop(load.flop), _time(load.seconds)]


def _remarks(plan: Plan) -> list[str]:
    lines = [
        f"The number of prompts is exact: each distinct one is asked {_times(plan.repeats)}."
        if plan.asked == "prompts"
        else f"The numbers of questions are exact: ask={plan.ask!r}."
        if plan.exact
        else "The numbers of questions are an estimate: the lexical judge stood in for votes that are not kept. The "
        f"true total is between {plan.at_least:,} (the first about every cell) and {plan.at_most:,} (all)."
    ]
    if any(load.kept or load.measured for load in plan.loads):
        lines.append(f"Kept votes and replies are in {plan.store}.")
    notes: dict[str, list[str]] = {}
    for load in plan.loads:
        for note in _notes(load, plan.asked.removesuffix("s")):
            notes.setdefault(note, []).append(load.judge)
    lines += [f"{', '.join(map(one_line, judges))}: {note}." for note, judges in notes.items()]
    if plan.workers > 1:
        lines.append(f"The time is that of one process, divided among {plan.workers} workers.")
    return lines


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _notes(load: Load, asked: str) -> Iterator[str]:
    if load.flop_per_second:
        yield f"{load.flop_per_second / 1e12:.2g} TFLOP/s"
    if load.measured:
        yield f"{load.measured:,} questions were asked to measure this; their votes are kept, and not asked for again"
    if load.requests is not None:
        yield f"{load.requests:,} requests, one per text and round of questions"
    if load.said is not None:
        yield f"one request per {asked}; replies of at most {load.said:,} tokens in all"
    if load.money is not None:
        cost = f"about {load.money:,.2f}" if load.money >= 0.01 else "under 0.01"
        yield f"{cost} at these prices, if each reply is as long as it may be"
    if load.note:
        yield load.note


def _count(number: float | None) -> Number:
    """Return a number for a table; an estimated one is rounded to three digits."""
    estimated = number is not None and not isinstance(number, int)
    return Number(float(f"{number:.3g}") if estimated else number, ",.0f", 1)


def _flop(number: float | None) -> Number:
    said = f"{number:.1e}".replace("e+", "e") if number else ""
    return Number(number, ".0f", 1, said=said)


def _time(seconds: float | None) -> Number:
    return Number(seconds, said="" if seconds is None else duration(seconds))
