"""Checks that a run's folder is unchanged: each file by its checksum, and the scores by computing them again.

Whoever changes a file can also rewrite its checksum, so the rows and replies are scored again, without any judge.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.errors import RunError
from halluscope.files.opening import json_rows
from halluscope.judging.verdicts import ITEMS, RUN
from halluscope.reporting.tables import finite
from halluscope.runs import folder as folders
from halluscope.runs.run import Run, again
from halluscope.sanitize import short_repr

# The relative difference that a score may have, since another machine may add in another order.
ROUNDING = 1e-12

NOTHING = object()  # stands for a value that only the other side has


def differences(folder: Path) -> Iterator[str]:
    """Yield what in a run was changed, or differs when it is scored again; nothing if all is well."""
    yield from folders.changed(folder)
    try:
        run = folders.read(folder)
        made = again(run)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        yield f"it cannot be scored again: {error}"
        return
    facts = {"signature": made.scores["signature"], "rows": len(made.ready.matched.rows)}
    for name, expected in facts.items():
        yield from _between(run.about.get(name), expected, f"{RUN}, {name}")
    yield from _between(folders.plain(finite(run.scores)), folders.plain(finite(made.scores)), folders.SCORES)
    rows = zip(json_rows(folder / ITEMS), folders.items(made), strict=True)
    for number, ((_, row), item) in enumerate(rows, 1):
        yield from _between(row, folders.plain(item), f"{ITEMS}, row {number}")


def check(folder: Path) -> Run:
    """Read a run whose files are unchanged."""
    if found := next(folders.changed(folder), None):
        raise RunError(f"{folder}: {found}. `halluscope verify {folder}` shows what differs.")
    return folders.read(folder)


def checked(given: Sequence[Path]) -> dict[str, Run]:
    """Read runs, each as `check` does."""
    runs = {folder: check(folder) for folder in folders.folders(given)}
    names = [run.name for run in runs.values()]
    return {run.name if names.count(run.name) == 1 else str(folder): run for folder, run in runs.items()}


def _between(kept: Any, made: Any, where: str) -> Iterator[str]:
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        for name in dict.fromkeys([*kept, *made]):
            yield from _between(
                kept.get(name, NOTHING), made.get(name, NOTHING), f"{where}, {short_repr(name)}"
            )
    elif not _is_same(kept, made):
        yield f"{where}: {_shown(kept)} in the folder, but {_shown(made)} when scored again"


def _is_same(kept: Any, made: Any) -> bool:
    if isinstance(kept, float) and isinstance(made, float):
        return math.isclose(kept, made, rel_tol=ROUNDING, abs_tol=ROUNDING)
    if isinstance(kept, list) and isinstance(made, list):
        return len(kept) == len(made) and all(map(_is_same, kept, made))
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        return kept.keys() == made.keys() and all(_is_same(kept[name], made[name]) for name in kept)
    return type(kept) is type(made) and bool(kept == made)


def _shown(value: Any) -> str:
    return "nothing" if value is NOTHING else short_repr(value, 200)
