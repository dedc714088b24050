"""Reads what `halluscope score NAME ... --json` printed for several models, to match them by name."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from halluscope import validation
from halluscope.files.opening import json_rows
from halluscope.reporting.published import HEAD
from halluscope.reporting.tables import Values, flat
from halluscope.sanitize import one_line, short_repr
from halluscope.validation import is_id

MOST = 1e100  # the greatest distance of a score from 0; the square of a greater one might overflow


def read_results(path: Path) -> dict[str, Values]:
    """Read results: the name of what was scored -> its result. Published ones are left out."""
    results: dict[str, Values] = {}
    for where, result in json_rows(path):
        if isinstance(result, Mapping) and HEAD in result:
            continue
        if not isinstance(result, Mapping) or not isinstance(result.get("responses"), str):
            raise ValueError(
                f"{where} is not a result: {short_repr(result)}. Expected what `halluscope score NAME --responses A "
                "B C --json` prints."
            )
        if result["responses"] in results:
            raise ValueError(
                f"{where} is a second result of the name {short_repr(result['responses'])}; a model is matched by "
                "its name. Remove one of them."
            )
        results[result["responses"]] = result
    return results


def score(result: Values, name: str) -> float:
    """Return a score of a result; "corrected/f0.5_cls" names a nested one. NaN if it is undefined."""
    scores = dict(flat(result))
    if name in scores and scores[name] is None:
        return math.nan
    value = scores.get(name)
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    if not (isinstance(value, float) or is_id(value)):
        known = [score for score, number in result.items() if isinstance(number, float)]
        raise ValueError(
            f"The result of {one_line(result['responses'], 80)} has no score {name!r}; expected one of "
            f"{', '.join(known):.300}."
        )
    return validation.finite(f"{name} of {result['responses']}", value, -MOST, MOST, "a score")


def scores(
    results: Mapping[str, Values], models: Sequence[str], name: str, option: str = "--scores"
) -> list[float]:
    """Return a score of several models' results; `option` is the option that named the score."""
    values = []
    undefined = []
    for model in models:
        value = score(results[model], name)
        values.append(value)
        if not math.isfinite(value):
            undefined.append(model)
    if undefined:
        raise ValueError(
            f"{name} is undefined for {len(undefined)} of the {len(models)} models, such as {undefined[0]}. Name "
            f"another score with {option}, or leave out the models without it."
        )
    return values
