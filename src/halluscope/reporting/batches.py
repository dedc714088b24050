"""What was written to batch files for judges, and what came back, as tables, notes and data."""

from collections.abc import Sequence
from typing import Any

from halluscope.judging.batch import BatchExport, BatchImport
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table
from halluscope.sanitize import one_line

SHOWN = 10  # how many reasons for missing replies are shown


def listed(outbox: BatchExport) -> dict[str, Any]:
    """Return an export as JSON has it."""
    return {
        "round": str(outbox.part) if outbox.files else None,
        "files": [vars(file) for file in outbox.files],
        "requests": outbox.now.total(),
        "again": outbox.again,
        "judges": {
            key: {"now": outbox.now[key], "later_at_most": outbox.later[key]}
            for key in outbox.now | outbox.later
        },
    }


def report(outbox: BatchExport, score: str, take: str) -> Report:
    """Return the files of an export, and what to do next by the commands `score` and `take`, which reads replies."""
    if not outbox.files:
        less = ", but without --fresh, which would ask again" if outbox.fresh else ""
        return [Notes([f"Nothing is left to ask: run `{score}` with the same options{less}."])]
    rows: list[list[Cell]] = [
        [file.name, file.requests, Number(file.bytes / 1e6, times=1), file.judge] for file in outbox.files
    ]
    now, later = outbox.now, outbox.later
    lines = [
        f"{one_line(outbox.part)}: {now.total():,} requests. Send each file as a batch to its judge's server.",
        *(
            f"{one_line(key)}: {now[key]:,} questions now, and at most {later[key]:,} in later rounds."
            for key in now | later
            if later.total()
        ),
    ]
    if not outbox.is_new:
        lines.append(
            "This round was there already, and it has no reply yet. Send its files again only if their batches no "
            "longer run, or you pay twice."
        )
    elif outbox.again:
        lines.append(
            f"{outbox.again:,} of them were in an earlier round and have no reply yet. Send them only if the batches "
            "of that round no longer run, or you pay twice."
        )
    lines.append(f"Then run `{take}`, and this command again until nothing is left.")
    return [Table("files", ("file", "requests", "MB", "judge"), rows), Notes(lines)]


def counts(taken: BatchImport) -> dict[str, Any]:
    """Return how many replies an import found, as JSON has it."""
    kept = {name: getattr(taken, name) for name in ("asked", "answers", "new", "kept", "others")}
    return kept | {"failures": dict(taken.failures)}


def lines_of(taken: BatchImport) -> Sequence[str]:
    """Return what an import found, and what to do about the rest."""
    lines = [
        f"{taken.answers:,} replies to {taken.asked:,} requests: {taken.new:,} are new, {taken.kept:,} were kept "
        "before."
    ]
    if taken.others:
        lines.append(
            f"{taken.others:,} differ from the reply that was kept for the same request; the kept reply stays."
        )
    if failed := taken.failures.total():
        lines.append(f"Requests without a reply: {failed:,}. The next export holds them again.")
        for reason, count in taken.failures.most_common(SHOWN):
            said = f", such as {taken.said[reason]}" if taken.said[reason] else ""
            lines.append(f"  {reason}: {count:,}{said}")
        if {"HTTP 400", "HTTP 422"} & taken.failures.keys():
            lines.append("If a server refuses a setting, pass --leave-out to both the export and `score`.")
    return [*lines, "Run the same `halluscope ask export` again: it says what is left."]
