"""What judges will be asked: the files of an export, the replies of an import, and a plan, as tables and as data."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from halluscope.judging.batch import BatchExport, BatchImport
from halluscope.judging.cost import Load, Plan
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table

SHOWN = 10  # how many reasons for missing replies are shown

TOTALS = ("questions", "kept", "left", "tokens", "flop", "seconds")

# Units of time, in seconds
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def listed_export(export: BatchExport) -> dict[str, Any]:
    return {
        "round": str(export.part) if export.files else None,
        "files": export.files,
        "requests": export.now.total(),
        "again": export.again,
        "judges": {
            key: {"now": export.now[key], "later_at_most": export.later[key]}
            for key in export.now | export.later
        },
    }


def export_report(export: BatchExport, score: str, take: str) -> Report:
    """Return the files of an export, and what to do next by the commands `score` and `take`, which reads replies."""
    if not export.files:
        return [Notes([f"Nothing is left to ask: run `{score}` with the same options."])]
    rows: list[list[Cell]] = [
        [file["name"], file["requests"], Number(file["bytes"] / 1e6, ".1f"), file["judge"]]
        for file in export.files
    ]
    now, later = export.now, export.later
    lines = [
        f"{export.part}: {now.total():,} requests. Send each file as a batch to its judge's server.",
        *(
            f"{key}: {now[key]:,} questions now, and at most {later[key]:,} in later rounds."
            for key in now | later
            if later.total()
        ),
    ]
    if not export.is_new:
        lines.append(
            "This round was there already, and it has no reply yet. Send its files again only if their batches no "
            "longer run, or you pay twice."
        )
    elif export.again:
        lines.append(
            f"{export.again:,} of them were in an earlier round and have no reply yet. Send them only if the batches "
            "of that round no longer run, or you pay twice."
        )
    lines.append(f"Then run `{take}`, and this command again until nothing is left.")
    return [Table("files", ("file", "requests", "MB", "judge"), rows), Notes(lines)]


def listed_import(taken: BatchImport) -> dict[str, Any]:
    kept = {name: getattr(taken, name) for name in ("asked", "answers", "new", "kept")}
    return kept | {"failures": dict(taken.failures)}


def import_lines(taken: BatchImport) -> Sequence[str]:
    """Return what an import found, and what to do about the rest."""
    lines = [
        f"{taken.answers:,} replies to {taken.asked:,} requests: {taken.new:,} are new, {taken.kept:,} are to "
        "requests with a reply already, which stays."
    ]
    if failed := taken.failures.total():
        lines.append(f"Requests without a reply: {failed:,}. The next export holds them again.")
        for reason, count in taken.failures.most_common(SHOWN):
            said = f", such as {taken.messages[reason]}" if taken.messages[reason] else ""
            lines.append(f"  {reason}: {count:,}{said}")
        if {"HTTP 400", "HTTP 422"} & taken.failures.keys():
            lines.append("If a server refuses a setting, pass --leave-out to both the export and `score`.")
    return [*lines, "Run the same `halluscope ask export` again: it says what is left."]


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
    return Number(float(f"{number:.3g}") if estimated else number, ",.0f")
