"""What `halluscope explain` prints: tables of scores and differences, and notes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from halluscope.explaining import differences
from halluscope.explaining.differences import Difference
from halluscope.explaining.explained import Explained, by_reason
from halluscope.explaining.protocols import CHOSEN, Protocol
from halluscope.explaining.steps import COUNTING, OTHER_ORDER, PROMPT, Setting
from halluscope.foreign import brief, one_line, quoted
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, below, printed, scored

SAME = "="
"""Printed where two protocols do the same."""

TEXT, NAME, PROMPTED = 40, 24, 80
"""How many characters are shown of a response, of a file's name, and of a prompt."""


def told(found: Explained, compared: Sequence[str], examples: int, sought: str | None = None) -> Report:
    """Return tables of scores and of differences, and what a reader has to know about them.

    Args:
        found: the scores.
        compared: the scores whose differences are shown.
        examples: how many responses are shown that two parsers read differently, for each pair of parsers.
        sought: a printed number; the scores that print as this number are looked for.
    """
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
    """Yield a table per file, with a row for each score and a column for each protocol."""
    header = ["score", *(one.name for one in found.protocols)]
    for file in found.files:
        yield Table("scores", header, _rows(found, file), of=_titled(found, _file(file)))


def _rows(found: Explained, file: str) -> list[list[Cell]]:
    def shown(one: Protocol, score: str) -> Number:
        value = found.score(found.setting(one, file), score) if one.reports(score) else float("nan")
        return scored(value, found.benchmark.is_points(score))

    return [[score, *(shown(one, score) for one in found.protocols)] for score in found.stated.shown]


def _titled(found: Explained, title: str) -> str:
    """Return a table's title where there are several files; "" otherwise."""
    return title if len(found.files) > 1 else ""


def _differences(found: Explained, score: str) -> list[Table | Notes]:
    """Return tables of differences with their parts, which add up as printed; one per file other than the first."""
    each_two = [*differences.differences(found, score)]
    if not each_two:
        return [Notes([f"{score} is reported by fewer than two of the protocols."])]
    if all(math.isnan(value) for one in each_two for value in one.values):
        return [Notes([f"{score} is undefined for these responses."])]
    aspects = _aspects(found)
    tables: list[Table | Notes] = []
    for other, each in groupby(sorted(each_two, key=_other), _other):
        rows = [_line(found, one, aspects, found.benchmark.is_points(score)) for one in each]
        header = [score, "against", "diff", *aspects]
        title = f"{_file(found.files[0])} against {_file(other)}"
        tables.append(Table(f"differences of {score}", header, rows, left=2, of=_titled(found, title)))
    return tables


def _aspects(found: Explained) -> Sequence[str]:
    """Return the aspects that can differ; with one file, the prompt cannot."""
    return CHOSEN if len(found.files) == 1 else (PROMPT, *CHOSEN)


def _other(one: Difference) -> str:
    return one.second[PROMPT]


def _line(found: Explained, one: Difference, aspects: Sequence[str], plain: bool) -> list[Cell]:
    first, last = one.values[0], one.values[-1]
    return [
        *(setting[COUNTING] for setting in (one.first, one.second)),
        _signed(first, last, plain, mark="*" if _order_matters(one) else ""),
        *_parts(found, one, aspects, plain),
    ]


def _parts(found: Explained, one: Difference, aspects: Sequence[str], plain: bool) -> Iterator[Number]:
    places = {aspect: place for place, aspect in enumerate(one.parts)}
    for aspect in aspects:
        place = places[aspect]
        same = found.same(one.first, one.second, aspect)
        yield _signed(one.values[place], one.values[place + 1], plain, said=SAME if same else "")


def _order_matters(one: Difference) -> bool:
    """Whether a part visibly changes when the changes are made in the other order."""
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
    """Say why protocols are not computed."""
    each = by_reason(found.not_computed).items()
    return (f"not computed: {names}, because {one_line(why, 300)}" for names, why in each)


def _prompts(found: Explained) -> list[str]:
    """Say what was asked, as far as it is known, and whether the prompt's effect can be computed."""
    lines = [line for file in found.files for line in _asked(found, file)]
    lines += [f"  {one.name} asks {quoted(one.prompt, PROMPTED)}" for one in found.protocols if one.prompt]
    if len(found.files) == 1:
        lines.append(
            "  The effect of another prompt cannot be computed from one file: give --responses a file per prompt."
        )
    return lines


def _asked(found: Explained, file: str) -> list[str]:
    """Say which prompts a file's responses name, and which protocols ask them."""
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
    """Say what each protocol does; after the first, only what differs from the first."""
    first, *others = found.protocols
    lines = _way(first, CHOSEN)
    for one in others:
        lines += _way(one, [a for a in CHOSEN if one.way(a).said != first.way(a).said])
    return lines


def _way(one: Protocol, aspects: Sequence[str]) -> list[str]:
    return [f"{one.name}: {one.by}", *(f"  {aspect + ':':9} {one.way(aspect).said}" for aspect in aspects)]


def _examples(found: Explained, most: int) -> list[str]:
    """Say how many responses each pair of parsers reads differently, with some examples."""
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
    return ", ".join(words.get(str(value)) or brief(value, 40) for value in read.values())


def _signatures(found: Explained) -> list[Notes]:
    several = len(found.files) > 1
    signed = {_label(setting, several): found.result(setting)["signature"] for setting in found.settings()}
    return below({name: [f"signature: {one}"] for name, one in signed.items()})


def _number(found: Explained, sought: str) -> list[str]:
    """Say which scores are printed as this number."""
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
    """Return the difference of two printed scores, so that printed parts sum to the printed whole."""
    if math.isnan(first) or math.isnan(second):
        return Number(None, mark=mark, said=said)
    less = float(printed(second, plain)) - float(printed(first, plain))
    return (
        Number(less, "+.3f", 1, mark=mark, said=said)
        if plain
        else Number(less / 100, "+.1f", mark=mark, said=said)
    )
