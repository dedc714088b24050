"""`halluscope plan NAME`: what scoring with the same options will take, before it is done."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, fields

from halluscope import registry, scoring
from halluscope.arguments import number
from halluscope.cli import common
from halluscope.foreign import one_line
from halluscope.judging.cost.planning import Load, Plan
from halluscope.judging.voters.poll import Voting
from halluscope.options import taken
from halluscope.registry import Benchmark
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, to_json
from halluscope.terminal import say

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
"""Of time, in seconds."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the benchmarks whose judges can be planned."""
    common.add_benchmarks(parser, lambda one: bool(one.judges and one.judges.kind == "votes"), _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    parser.description = (
        f"What `halluscope score {benchmark.name}` will take. All of its options may be given; those that only choose "
        "among conventions or shape what is printed do not matter here."
    )
    common.add_scoring(parser, benchmark)
    common.add_run(parser)
    parser.add_argument(
        "--calibrate",
        type=number,
        nargs="?",
        const=10.0,
        default=0.0,
        metavar="SECONDS",
        help="ask each judge of this machine for about so long (10), to say how long the rest takes; the votes are "
        "kept in the store",
    )
    parser.add_argument(
        "--prices",
        type=number,
        nargs=2,
        metavar=("READ", "SAID"),
        help="what an endpoint's tokens cost, per million that it reads and per million that it says",
    )


def run(given: argparse.Namespace) -> None:
    """Plan the files of responses one after the other, as they are scored."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    ready = scoring.prepare(benchmark, given.responses, given.dataset, options, common.door(given))
    sets = [(one.matched.texts, one.inputs["references"]) for one in ready]
    function = benchmark.module("metric").plan
    judging = {
        name: value for name, value in options.items() if name in {field.name for field in fields(Voting)}
    }
    plan = function(
        sets, **taken(function, options), **judging, calibrate=given.calibrate, prices=given.prices
    )
    if given.format == JSON:
        say(_json(plan))
    else:
        common.show(_report(plan), given)


def duration(seconds: float) -> str:
    """A time for people, by its two largest units, the second one rounded to tens of minutes beside hours.

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
    header = ["judge", "questions", "kept", "to ask", "tokens", "FLOP", "time"]
    return [Table("plan", header, rows), Notes(_remarks(plan))]


def _row(load: Load) -> list[Cell]:
    counts = (load.questions, load.kept, load.left, load.tokens)
    return [load.judge, *map(_count, counts), _flop(load.flop), _time(load.seconds)]


def _remarks(plan: Plan) -> list[str]:
    """What a reader of the table has to know."""
    lines = [
        f"The numbers of questions are exact: ask={plan.ask!r}."
        if plan.exact
        else f"The numbers of questions are an estimate: the lexical judge stood in for what is not kept. "
        f"For certain between {plan.at_least:,} (the first about every cell) and {plan.at_most:,} (all)."
    ]
    if any(load.kept or load.measured for load in plan.loads):
        lines.append(f"Kept answers are in {plan.store}.")
    notes: dict[str, list[str]] = {}
    for load in plan.loads:
        for note in _notes(load):
            notes.setdefault(note, []).append(load.judge)
    lines += [f"{', '.join(map(one_line, judges))}: {note}." for note, judges in notes.items()]
    if plan.workers > 1:
        lines.append(f"The time is that of one process, divided among {plan.workers} workers.")
    return lines


def _notes(load: Load) -> Iterator[str]:
    if load.flop_per_second:
        yield f"{load.flop_per_second / 1e12:.2g} TFLOP/s"
    if load.measured:
        yield f"{load.measured:,} questions were asked to measure this; their answers are kept, and not to be asked"
    if load.requests is not None:
        yield f"{load.requests:,} requests, one per text and round of questions"
    if load.said is not None:
        yield f"one request per question; replies of at most {load.said:,} tokens in all"
    if load.money is not None:
        cost = f"about {load.money:,.2f}" if load.money >= 0.01 else "under 0.01"
        yield f"{cost} at these prices, if each reply is as long as it may be"
    if load.note:
        yield load.note


def _count(number: float | None) -> Number:
    """A number, of estimated ones three digits."""
    estimated = number is not None and not isinstance(number, int)
    return Number(float(f"{number:.3g}") if estimated else number, ",.0f", 1)


def _flop(number: float | None) -> Number:
    said = f"{number:.1e}".replace("e+", "e") if number else ""
    return Number(number, ".0f", 1, said=said)


def _time(seconds: float | None) -> Number:
    return Number(seconds, said="" if seconds is None else duration(seconds))
