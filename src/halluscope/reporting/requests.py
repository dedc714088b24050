"""What judges will be asked: a plan, as a table and as data."""

from dataclasses import asdict
from typing import Any

from halluscope.judging.planning import Load, Plan
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table


def listed_plan(plan: Plan) -> dict[str, Any]:
    """Return a plan as data for JSON."""
    judges = [_listed(load) for load in plan.loads]
    total = plan.total()
    listed = {"unit": plan.unit, "exact": plan.exact, "repeats": plan.repeats, "store": plan.store}
    listed["judges"] = judges
    listed["total"] = _listed(total) if total else None
    return listed


def _listed(load: Load) -> dict[str, Any]:
    return asdict(load) | {"left": load.left}


def plan_report(plan: Plan) -> Report:
    """Return a plan's table, a row per judge, and what is to be said of it."""
    rows = [_row(load) for load in plan.loads]
    total = plan.total()
    if total and len(rows) > 1:
        rows.append(_row(total))
    header = ["judge", f"{plan.unit}s", "cached", "to ask", "tokens"]
    return [Table("plan", header, rows), Notes(_lines(plan))]


def _row(load: Load) -> list[Cell]:
    tokens = load.tokens
    if tokens is not None:
        tokens = float(f"{tokens:.3g}")  # an estimate
    return [
        load.judge,
        Number(load.questions, ",.0f"),
        Number(load.cached, ",.0f"),
        Number(load.left, ",.0f"),
        Number(tokens, ",.0f"),
    ]


def _lines(plan: Plan) -> list[str]:
    """Return what is to be said of a plan, line by line."""
    lines = [_accuracy(plan)]
    if plan.total():
        lines.append("Tokens are estimated at 4 characters each.")
    if any(load.cached for load in plan.loads):
        lines.append(f"Kept votes and replies are in {plan.store}.")
    for load in plan.loads:
        if load.reply_tokens is not None:
            lines.append(
                f"{load.judge}: one request per {plan.unit}; replies of at most {load.reply_tokens:,} tokens in all."
            )
        if load.note:
            note = load.note.removesuffix(".")
            lines.append(f"{load.judge}: {note}.")
    return lines


def _accuracy(plan: Plan) -> str:
    if not plan.exact:
        return (
            "The numbers of questions are an estimate: the lexical judge stood in for votes that are not kept. "
            "`--ask all` shows the most that there can be."
        )
    if plan.unit == "question":
        return "The numbers of questions are exact."
    if plan.repeats == 1:
        return "The number of prompts is exact: each distinct one is asked once."
    return f"The number of prompts is exact: each distinct one is asked {plan.repeats:,} times."
