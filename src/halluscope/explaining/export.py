"""What `halluscope explain --json` prints: exact differences, not rounded for display."""

from collections.abc import Sequence
from typing import Any

from halluscope.explaining import differences
from halluscope.explaining.differences import Difference
from halluscope.explaining.explained import Explained
from halluscope.explaining.protocols import CHOSEN, Protocol
from halluscope.explaining.steps import COUNTING, PROMPT, Setting


def listed(
    found: Explained, compared: Sequence[str], examples: int, number: str | None = None
) -> dict[str, Any]:
    """Return all findings as nested tables; `halluscope.explaining.report.told` has the same arguments."""
    whole = {
        "benchmark": found.benchmark.name,
        "responses": found.files,
        "protocols": [_described(found, one) for one in found.protocols],
        "not_computed": found.not_computed,
        "prompts": {file: _asked(found, file) for file in found.files},
        "differences": [
            _difference(found, one, examples)
            for score in compared
            for one in differences.differences(found, score)
        ],
    }
    if number is not None:
        places = differences.places(found, number)
        whole["number"] = [_named(setting) | {"score": name} for setting, name in places]
    return whole


def _asked(found: Explained, file: str) -> list[dict[str, Any]]:
    return [{"prompt": prompt or None, "responses": count} for prompt, count in found.asked(file)]


def _described(found: Explained, one: Protocol) -> dict[str, Any]:
    results = []
    for file in found.files:
        setting = found.setting(one, file)
        names = dict.fromkeys((*found.benchmark.scores, *found.stated.shown))
        scores = {name: found.score(setting, name) for name in names if one.reports(name)}
        results.append({"responses": file, "scores": scores, "signature": found.result(setting)["signature"]})
    ways = {aspect: one.way(aspect).said for aspect in CHOSEN}
    return {"name": one.name, "by": one.by, "prompt": one.prompt or None, **ways, "results": results}


def _difference(found: Explained, one: Difference, examples: int) -> dict[str, Any]:
    readings = differences.readings(found, one.first, one.second)
    return {
        "score": one.score,
        "first": _named(one.first),
        "second": _named(one.second),
        "values": one.values,
        "difference": one.values[-1] - one.values[0],
        "parts": one.parts,
        "parts_in_other_order": one.in_other_order,
        "read_otherwise": None if readings is None else len(readings.otherwise),
        "of": None if readings is None else readings.of,
        "examples": [
            {**id, "text": text, "first": before, "second": after}
            for id, text, before, after in (differences.diverse(readings, examples) if readings else ())
        ],
    }


def _named(setting: Setting) -> dict[str, str]:
    return {"responses": setting[PROMPT], "protocol": setting[COUNTING]}
