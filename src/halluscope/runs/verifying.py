"""Checks that a run's folder is unchanged: each file by its checksum, and the scores by computing them again.

Checksums find each change, but whoever changes a file can also rewrite the checksums, so they alone prove nothing. The
rows and the replies are scored again by the same code, without asking any judge; the scores, the signature, and what
was found in each row must be the same as in the folder.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.errors import RunError
from halluscope.files.opening import json_rows
from halluscope.foreign import brief
from halluscope.judging.transcript import ITEMS, RUN
from halluscope.reporting.tables import finite
from halluscope.runs import folder as folders
from halluscope.runs.run import Run, again

ROUNDING = 1e-12
"""The relative difference that a score may have, since another machine may add in another order."""

NOTHING = object()
"""Stands for a value that only the other side has."""


def differences(folder: Path) -> Iterator[str]:
    """Yield what in a run was changed, or differs when it is scored again; nothing if all is well.

    Raises:
        RunError: if the folder is not a run.
        OSError: if a file cannot be read.
    """
    yield from folders.changed(folder)
    try:
        run = folders.read(folder)
        made = again(run)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        yield f"it cannot be scored again: {error}"
        return
    yield from _of_facts(run, made)
    kept = folders.plain(finite(run.scores))
    yield from _between(kept, folders.plain(finite(made.scores)), folders.SCORES)
    rows = zip(json_rows(folder / ITEMS), folders.items(made), strict=True)
    for number, ((_, row), item) in enumerate(rows, 1):
        yield from _between(row, folders.plain(item), f"{ITEMS}, row {number}")


def check(folder: Path) -> Run:
    """Read a run whose files are unchanged.

    Raises:
        RunError: if a file was changed.
    """
    if found := next(folders.changed(folder), None):
        raise RunError(f"{folder}: {found}. `halluscope verify {folder}` shows what differs.")
    return folders.read(folder)


def checked(given: Sequence[Path]) -> dict[str, Run]:
    """Read runs, each as `check` does.

    Args:
        given: folders of runs, or folders that hold runs.

    Returns:
        The name of a run's responses, or its folder where two names are alike -> the run.

    Raises:
        RunError: for a folder without runs, or a run whose files were changed.
    """
    runs = {folder: check(folder) for folder in folders.folders(given)}
    names = [run.name for run in runs.values()]
    return {run.name if names.count(run.name) == 1 else str(folder): run for folder, run in runs.items()}


def _of_facts(run: Run, made: Run) -> Iterator[str]:
    """Yield what in run.json does not fit the rest."""
    known = {"signature": made.scores["signature"], "rows": len(made.ready.matched.rows)}
    for name, expected in known.items():
        yield from _between(run.about.get(name), expected, f"{RUN}, {name}")


def _between(kept: Any, made: Any, where: str) -> Iterator[str]:
    """Yield the places at which two values of JSON differ."""
    if _is_same(kept, made):
        return
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        for name in dict.fromkeys([*kept, *made]):
            yield from _between(kept.get(name, NOTHING), made.get(name, NOTHING), f"{where}, {brief(name)}")
    else:
        yield f"{where}: {_shown(kept)} in the folder, but {_shown(made)} when scored again"


def _is_same(kept: Any, made: Any) -> bool:
    if isinstance(kept, float) and isinstance(made, float):
        both = math.isnan(kept) and math.isnan(made)
        return both or kept == made or math.isclose(kept, made, rel_tol=ROUNDING, abs_tol=ROUNDING)
    if isinstance(kept, list) and isinstance(made, list):
        return len(kept) == len(made) and all(map(_is_same, kept, made))
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        return kept.keys() == made.keys() and all(_is_same(kept[name], made[name]) for name in kept)
    return type(kept) is type(made) and bool(kept == made)


def _shown(value: Any) -> str:
    return "nothing" if value is NOTHING else brief(value, 200)
