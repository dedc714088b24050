"""Scores a run again from what its judges said, and says what differs from its folder; no judge is asked."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OSError) as error:
        yield f"it cannot be scored again: {error}"
        return
    yield from _between(run.about.get("signature"), again.scores[SIGNATURE], f"{RUN}, signature")
    yield from _between(run.about.get("rows"), len(again.found), f"{RUN}, rows")
    yield from _between(jsonable(finite(run.scores)), jsonable(finite(again.scores)), SCORES)
    pairs = zip(json_rows(folder / ITEMS), items(again), strict=True)
    for number, ((_, written), item) in enumerate(pairs, 1):
        yield from _between(written, jsonable(item), f"{ITEMS}, row {number}")


@dataclass
class _Place:
    """Where two values of JSON differ."""

    written: Any
    scored: Any
    keys: list[str] = field(default_factory=list)  # the outermost last


def _between(written: Any, scored: Any, where: str) -> Iterator[str]:
    """Yield where two values of JSON differ, numbers by more than rounding."""
    for place in _places(written, scored):
        names = [where]
        for key in reversed(place.keys):
            names.append(short_repr(key))
        yield (
            f"{', '.join(names)}: {_shown(place.written)} in the folder, but {_shown(place.scored)} when scored again"
        )


def _places(written: Any, scored: Any) -> Iterator[_Place]:
    if isinstance(written, Mapping) and isinstance(scored, Mapping):
        for key in dict(written) | dict(scored):
            for place in _places(written.get(key, _NOTHING), scored.get(key, _NOTHING)):
                place.keys.append(key)
                yield place
    elif isinstance(written, list) and isinstance(scored, list) and len(written) == len(scored):
        for old, new in zip(written, scored, strict=True):
            yield from _places(old, new)
    elif not _are_equal(written, scored):
        yield _Place(written, scored)


def _are_equal(written: Any, scored: Any) -> bool:
    if type(written) is not type(scored):
        return False
    if isinstance(written, float):
        return math.isclose(written, scored, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(written == scored)


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    return short_repr(value, 200)
