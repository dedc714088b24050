"""What `halluscope explain` prints: tables of scores and differences, and notes; or all of it as JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from halluscope.explaining import explained
from halluscope.explaining.explained import OTHER_ORDER, Difference, Explained, by_reason
from halluscope.explaining.protocols import CHOSEN, COUNTING, PROMPT, Setting
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, below, printed, scored
from halluscope.sanitize import one_line, quoted, short_repr

SAME = "="  # printed where two protocols do the same

# How many characters are shown of a response, of a file's name, and of a prompt.
TEXT, NAME, PROMPTED = 40, 24, 80


def told(found: Explained, compared: Sequence[str], examples: int, sought: str | None = None) -> Report:
    several = len(found.files) > 1

    def label(setting: Setting) -> str:
        return f"{setting[COUNTING]}, {_file(setting[PROMPT])}" if several else setting[COUNTING]

    notes: list[list[str]] = [_prompts(found), _ways(found), [*_examples(found, examples)]]
    blocks: list[Table | Notes] = []
    if sought is not None:
        number = one_line(sought, 20)
        places = [f"  {label(setting)}: {name}" for setting, name in explained.places(found, sought)]
        none = f"{number} is not a score of these responses under these protocols."
        blocks.append(Notes([f"{number} is", *places] if places else [none]))
    header = ["score", *(one.name for one in found.protocols)]
    for file in found.files:
        rows: list[list[Cell]] = [
            [
                score,
                *(
                    scored(
                        found.score(found.setting(one, file), score) if one.reports(score) else math.nan,
                        found.benchmark.is_points(score),
                    )
                    for one in found.protocols
                ),
            ]
            for score in found.stated.shown
        ]
        blocks.append(Table("scores", header, rows, of=_file(file) if several else ""))
    if len(found.protocols) == 1 and not several:
        title = found.benchmark.title
        if len(found.stated.each) == 1:
            notes.insert(0, [f"{title} has one protocol, so there is nothing to compare."])
        else:
            name = found.protocols[0].name
            said = f"Only {name} of {title}'s protocols is computed, so there is nothing to compare."
            notes.insert(0, [said, *_missing(found)])
    else:
        each_score = {score: [*explained.differences(found, score)] for score in compared}
        for score, differences in each_score.items():
            blocks += _differences(found, score, differences)
        remarks = [
            "diff is the second score minus the first, and the sum of the columns to its right: one thing after",
            f"the other is changed, from left to right, and the score is computed each time. {SAME} means that both",
            "do the same.",
        ]
        if any(_order_matters(one) for differences in each_score.values() for one in differences):
            order = ", ".join(OTHER_ORDER[1:])
            remarks.append(f"* The order matters: --json also has the parts in the order {order}.")
        notes.insert(0, [*remarks, *_missing(found)])
    signed = {label(one): [f"signature: {found.result(one)['signature']}"] for one in found.settings()}
    return [*blocks, *(Notes(lines) for lines in notes if lines), *below(signed)]


def _file(name: str) -> str:
    return one_line(name, NAME)


def _differences(found: Explained, score: str, differences: Sequence[Difference]) -> Iterator[Table | Notes]:
    if not differences:
        yield Notes([f"{score} is reported by fewer than two of the protocols."])
    elif all(math.isnan(value) for one in differences for value in one.values):
        yield Notes([f"{score} is undefined for these responses."])
        return
    several, is_points = len(found.files) > 1, found.benchmark.is_points(score)
    aspects = (PROMPT, *CHOSEN) if several else CHOSEN  # with one file, the prompt cannot differ
    for other in sorted({one.second[PROMPT] for one in differences}):
        rows: list[list[Cell]] = []
        for one in differences:
            if one.second[PROMPT] != other:
                continue
            steps = dict(zip(one.parts, pairwise(one.values), strict=True))
            mark = "*" if _order_matters(one) else ""
            rows.append(
                [
                    *(setting[COUNTING] for setting in (one.first, one.second)),
                    _signed(one.values[0], one.values[-1], is_points, mark=mark),
                    *(
                        _signed(*steps[of], is_points, SAME if found.same(one.first, one.second, of) else "")
                        for of in aspects
                    ),
                ]
            )
        title = f"{_file(found.files[0])} against {_file(other)}" if several else ""
        header = [score, "against", "diff", *aspects]
        yield Table(f"differences of {score}", header, rows, left=2, of=title)


def _signed(first: float, second: float, is_points: bool, said: str = "", mark: str = "") -> Number:
    """Return a difference of printed scores, so that printed parts sum to the printed whole."""
    if math.isnan(first) or math.isnan(second):
        return Number(None, mark=mark, said=said)
    less = float(printed(second, is_points)) - float(printed(first, is_points))
    form, value, times = ("+.3f", less, 1) if is_points else ("+.1f", less / 100, 100)
    return Number(value, form, times, mark=mark, said=said)


def _order_matters(one: Difference) -> bool:
    return any(abs(part - one.in_other_order[aspect]) >= 0.0005 for aspect, part in one.parts.items())


def _missing(found: Explained) -> Iterator[str]:
    unequal = {one.name: of.why for one in found.protocols if (of := found.discrepancy(one))}
    for what, reasons in (("not equal", unequal), ("not computed", found.not_computed)):
        for names, why in by_reason(reasons).items():
            yield f"{what}: {names}, because {one_line(why, 300)}"


def _prompts(found: Explained) -> list[str]:
    lines = []
    for file in found.files:
        said = [(prompt, count) for prompt, count in found.asked(file) if prompt]
        if not said:
            lines.append(f"prompts: {_file(file)} does not say what was asked")
            continue
        shown = ", ".join(f"{quoted(prompt, PROMPTED)} ({count:,})" for prompt, count in said[:3])
        same = [one.name for one in found.protocols if [one.prompt] == [prompt for prompt, _ in said]]
        shown += f", and other prompts ({sum(count for _, count in said[3:]):,})" * (len(said) > 3)
        which = f"what {', '.join(same)} asks" if same else "what no protocol here is known to ask"
        lines += [f"prompts: {_file(file)} answers {shown}", f"  which is {which}"]
    lines += [f"  {one.name} asks {quoted(one.prompt, PROMPTED)}" for one in found.protocols if one.prompt]
    if len(found.files) == 1:
        lines.append(
            "  The effect of another prompt cannot be computed from one file: give --responses a file per prompt."
        )
    return lines


def _ways(found: Explained) -> list[str]:
    """Return what the first protocol does, and in what the others differ from it."""
    lines, first = [], found.protocols[0]
    for one in found.protocols:
        lines.append(f"{one.name}: {one.by}")
        for aspect in CHOSEN:
            if one is first or one.way(aspect).said != first.way(aspect).said:
                lines.append(f"  {aspect + ':':9} {one.way(aspect).said}")
    return lines


def _examples(found: Explained, most: int) -> Iterator[str]:
    words = {"None": "unreadable", **found.stated.words}

    def reading(read: Mapping[str, Any]) -> str:
        return ", ".join(words.get(str(value)) or short_repr(value, 40) for value in read.values())

    for first, second, readings in explained.read_otherwise(found):
        (of, otherwise), shown = readings, explained.diverse(readings, most)
        such = ", such as" if shown else ""
        yield f"{first} and {second} read {len(otherwise):,} of {of:,} responses differently{such}"
        for id, text, one, other in shown:
            row = one_line(" ".join(map(str, id.values())), NAME)
            yield f"  {row}: {quoted(text, TEXT)} is {reading(one)}, or {reading(other)}"


# JSON: exact differences, not rounded for display


def listed(
    found: Explained, compared: Sequence[str], examples: int, number: str | None = None
) -> dict[str, Any]:

    def named(setting: Setting) -> dict[str, str]:
        return {"responses": setting[PROMPT], "protocol": setting[COUNTING]}

    protocols = []
    for one in found.protocols:
        unequal, results = found.discrepancy(one), []
        for file in found.files:
            setting = found.setting(one, file)
            names = dict.fromkeys((*found.benchmark.scores, *found.stated.shown))
            scores = {name: found.score(setting, name) for name in names if one.reports(name)}
            signature = found.result(setting)["signature"]
            results.append({"responses": file, "scores": scores, "signature": signature})
        protocols.append(
            {
                "name": one.name,
                "by": one.by,
                "prompt": one.prompt or None,
                **{aspect: one.way(aspect).said for aspect in CHOSEN},
                "discrepancy": unequal and unequal.why,
                "results": results,
            }
        )
    differences = []
    for difference in (one for score in compared for one in explained.differences(found, score)):
        readings = explained.readings(found, difference.first, difference.second)
        of, otherwise = readings or (None, None)
        differences.append(
            {
                "score": difference.score,
                "first": named(difference.first),
                "second": named(difference.second),
                "values": difference.values,
                "difference": difference.values[-1] - difference.values[0],
                "parts": difference.parts,
                "parts_in_other_order": difference.in_other_order,
                "read_otherwise": None if otherwise is None else len(otherwise),
                "of": of,
                "examples": [
                    {**id, "text": text, "first": before, "second": after}
                    for id, text, before, after in (explained.diverse(readings, examples) if readings else ())
                ],
            }
        )
    whole = {
        "benchmark": found.benchmark.name,
        "responses": found.files,
        "protocols": protocols,
        "not_computed": found.not_computed,
        "prompts": {
            file: [{"prompt": prompt or None, "responses": count} for prompt, count in found.asked(file)]
            for file in found.files
        },
        "differences": differences,
    }
    if number is not None:
        whole["number"] = [
            named(setting) | {"score": name} for setting, name in explained.places(found, number)
        ]
    return whole
