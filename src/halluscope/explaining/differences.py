"""What makes protocols differ: each difference in its parts, what parsers read otherwise, and where a number stands."""

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
"""What in a result holds numbers by the names of scores that are no scores."""


@dataclass(frozen=True)
class Difference:
    """By how much a score differs between two settings, and why.

    Attributes:
        first: the one setting.
        second: the other.
        score: its name.
        values: the score at the first setting and after each change, so that the last is that of the second setting.
        parts: aspect -> what its change adds; the sum is the difference.
        in_other_order: the same where the changes are made in the order `OTHER_ORDER`.
    """

    first: Setting
    second: Setting
    score: str
    values: tuple[float, ...]
    parts: Mapping[str, float]
    in_other_order: Mapping[str, float]


@dataclass(frozen=True)
class Readings:
    """What two parsers make of the same responses.

    Attributes:
        of: how many responses both read.
        otherwise: each that they read otherwise: what finds its row, its text, and what each parser read.
    """

    of: int
    otherwise: Sequence[tuple[Mapping[str, Any], str, Mapping[str, Any], Mapping[str, Any]]]


def differences(found: Explained, score: str) -> Iterator[Difference]:
    """Why a score differs, for each two protocols that report it."""
    for first, second in pairs(found):
        if all(found.whose(setting, COUNTING).reports(score) for setting in (first, second)):
            yield difference(found, first, second, score)


def pairs(found: Explained) -> Iterator[tuple[Setting, Setting]]:
    """Each two protocols; of several files from the first to each other, the same protocol too."""
    first, *others = found.files
    for place, one in enumerate(found.protocols):
        for other in found.protocols[place + (0 if others else 1) :]:
            for file in others or [first]:
                yield found.setting(one, first), found.setting(other, file)


def difference(found: Explained, first: Setting, second: Setting, score: str) -> Difference:
    """Why a score differs between two settings."""
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
    """What is read otherwise where the parser changes; None where it does not, or there is no table of rows."""
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
    """What each two parsers read otherwise, by the names of protocols: each two parsers once, in the first file."""
    done: set[frozenset[str]] = set()
    for first, second in combinations([found.setting(one, found.files[0]) for one in found.protocols], 2):
        two = frozenset(means(found.whose(setting, PARSER).parser) for setting in (first, second))
        if len(two) > 1 and two not in done and (read := readings(found, first, second)):
            done.add(two)
            yield first[PARSER], second[PARSER], read


def diverse(readings: Readings, most: int) -> list[Any]:
    """Some of them, each text once, and first one of each way in which they are read otherwise."""
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
    """Where a number stands that is printed with so many digits: protocol, and score; in percent, or as a fraction."""
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
    """What two readings of one response do not have in common, of these names or of all."""
    unlike = [name for name in names or before if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in unlike}, {name: after.get(name) for name in unlike}


def _floats(result: Result, names: Collection[str], within: str = "") -> Iterator[tuple[str, float]]:
    """The scores of these names in a result, and in its parts such as its samplings."""
    for name, value in result.items():
        if isinstance(value, float) and name in names:
            yield within + name, value
        elif isinstance(value, Mapping) and name not in INTERVALS:
            yield from _floats(value, names, f"{within}{name}/")
