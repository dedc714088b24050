"""Explains why protocols differ: a difference in parts, what parsers read differently, and which score a number is."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from operator import itemgetter
from typing import Any

from halluscope.explaining.explained import Explained, Result
from halluscope.explaining.protocols import means
from halluscope.explaining.steps import COUNTING, OTHER_ORDER, PARSER, Setting, parts, path

INTERVALS = ("interval", "spread", "difference")
"""Keys of a result that hold numbers other than scores, under the names of scores."""


@dataclass(frozen=True)
class Difference:
    """By how much a score differs between two settings, and why.

    Attributes:
        first: the one setting.
        second: the other setting.
        score: the name of the score.
        values: the score at the first setting and after each change; the last is the score at the second setting.
        parts: aspect -> what its change adds; the sum is the difference.
        in_other_order: the parts when the changes are made in the order `OTHER_ORDER`.
    """

    first: Setting
    second: Setting
    score: str
    values: tuple[float, ...]
    parts: Mapping[str, float]
    in_other_order: Mapping[str, float]


@dataclass(frozen=True)
class Readings:
    """How two parsers read the same responses.

    Attributes:
        of: how many responses both read.
        otherwise: each response that they read differently: its row's id, its text, and what each parser read.
    """

    of: int
    otherwise: Sequence[tuple[Mapping[str, Any], str, Mapping[str, Any], Mapping[str, Any]]]


def differences(found: Explained, score: str) -> Iterator[Difference]:
    """Yield why a score differs, for each pair of protocols that report it."""
    for first, second in pairs(found):
        if all(found.whose(setting, COUNTING).reports(score) for setting in (first, second)):
            yield difference(found, first, second, score)


def pairs(found: Explained) -> Iterator[tuple[Setting, Setting]]:
    """Yield each pair of protocols.

    With several files, the first protocol is paired with the first file and the second with each of the other files; a
    protocol is then also paired with itself.
    """
    first, *others = found.files
    for place, one in enumerate(found.protocols):
        for other in found.protocols[place + (0 if others else 1) :]:
            for file in others or [first]:
                yield found.setting(one, first), found.setting(other, file)


def difference(found: Explained, first: Setting, second: Setting, score: str) -> Difference:
    """Return why a score differs between two settings."""
    steps = path(first, second)

    def value(setting: Setting) -> float:
        return found.score(setting, score)

    return Difference(
        first,
        second,
        score,
        tuple(map(value, (first, *(step.after for step in steps)))),
        parts(steps, value),
        parts(path(first, second, OTHER_ORDER), value),
    )


def readings(found: Explained, first: Setting, second: Setting) -> Readings | None:
    """Return what is read differently when the parser changes; None if it does not, or there is no table of rows."""
    items = found.benchmark.items
    if not items or found.same(first, second, PARSER):
        return None
    (step,) = (step for step in path(first, second) if step.aspect == PARSER)
    before, after = (found.result(setting)[items] for setting in (step.before, step.after))
    matched = found.ready(step.before).matched
    otherwise = [
        (found.rows.identity(row), text, *differing)
        for row, text, *pair in zip(matched.rows, matched.texts, before, after, strict=True)
        if any(differing := _differing(found.stated.read, *pair))
    ]
    return Readings(len(before), otherwise)


def read_otherwise(found: Explained) -> Iterator[tuple[str, str, Readings]]:
    """Yield, for each pair of parsers, the names of two protocols that use them, and what they read differently.

    The responses are those in the first file.
    """
    done: set[frozenset[str]] = set()
    for first, second in combinations([found.setting(one, found.files[0]) for one in found.protocols], 2):
        two = frozenset(means(found.whose(setting, PARSER).parser) for setting in (first, second))
        if len(two) > 1 and two not in done and (read := readings(found, first, second)):
            done.add(two)
            yield first[PARSER], second[PARSER], read


def diverse(readings: Readings, most: int) -> list[Any]:
    """Return some differing readings, each text once, starting with one per kind of difference."""
    once: dict[str, Any] = {}
    for one in readings.otherwise:
        once.setdefault(repr(one[1:]), one)
    seen: Counter[str] = Counter()
    ranked = []
    for place, one in enumerate(once.values()):
        kind = repr(one[2:])
        ranked.append((seen[kind], place, one))
        seen[kind] += 1
    return [one for *_, one in sorted(ranked, key=itemgetter(0, 1))[:most]]


def places(found: Explained, number: str) -> Iterator[tuple[Setting, str]]:
    """Yield each setting and score that print as this number with its digits, in percent or as a fraction."""
    value, digits = float(number), max(0, -int(Decimal(number).as_tuple().exponent))
    for setting in found.settings():
        one = found.whose(setting, COUNTING)
        own = {one.called.get(score, score) for score in found.benchmark.scores if one.reports(score)}
        for name, score in _floats(found.result(setting), own):
            if any(abs(score * times - value) <= 0.5 * 10**-digits + 1e-9 for times in (1, 100)):
                yield setting, name


def _differing(
    names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values in which two readings of one response differ, among these names, or all if none are given."""
    unlike = [name for name in names or before if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in unlike}, {name: after.get(name) for name in unlike}


def _floats(result: Result, names: Collection[str], within: str = "") -> Iterator[tuple[str, float]]:
    """Yield the scores of these names in a result, and in its parts such as its samplings."""
    for name, value in result.items():
        if isinstance(value, float) and name in names:
            yield within + name, value
        elif isinstance(value, Mapping) and name not in INTERVALS:
            yield from _floats(value, names, f"{within}{name}/")
