"""Scores a run again from what its judges said, and says what differs from its folder; no judge is asked."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope.benchmark import SIGNATURE
from halluscope.files.opening import json_rows
from halluscope.judging.verdicts import ITEMS, RUN
from halluscope.reporting.tables import finite
from halluscope.runs.folder import SCORES, changed, items, jsonable, read
from halluscope.runs.run import rescore
from halluscope.sanitize import short_repr

# The relative difference that a score may have, since another machine may add in another order.
ROUNDING = 1e-12

_NOTHING = object()  # stands for a value that only the other side has


def differences(folder: Path) -> Iterator[str]:
    """Yield what in a run was changed, or differs when it is scored again; nothing if all is well."""
    yield from changed(folder)
    try:
        run = read(folder)
        again = rescore(run)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        yield f"it cannot be scored again: {error}"
        return
    yield from _between(run.about.get("signature"), again.scores[SIGNATURE], f"{RUN}, signature")
    yield from _between(run.about.get("rows"), len(again.found), f"{RUN}, rows")
    yield from _between(jsonable(finite(run.scores)), jsonable(finite(again.scores)), SCORES)
    pairs = zip(json_rows(folder / ITEMS), items(again), strict=True)
    for number, ((_, kept), item) in enumerate(pairs, 1):
        yield from _between(kept, jsonable(item), f"{ITEMS}, row {number}")


def _between(kept: Any, made: Any, where: str, keys: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield where two values of JSON differ, numbers by more than rounding."""
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        for name in dict(kept) | dict(made):
            inner = (*keys, name)
            yield from _between(kept.get(name, _NOTHING), made.get(name, _NOTHING), where, inner)
        return
    if isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for old, new in zip(kept, made, strict=True):
            yield from _between(old, new, where, keys)
        return
    if not _are_equal(kept, made):
        place = ", ".join([where, *map(short_repr, keys)])
        yield f"{place}: {_shown(kept)} in the folder, but {_shown(made)} when scored again"


def _are_equal(kept: Any, made: Any) -> bool:
    if type(kept) is not type(made):
        return False
    if isinstance(kept, float):
        return math.isclose(kept, made, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(kept == made)


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    return short_repr(value, 200)
