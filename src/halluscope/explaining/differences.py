"""Explains why protocols differ: a difference in parts, what parsers read differently, and which score a number is.

One aspect after the other is changed, and the score is computed after each change, so the parts sum to the difference.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np

from halluscope.explaining.explained import Explained, Result
from halluscope.explaining.protocols import ASPECTS, COUNTING, LABELS, PARSER, PROMPT, ROWS, Setting, means

# Keys of a result that hold numbers other than scores, under the names of scores.
INTERVALS = ("interval", "spread", "difference")


# To see whether the order matters. Rows stay before labels: a row without a label has no score.
OTHER_ORDER = (PROMPT, COUNTING, PARSER, ROWS, LABELS)


def path(first: Setting, second: Setting, order: Sequence[str] = ASPECTS) -> list[Setting]:
    """Return the settings from one to another, each with one more aspect of the second.

    >>> path({"rows": "a", "parser": "a"}, {"rows": "b", "parser": "b"}, ("rows", "parser"))[1:]
    [{'rows': 'b', 'parser': 'a'}, {'rows': 'b', 'parser': 'b'}]
    """
    settings = [first]
    for aspect in order:
        settings.append({**settings[-1], aspect: second[aspect]})
    return settings


def parts(values: Sequence[float], order: Sequence[str] = ASPECTS) -> dict[str, float]:
    """Return what each change adds to the score along a `path`; NaN before and after an undefined score.

    >>> parts([0.25, 1.0, 0.5], ("rows", "parser"))
    {'rows': 0.75, 'parser': -0.5}
    """
    return dict(zip(order, np.diff(values).tolist(), strict=True))


@dataclass(frozen=True)
class Difference:
    """By how much a score differs between two settings, and why."""

    first: Setting
    second: Setting
    score: str
    # the score at the first setting and after each change; the last is the score at the second setting
    values: tuple[float, ...]
    parts: Mapping[str, float]  # aspect -> what its change adds; the sum is the difference
    in_other_order: Mapping[str, float]  # the parts when the changes are made in the order `OTHER_ORDER`


@dataclass(frozen=True)
class Readings:
    """How two parsers read the same responses."""

    of: int  # how many responses both read
    # each response that they read differently: its row's id, its text, and what each parser read
    otherwise: Sequence[tuple[Mapping[str, Any], str, Mapping[str, Any], Mapping[str, Any]]]


def differences(found: Explained, score: str) -> Iterator[Difference]:
    """Yield why a score differs, for each pair of protocols that report it."""
    for first, second in pairs(found):
        if all(found.whose(setting, COUNTING).reports(score) for setting in (first, second)):
            yield difference(found, first, second, score)


def pairs(found: Explained) -> Iterator[tuple[Setting, Setting]]:
    """Yield each pair of protocols; if there are several files, the first file with each other one."""
    first, *others = found.files
    for index, one in enumerate(found.protocols):
        for other in found.protocols[index + (0 if others else 1) :]:
            for file in others or [first]:
                yield found.setting(one, first), found.setting(other, file)


def difference(found: Explained, first: Setting, second: Setting, score: str) -> Difference:
    """Return why a score differs between two settings."""
    values, others = (
        [found.score(setting, score) for setting in path(first, second, order)]
        for order in (ASPECTS, OTHER_ORDER)
    )
    return Difference(first, second, score, tuple(values), parts(values), parts(others, OTHER_ORDER))


def readings(found: Explained, first: Setting, second: Setting) -> Readings | None:
    """Return what another parser reads differently; None if the parser is the same, or no table of rows exists."""
    items = found.benchmark.items
    if not items or found.same(first, second, PARSER):
        return None
    settings, index = path(first, second), ASPECTS.index(PARSER)
    before, after = (found.result(setting)[items] for setting in settings[index : index + 2])
    matched = found.ready(settings[index]).matched
    otherwise = [
        (found.identity(row), text, *differing)
        for row, text, *pair in zip(matched.rows, matched.texts, before, after, strict=True)
        if any(differing := _differing(found.stated.read, *pair))
    ]
    return Readings(len(before), otherwise)


def read_otherwise(found: Explained) -> Iterator[tuple[str, str, Readings]]:
    """Yield for each two parsers the protocols that use them, and what they read differently in the first file."""
    done: set[frozenset[str]] = set()
    for first, second in combinations([found.setting(one, found.files[0]) for one in found.protocols], 2):
        two = frozenset(means(found.whose(setting, PARSER).parser) for setting in (first, second))
        if len(two) > 1 and two not in done and (read := readings(found, first, second)):
            done.add(two)
            yield first[PARSER], second[PARSER], read


def diverse(readings: Readings, most: int) -> list[Any]:
    """Return some differing readings, each text once, of each kind of difference first."""
    once: dict[str, Any] = {}
    for one in readings.otherwise:
        once.setdefault(repr(one[1:]), one)
    seen: Counter[str] = Counter()
    ranked = []
    for index, one in enumerate(once.values()):
        kind = repr(one[2:])
        ranked.append((seen[kind], index, one))
        seen[kind] += 1
    return [one for *_, one in sorted(ranked, key=itemgetter(0, 1))[:most]]


def places(found: Explained, number: str) -> Iterator[tuple[Setting, str]]:
    """Yield each setting and score that prints as this number, in percent or not, and in its own program too."""
    value, digits = float(number), max(0, -int(Decimal(number).as_tuple().exponent))
    for setting in found.settings():
        one = found.whose(setting, COUNTING)
        unequal = found.discrepancy(one)
        own = {
            one.called.get(score, score)
            for score in found.benchmark.scores
            if one.reports(score) and not (unequal and unequal.moves(score))
        }
        for name, score in _floats(found.result(setting), own):
            if any(abs(score * times - value) <= 0.5 * 10**-digits + 1e-9 for times in (1, 100)):
                yield setting, name


def _differing(
    names: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    unlike = [name for name in names or before if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in unlike}, {name: after.get(name) for name in unlike}


def _floats(result: Result, names: Collection[str], within: str = "") -> Iterator[tuple[str, float]]:
    """Yield the scores of these names in a result and in its parts, such as samplings."""
    for name, value in result.items():
        if isinstance(value, float) and name in names:
            yield within + name, value
        elif isinstance(value, Mapping) and name not in INTERVALS:
            yield from _floats(value, names, f"{within}{name}/")
