"""What judges will be asked: a plan, as a table and as data."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from halluscope.judging.cost import Load, Plan
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table

TOTALS = ("questions", "kept", "left", "tokens", "flop", "seconds")

# Units of time, in seconds
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def listed_plan(plan: Plan) -> dict[str, Any]:
    judges = [asdict(load) | {"left": load.left} for load in plan.loads]
    own = {name: value for name, value in asdict(plan).items() if name != "loads"}
    return own | {"exact": plan.exact, "judges": judges, "total": {name: plan.total(name) for name in TOTALS}}


def plan_report(plan: Plan) -> Report:
    """Return a plan's table, a row per judge, and what is to be said of it."""
    amounts = [(load.judge, [getattr(load, name) for name in TOTALS]) for load in plan.loads]
    if len(amounts) > 1:
        amounts.append(("language models", [*map(plan.total, TOTALS)]))
    rows: list[list[Cell]] = [
        [
            name,
            *map(_count, counts),
            Number(flop, ".0f", text=f"{flop:.1e}".replace("e+", "e") if flop else ""),
            Number(seconds, text="" if seconds is None else duration(seconds)),
        ]
        for name, (*counts, flop, seconds) in amounts
    ]
    once = "once" if plan.repeats == 1 else f"{plan.repeats:,} times"
    lines = [
        f"The number of prompts is exact: each distinct one is asked {once}."
        if plan.asked == "prompts"
        else f"The numbers of questions are exact: ask={plan.ask!r}."
        if plan.exact
        else "The numbers of questions are an estimate: the lexical judge stood in for votes that are not kept. The "
        f"true total is between {plan.at_least:,} (one judge about every cell) and {plan.at_most:,} (every judge)."
    ]
    if any(load.kept or load.measured for load in plan.loads):
        lines.append(f"Kept votes and replies are in {plan.store}.")
    notes: dict[str, list[str]] = {}
    for load in plan.loads:
        for note in _notes(load, plan.asked.removesuffix("s")):
            notes.setdefault(note, []).append(load.judge)
    lines += [f"{', '.join(judges)}: {note}." for note, judges in notes.items()]
    if plan.workers > 1:
        lines.append(f"The time is that of one process, divided among {plan.workers} workers.")
    return [
        Table("plan", ["judge", plan.asked, "kept", "to ask", "tokens", "FLOP", "time"], rows),
        Notes(lines),
    ]


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


def _notes(load: Load, asked: str) -> Iterator[str]:
    if load.flop_per_second:
        yield f"{load.flop_per_second / 1e12:.2g} TFLOP/s"
    if load.measured:
        yield f"{load.measured:,} questions were asked to measure this; their votes are kept, and not asked for again"
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
    return Number(float(f"{number:.3g}") if estimated else number, ",.0f")
