"""What `halluscope explain` prints: tables of scores and differences, and notes; or all of it as JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from halluscope.explaining import differences
from halluscope.explaining.differences import OTHER_ORDER, Difference
from halluscope.explaining.explained import Explained, by_reason
from halluscope.explaining.protocols import CHOSEN, COUNTING, PROMPT, Protocol, Setting
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, below, printed, scored
from halluscope.sanitize import one_line, quoted, short_repr

SAME = "="  # printed where two protocols do the same

# How many characters are shown of a response, of a file's name, and of a prompt.
TEXT, NAME, PROMPTED = 40, 24, 80


def told(found: Explained, compared: Sequence[str], examples: int, sought: str | None = None) -> Report:
    """Return the tables and notes of `halluscope explain`."""
    blocks: list[Table | Notes] = [] if sought is None else [Notes(_number(found, sought))]
    blocks += _scores(found)
    if len(found.protocols) == 1 and len(found.files) == 1:
        blocks.append(Notes(_alone(found)))
    else:
        blocks += [one for score in compared for one in _differences(found, score)]
        blocks.append(Notes(_remarks(found, compared)))
    blocks += [Notes(_prompts(found)), Notes(_ways(found)), Notes(_examples(found, examples))]
    return [*(one for one in blocks if isinstance(one, Table) or one.lines), *_signatures(found)]


def _alone(found: Explained) -> list[str]:
    (one,) = found.protocols
    title = found.benchmark.title
    if len(found.stated.each) == 1:
        return [f"{title} has one protocol, so there is nothing to compare."]
    said = f"Only {one.name} of {title}'s protocols is computed, so there is nothing to compare."
    return [said, *_missing(found)]


def _scores(found: Explained) -> Iterator[Table]:
    header = ["score", *(one.name for one in found.protocols)]
    for file in found.files:
        yield Table("scores", header, _rows(found, file), of=_titled(found, _file(file)))


def _rows(found: Explained, file: str) -> list[list[Cell]]:
    def shown(one: Protocol, score: str) -> Number:
        value = found.score(found.setting(one, file), score) if one.reports(score) else float("nan")
        return scored(value, found.benchmark.is_points(score))

    return [[score, *(shown(one, score) for one in found.protocols)] for score in found.stated.shown]


def _titled(found: Explained, title: str) -> str:
    return title if len(found.files) > 1 else ""


def _differences(found: Explained, score: str) -> list[Table | Notes]:
    each_two = [*differences.differences(found, score)]
    if not each_two:
        return [Notes([f"{score} is reported by fewer than two of the protocols."])]
    if all(math.isnan(value) for one in each_two for value in one.values):
        return [Notes([f"{score} is undefined for these responses."])]
    aspects = (
        CHOSEN if len(found.files) == 1 else (PROMPT, *CHOSEN)
    )  # with one file, the prompt cannot differ
    tables: list[Table | Notes] = []
    for other in dict.fromkeys(sorted(one.second[PROMPT] for one in each_two)):
        each = [one for one in each_two if one.second[PROMPT] == other]
        rows = [_line(found, one, aspects, found.benchmark.is_points(score)) for one in each]
        header = [score, "against", "diff", *aspects]
        title = f"{_file(found.files[0])} against {_file(other)}"
        tables.append(Table(f"differences of {score}", header, rows, left=2, of=_titled(found, title)))
    return tables


def _line(found: Explained, one: Difference, aspects: Sequence[str], plain: bool) -> list[Cell]:
    steps = dict(zip(one.parts, pairwise(one.values), strict=True))
    return [
        *(setting[COUNTING] for setting in (one.first, one.second)),
        _signed(one.values[0], one.values[-1], plain, mark="*" if _order_matters(one) else ""),
        *(
            _signed(*steps[aspect], plain, said=SAME if found.same(one.first, one.second, aspect) else "")
            for aspect in aspects
        ),
    ]


def _order_matters(one: Difference) -> bool:
    """Whether a part visibly changes in the other order."""
    return any(abs(part - one.in_other_order[aspect]) >= 0.0005 for aspect, part in one.parts.items())


def _remarks(found: Explained, compared: Sequence[str]) -> list[str]:
    lines = [
        "diff is the second score minus the first, and the sum of the columns to its right: one thing after",
        f"the other is changed, from left to right, and the score is computed each time. {SAME} means that both",
        "do the same.",
    ]
    if any(_order_matters(one) for score in compared for one in differences.differences(found, score)):
        lines.append(
            f"* The order matters: --json also has the parts in the order {', '.join(OTHER_ORDER[1:])}."
        )
    return [*lines, *_missing(found)]


def _missing(found: Explained) -> Iterator[str]:
    unequal = {one.name: of.why for one in found.protocols if (of := found.discrepancy(one))}
    for what, reasons in (("not equal", unequal), ("not computed", found.not_computed)):
        for names, why in by_reason(reasons).items():
            yield f"{what}: {names}, because {one_line(why, 300)}"


def _prompts(found: Explained) -> list[str]:
    lines = [line for file in found.files for line in _asked(found, file)]
    lines += [f"  {one.name} asks {quoted(one.prompt, PROMPTED)}" for one in found.protocols if one.prompt]
    if len(found.files) == 1:
        lines.append(
            "  The effect of another prompt cannot be computed from one file: give --responses a file per prompt."
        )
    return lines


def _asked(found: Explained, file: str) -> list[str]:
    said = [(prompt, count) for prompt, count in found.asked(file) if prompt]
    if not said:
        return [f"prompts: {_file(file)} does not say what was asked"]
    shown = ", ".join(f"{quoted(prompt, PROMPTED)} ({count:,})" for prompt, count in said[:3])
    same = [one.name for one in found.protocols if [one.prompt] == [prompt for prompt, _ in said]]
    return [
        f"prompts: {_file(file)} answers {shown}",
        f"  which is what {', '.join(same)} asks" if same else "  which no protocol here is known to ask",
    ]


def _ways(found: Explained) -> list[str]:
    first, *others = found.protocols
    lines = _way(first, CHOSEN)
    for one in others:
        lines += _way(one, [a for a in CHOSEN if one.way(a).said != first.way(a).said])
    return lines


def _way(one: Protocol, aspects: Sequence[str]) -> list[str]:
    return [f"{one.name}: {one.by}", *(f"  {aspect + ':':9} {one.way(aspect).said}" for aspect in aspects)]


def _examples(found: Explained, most: int) -> list[str]:
    lines = []
    for first, second, readings in differences.read_otherwise(found):
        shown = differences.diverse(readings, most)
        lines.append(
            f"{first} and {second} read {len(readings.otherwise):,} of {readings.of:,} responses differently"
            f"{', such as' if shown else ''}"
        )
        lines += [
            f"  {_id(id)}: {quoted(text, TEXT)} is {_reading(found, a)}, or {_reading(found, b)}"
            for id, text, a, b in shown
        ]
    return lines


def _id(known: Mapping[str, Any]) -> str:
    return one_line(" ".join(map(str, known.values())), NAME)


def _reading(found: Explained, read: Mapping[str, Any]) -> str:
    words = {"None": "unreadable", **found.stated.words}
    return ", ".join(words.get(str(value)) or short_repr(value, 40) for value in read.values())


def _signatures(found: Explained) -> list[Notes]:
    several = len(found.files) > 1
    signed = {_label(setting, several): found.result(setting)["signature"] for setting in found.settings()}
    return below({name: [f"signature: {one}"] for name, one in signed.items()})


def _number(found: Explained, sought: str) -> list[str]:
    places = [
        f"  {_label(setting, len(found.files) > 1)}: {name}"
        for setting, name in differences.places(found, sought)
    ]
    if places:
        return [f"{one_line(sought, 20)} is", *places]
    return [f"{one_line(sought, 20)} is not a score of these responses under these protocols."]


def _label(setting: Setting, several: bool) -> str:
    return f"{setting[COUNTING]}, {_file(setting[PROMPT])}" if several else setting[COUNTING]


def _file(name: str) -> str:
    return one_line(name, NAME)


def _signed(first: float, second: float, plain: bool, mark: str = "", said: str = "") -> Number:
    """Return a difference of printed scores, so that printed parts sum to the printed whole."""
    if math.isnan(first) or math.isnan(second):
        return Number(None, mark=mark, said=said)
    less = float(printed(second, plain)) - float(printed(first, plain))
    form, value, times = ("+.3f", less, 1) if plain else ("+.1f", less / 100, 100)
    return Number(value, form, times, mark=mark, said=said)


# JSON: exact differences, not rounded for display


def listed(
    found: Explained, compared: Sequence[str], examples: int, number: str | None = None
) -> dict[str, Any]:
    """Return all findings as JSON has them."""
    whole = {
        "benchmark": found.benchmark.name,
        "responses": found.files,
        "protocols": [_json_protocol(found, one) for one in found.protocols],
        "not_computed": found.not_computed,
        "prompts": {
            file: [{"prompt": prompt or None, "responses": count} for prompt, count in found.asked(file)]
            for file in found.files
        },
        "differences": [
            _json_difference(found, one, examples)
            for score in compared
            for one in differences.differences(found, score)
        ],
    }
    if number is not None:
        places = differences.places(found, number)
        whole["number"] = [_named(setting) | {"score": name} for setting, name in places]
    return whole


def _json_protocol(found: Explained, one: Protocol) -> dict[str, Any]:
    results = []
    for file in found.files:
        setting = found.setting(one, file)
        names = dict.fromkeys((*found.benchmark.scores, *found.stated.shown))
        scores = {name: found.score(setting, name) for name in names if one.reports(name)}
        results.append({"responses": file, "scores": scores, "signature": found.result(setting)["signature"]})
    ways = {aspect: one.way(aspect).said for aspect in CHOSEN}
    unequal = found.discrepancy(one)
    return {
        "name": one.name,
        "by": one.by,
        "prompt": one.prompt or None,
        **ways,
        "discrepancy": unequal and unequal.why,
        "results": results,
    }


def _json_difference(found: Explained, one: Difference, examples: int) -> dict[str, Any]:
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
