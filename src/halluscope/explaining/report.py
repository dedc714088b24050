"""What `halluscope explain` says, as text and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from halluscope.explaining.explained import Difference, Explained, Readings
from halluscope.explaining.protocols import CHOSEN, Protocol, Protocols
from halluscope.explaining.steps import COUNTING, LABELS, OTHER_ORDER, PARSER, PROMPT, ROWS, Setting
from halluscope.foreign import brief, one_line, quoted
from halluscope.reporting.tables import aligned

SAME = "="
"""Stands where two protocols do the same."""

TEXT, NAME = 60, 24
"""So many characters of a response, and of a file's name, are shown."""

PARTS = (ROWS, LABELS, PARSER, COUNTING)


def text(
    found: Explained, stated: Protocols, compared: Sequence[str], examples: int, style: str, number: str | None
) -> str:
    """Tables of scores and of differences, and what a reader has to know of them.

    Args:
        found: the scores.
        stated: what the room states.
        compared: the scores whose differences are shown.
        examples: how many responses that two parsers read otherwise are shown of each two.
        style: of the tables.
        number: a number as it is printed somewhere, whose place is looked for.
    """
    blocks = [_number(found, number)] if number is not None else []
    blocks.append(_scores(found, stated, style))
    if len(found.protocols) == 1 and len(found.files) == 1:
        blocks.append(_alone(found, stated))
    else:
        blocks += [_differences(found, score, stated, style) for score in compared]
        blocks.append(_remarks(found, compared))
    blocks += [_prompts(found), _ways(found), _examples(found, examples), _signatures(found)]
    return "\n\n".join(filter(None, blocks))


def _alone(found: Explained, stated: Protocols) -> str:
    (one,) = found.protocols
    title = found.benchmark.title
    if len(stated.each) == 1:
        return f"{title} has one protocol, so that there is nothing to compare."
    return f"Of {title}'s protocols only {one.name} is computed, so that there is nothing to compare."


def _scores(found: Explained, stated: Protocols, style: str) -> str:
    rows = [
        [one.name, *([_file(file)] if len(found.files) > 1 else []), *_row(found, one, file, stated)]
        for one in found.protocols
        for file in found.files
    ]
    several = ["responses"] if len(found.files) > 1 else []
    return aligned(rows, ["protocol", *several, *stated.shown], style, left=1 + len(several))


def _row(found: Explained, one: Protocol, file: str, stated: Protocols) -> Iterator[str]:
    for score in stated.shown:
        value = found.score(found.setting(one, file), score) if one.reports(score) else float("nan")
        yield _value(value, score in stated.plain)


def _differences(found: Explained, score: str, stated: Protocols, style: str) -> str:
    """A table of each two protocols' difference and its parts, which sum to it as they are printed."""
    differences = [*found.differences(score)]
    if not differences:
        return f"{score}: fewer than two of the protocols report it."
    plain = score in stated.plain
    several = len(found.files) > 1
    aspects = ([PROMPT] if several else []) + list(PARTS)
    rows = [
        [
            *(_label(found, setting, several) for setting in (one.first, one.second)),
            *(_value(value, plain) for value in (one.values[0], one.values[-1])),
            _signed(one.values[0], one.values[-1], plain) + ("*" if _order_matters(one) else ""),
            *_parts(found, one, aspects, plain),
            _count(found.readings(one.first, one.second)),
        ]
        for one in differences
    ]
    header = [f"{score} of", "and of", "is", "and", "difference", *aspects, "read otherwise"]
    return aligned(rows, header, style, left=2)


def _parts(found: Explained, one: Difference, aspects: Sequence[str], plain: bool) -> Iterator[str]:
    places = {aspect: place for place, aspect in enumerate(one.parts)}
    for aspect in aspects:
        place = places[aspect]
        same = found.same(one.first, one.second, aspect)
        yield SAME if same else _signed(one.values[place], one.values[place + 1], plain)


def _order_matters(one: Difference) -> bool:
    """Whether a part is another where the changes are made in the other order, by what would be seen."""
    return any(abs(part - one.in_other_order[aspect]) >= 0.0005 for aspect, part in one.parts.items())


def _remarks(found: Explained, compared: Sequence[str]) -> str:
    lines = [
        f"The second less the first, in points: what is left if one thing after the other is changed ({', '.join(PARTS)}),",
        f"each time with the score computed anew; {SAME} is where both do the same.",
    ]
    if any(_order_matters(one) for score in compared for one in found.differences(score)):
        lines.append(
            f"* The order matters; --json also has the parts in the order {', '.join(OTHER_ORDER[1:])}."
        )
    lines += [f"{name} is not computed: {one_line(why, 300)}" for name, why in found.not_computed.items()]
    return "\n".join(lines)


def _prompts(found: Explained) -> str:
    """What was asked, as far as it is known, and whether that can be told from the rest."""
    lines = []
    for file in found.files:
        said = [(prompt, count) for prompt, count in found.asked(file) if prompt]
        shown = ", ".join(f"{quoted(prompt, 80)} ({count:,})" for prompt, count in said[:3])
        lines.append(f"prompts: {_file(file)} " + (f"answers {shown}" if said else "does not say what was asked"))
    lines += [f"  {one.name} asks {quoted(one.prompt, 80)}" for one in found.protocols if one.prompt]
    if len(found.files) == 1:
        lines.append(
            "  What another prompt would move cannot be computed from one file; give one per prompt to --responses."
        )
    return "\n".join(lines)


def _ways(found: Explained) -> str:
    """What each protocol does; of all but the first what the first does otherwise."""
    first, *others = found.protocols
    lines = [_way(first, CHOSEN)]
    lines += [_way(one, [a for a in CHOSEN if one.way(a).said != first.way(a).said]) for one in others]
    return "\n".join(lines)


def _way(one: Protocol, aspects: Sequence[str]) -> str:
    said = [f"  {aspect + ':':9} {one.way(aspect).said}" for aspect in aspects]
    return "\n".join([f"{one.name}: {one.by}", *said])


def _examples(found: Explained, most: int) -> str:
    """Some responses that two parsers read otherwise, of each two parsers once."""
    lines = []
    for first, second, readings in found.read_otherwise():
        shown = _diverse(readings, most)
        if shown:
            lines.append(f"{first} and {second} read {_count(readings)} of {readings.of:,} responses otherwise, such as")
        lines += [
            f"  {quoted(text, TEXT)}: {_reading(before)}, {_reading(after)}" for _, text, before, after in shown
        ]
    return "\n".join(lines)


def _diverse(readings: Readings, most: int) -> list[Any]:
    """Some of them, first one of each way in which they are read otherwise."""
    kinds: dict[str, int] = {}

    def rank(one: Any) -> int:
        kind = repr(one[2:])
        kinds[kind] = kinds.get(kind, -1) + 1
        return kinds[kind]

    return sorted(readings.otherwise, key=rank)[:most]


def _reading(read: Mapping[str, Any]) -> str:
    return ", ".join("nothing" if value is None else brief(value, 60) for value in read.values())


def _signatures(found: Explained) -> str:
    return "\n".join(
        f"{_label(found, setting, len(found.files) > 1)}\n  signature: {found.result(setting)['signature']}"
        for setting in found.settings()
    )


def _number(found: Explained, number: str) -> str:
    """Which score is printed as this number."""
    places = [
        f"  {_label(found, setting, len(found.files) > 1)}: {name}" for setting, name in found.places(number)
    ]
    if places:
        return "\n".join([f"{one_line(number, 20)} is", *places])
    return f"{one_line(number, 20)} is no score of these responses by these protocols."


def as_json(found: Explained, compared: Sequence[str], examples: int, number: str | None) -> dict[str, Any]:
    """The same as what JSON holds; differences as they are, not as they are printed."""
    return {
        "benchmark": found.benchmark.name,
        "responses": found.files,
        "protocols": [_described(found, one) for one in found.protocols],
        "not_computed": found.not_computed,
        "prompts": {
            file: [{"prompt": prompt, "responses": count} for prompt, count in found.asked(file)]
            for file in found.files
        },
        "differences": [
            _difference(found, one, examples) for score in compared for one in found.differences(score)
        ],
        **(
            {}
            if number is None
            else {
                "number": [
                    {**_named(setting), "score": name} for setting, name in found.places(number)
                ]
            }
        ),
    }


def _described(found: Explained, one: Protocol) -> dict[str, Any]:
    results = []
    for file in found.files:
        setting = found.setting(one, file)
        scores = {name: found.score(setting, name) for name in found.benchmark.scores if one.reports(name)}
        results.append({"responses": file, "scores": scores, "signature": found.result(setting)["signature"]})
    ways = {aspect: one.way(aspect).said for aspect in CHOSEN}
    return {"name": one.name, "by": one.by, "prompt": one.prompt or None, **ways, "results": results}


def _difference(found: Explained, one: Difference, examples: int) -> dict[str, Any]:
    readings = found.readings(one.first, one.second)
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
            for id, text, before, after in (_diverse(readings, examples) if readings else ())
        ],
    }


def _named(setting: Setting) -> dict[str, str]:
    return {"responses": setting[PROMPT], "protocol": setting[COUNTING]}


def _label(found: Explained, setting: Setting, several: bool) -> str:
    return f"{setting[COUNTING]}, {_file(setting[PROMPT])}" if several else setting[COUNTING]


def _file(name: str) -> str:
    return one_line(name, NAME)


def _count(readings: Readings | None) -> str:
    return "" if readings is None else f"{len(readings.otherwise):,}"


def _tenths(value: float) -> int:
    """A score in tenths of a point as it is printed; a score that is no fraction in thousandths."""
    return round(1000 * value)


def _value(value: float, plain: bool) -> str:
    if value != value:
        return "-"
    return f"{value:.3f}" if plain else f"{_tenths(value) / 10:.1f}"


def _signed(first: float, second: float, plain: bool) -> str:
    """A difference of two scores as they are printed, so that printed parts sum to the printed whole."""
    if first != first or second != second:
        return "-"
    less = _tenths(second) - _tenths(first)
    return f"{less / 1000:+.3f}" if plain else f"{less / 10:+.1f}"
