"""What judges will be asked: a plan, as a table and as data."""

from dataclasses import asdict
from typing import Any

from halluscope.judging.planning import Load, Plan
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table


def listed_plan(plan: Plan) -> dict[str, Any]:
    total = plan.total()
    return {
        "asked": plan.asked,
        "exact": plan.exact,
        "repeats": plan.repeats,
        "store": plan.store,
        "judges": [_listed(load) for load in plan.loads],
        "total": _listed(total) if total else None,
    }


def _listed(load: Load) -> dict[str, Any]:
    return asdict(load) | {"left": load.left}


def plan_report(plan: Plan) -> Report:
    """Return a plan's table, a row per judge, and what is to be said of it."""
    loads = list(plan.loads)
    total = plan.total()
    if len(loads) > 1 and total:
        loads.append(total)
    rows = [_row(load) for load in loads]
    header = ["judge", plan.asked, "kept", "to ask", "tokens"]
    return [Table("plan", header, rows), Notes(_lines(plan))]


def _row(load: Load) -> list[Cell]:
    tokens = load.tokens
    if tokens is not None:
        tokens = float(f"{tokens:.3g}")  # an estimate
    counts = (load.questions, load.kept, load.left, tokens)
    return [load.judge, *(Number(count, ",.0f") for count in counts)]


def _lines(plan: Plan) -> list[str]:
    """Return what is to be said of a plan, a sentence or two a line."""
    lines = []
    if plan.asked == "prompts":
        once = "once" if plan.repeats == 1 else f"{plan.repeats:,} times"
        lines.append(f"The number of prompts is exact: each distinct one is asked {once}.")
    elif plan.exact:
        lines.append("The numbers of questions are exact.")
    else:
        lines.append(
            "The numbers of questions are an estimate: the lexical judge stood in for votes that are not kept. "
            "`--ask all` shows the most that there can be."
        )
    if plan.total():
        lines.append("Tokens are estimated at 4 characters each.")
    if any(load.kept for load in plan.loads):
        lines.append(f"Kept votes and replies are in {plan.store}.")
    for load in plan.loads:
        if load.said is not None:
            asked = plan.asked.removesuffix("s")
            lines.append(
                f"{load.judge}: one request per {asked}; replies of at most {load.said:,} tokens in all."
            )
        if load.note:
            lines.append(f"{load.judge}: {load.note.removesuffix('.')}.")
    return lines
