"""Scores one LVLM's responses under a benchmark's protocols, and explains the differences.

Each score is computed once, as `halluscope score` computes it with the same options. A setting may take the rows of one
protocol, the labels of another, and the parser and counting of a third. Between two protocols one aspect after the
other is changed, and the score is computed after each change, so the parts sum to the difference.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from halluscope import registry, scoring
from halluscope.explaining.protocols import (
    ASPECTS,
    CHOSEN,
    COUNTING,
    LABELS,
    PARSER,
    PROMPT,
    ROWS,
    Discrepancy,
    Protocol,
    Protocols,
    Setting,
    Way,
    means,
)
from halluscope.options import MatchingOptions, taken
from halluscope.registry import QUESTION, Benchmark
from halluscope.responses.files import Given
from halluscope.responses.match import plain_question
from halluscope.sanitize import short_repr
from halluscope.scoring import Ready

Key = tuple[str, ...]
T = TypeVar("T")

# Errors for which a protocol is left out: missing rows, missing labels, or a missing package.
IMPOSSIBLE = (ValueError, OSError, ImportError)

# To see whether the order matters. Rows stay before labels: a row without a label has no score.
OTHER_ORDER = (PROMPT, COUNTING, PARSER, ROWS, LABELS)

# Keys of a result that hold numbers other than scores, under the names of scores.
INTERVALS = ("interval", "spread", "difference")


@dataclass(frozen=True)
class Difference:
    """By how much a score differs between two settings, and why."""

    first: Setting
    second: Setting
    score: str
    # the score at the first setting and after each change; the last is the score at the second setting
    values: Sequence[float]
    parts: Mapping[str, float]  # aspect -> what its change adds; the sum is the difference
    in_other_order: Mapping[str, float]  # the parts when the changes are made in the order `OTHER_ORDER`


# Of two parsers: how many responses both read, and each that they read differently: its row's id, its text, and what
# each parser read
Readings = tuple[int, list[tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]]]


class Explained:
    def __init__(
        self,
        benchmark: Benchmark,
        stated: Protocols,
        chosen: Sequence[Protocol],
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Mapping[str, Any],
        matching: MatchingOptions | None = None,
    ) -> None:
        self.benchmark, self.stated = benchmark, stated
        self.files: list[str] = []  # the names of the files of responses, one file per prompt
        self.not_computed: dict[str, str] = {}  # name of a protocol -> reason
        self._named = {one.name: one for one in chosen}
        self._responses, self._dataset, self._options = responses, dataset, options
        self._matching = matching
        self._others = {one.labels.dataset for one in stated.each if one.labels.dataset}
        self._dataset_of = registry.identity(benchmark)
        self._made: dict[Key, Any] = {}
        self.protocols = self._possible(chosen, self._match)

    def compute(self) -> None:
        self.protocols = self._possible(
            self.protocols, lambda one: [self.result(self.setting(one, file)) for file in self.files]
        )

    def setting(self, protocol: Protocol, file: str) -> Setting:
        return {PROMPT: file, **dict.fromkeys(CHOSEN, protocol.name)}

    def settings(self) -> list[Setting]:
        return [self.setting(one, file) for one in self.protocols for file in self.files]

    def whose(self, setting: Setting, aspect: str) -> Protocol:
        return self._named[setting[aspect]]

    def ready(self, setting: Setting) -> Ready:
        """Return the responses of a setting, matched to its rows and labels."""
        rows_of, labels_of = self.whose(setting, ROWS), self.whose(setting, LABELS)

        def make() -> Ready:
            prepared, index = self._prepare(rows_of.rows), self.files.index(setting[PROMPT])
            mine = prepared[index].matched.rows
            rows = [
                None if left_out is None else row
                for row, left_out in zip(
                    self._labelled(mine, labels_of.labels), self._labelled(mine, rows_of.labels), strict=True
                )
            ]
            if rows == mine:
                return prepared[index]
            options = self.options(labels_of.labels, rows_of.rows)
            return scoring.among(self.benchmark, prepared[index], rows, options, (index, len(prepared)))

        return self._once(("ready", *self._rows(setting)), make)

    def result(self, setting: Setting) -> Mapping[str, Any]:
        """Return the result at a setting; it is computed once."""
        options = self.options(*(self.whose(setting, aspect).way(aspect) for aspect in CHOSEN))
        items = {self.benchmark.items: True} if self.benchmark.items else {}
        return self._once(
            ("result", *self._rows(setting), repr(sorted(options.items()))),
            lambda: scoring.compute(self.benchmark, self.ready(setting), options | items),
        )

    def discrepancy(self, one: Protocol) -> Discrepancy | None:
        """Return why a protocol's own program prints other numbers, if it does."""
        options = self.options(*(one.way(aspect) for aspect in CHOSEN))
        return one.discrepancy if one.discrepancy.holds(options) else None

    def score(self, setting: Setting, name: str) -> float:
        value = self.result(setting).get(self.whose(setting, COUNTING).called.get(name, name))
        return float(value) if isinstance(value, int | float) else math.nan

    def same(self, first: Setting, second: Setting, aspect: str) -> bool:
        if aspect == PROMPT:
            return first[PROMPT] == second[PROMPT]
        one, other = (self.whose(setting, aspect) for setting in (first, second))
        if aspect == COUNTING and one.called != other.called:
            return False
        aspects = (ROWS, LABELS) if aspect == ROWS else (aspect,)  # labels can leave rows out
        return means(*map(one.way, aspects)) == means(*map(other.way, aspects))

    def asked(self, file: str) -> list[tuple[str, int]]:
        """Return the prompts that a file's responses name, with counts; {question} is a row's own."""
        matched = self.ready(self.setting(self.protocols[0], file)).matched
        if len(matched.prompts) == 1 and not any(matched.asked):
            # Our harness tasks log only the name of a prompt.
            named = " ".join(self.benchmark.prompts.get(matched.prompts[0], "").split())
            return [(named, len(matched.rows))]
        prompts: Counter[str] = Counter()
        for row, asked in zip(matched.rows, matched.asked, strict=False):
            own, said = map(plain_question, (_question(row), asked))
            prompts[said.replace(own, QUESTION) if own else said] += 1
        return prompts.most_common()

    def options(self, *ways: Way) -> dict[str, Any]:
        """Return what these ways set, and the user's options that apply in all of them."""
        gone = self._others.union(*(way.without for way in ways))
        options = {name: value for name, value in self._options.items() if name not in gone}
        for way in ways:
            options |= way.options
        return options

    def _once(self, key: Key, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def _rows(self, setting: Setting) -> Key:
        """Return a text that is the same for settings with the same responses, rows and labels."""
        rows, labels = self.whose(setting, ROWS), self.whose(setting, LABELS)
        return setting[PROMPT], means(rows.rows, rows.labels), means(labels.labels)

    def _possible(self, among: Sequence[Protocol], do: Callable[[Protocol], object]) -> list[Protocol]:
        possible: list[Protocol] = []
        failed: dict[str, Exception] = {}
        for one in among:
            try:
                do(one)
                possible.append(one)
            except IMPOSSIBLE as error:
                failed[one.name] = error
        why = {name: str(error) for name, error in failed.items()}
        self.not_computed |= why
        if not possible and len(set(why.values())) == 1:
            raise next(iter(failed.values()))
        if not possible:
            lines = map(": ".join, by_reason(why).items())
            raise ValueError("\n".join(["No protocol can be computed.", *lines]))
        return possible

    def _match(self, one: Protocol) -> None:
        if lacking := [name for name in one.needs if not self._options.get(name)]:
            option = f"--{lacking[0].replace('_', '-')}"
            raise ValueError(f"{option} is not given, and {one.name} needs it.")
        first, *others = (ready.matched for ready in self._prepare(one.rows))
        self.files = [first.name, *(other.name for other in others)]
        for other in others:
            if sorted(map(self._key, other.rows)) != sorted(map(self._key, first.rows)):
                raise ValueError(
                    f"{other.name} and {first.name} answer different rows ({len(other.rows):,} and "
                    f"{len(first.rows):,}); expected one LVLM's responses to the same rows, a file per prompt."
                )
        for file in self.files:
            self.ready(self.setting(one, file))

    def _prepare(self, rows: Way) -> list[Ready]:
        return self._once(
            ("prepared", means(rows)),
            lambda: scoring.prepare(
                self.benchmark, self._responses, self._dataset, self.options(rows), self._matching
            ),
        )

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """Return the rows with other labels; None for a row that is not scored with them."""
        if not (labels.dataset or labels.without):
            return rows
        module = self.benchmark.module("rows")

        def make() -> Mapping[Key, Any]:
            source = self._options.get(labels.dataset, self._dataset)
            others = module.load(source, **taken(module.load, self.options(labels)))
            return {self._key(row): row for row in others}

        table, wanted = (
            self._once(("labels", means(labels)), make),
            getattr(module, "wanted", lambda row: True),
        )
        found = []
        for row in rows:
            other = table.get(self._key(row))
            if other is None or (wanted(other) and _question(other) != _question(row)):
                known = ", ".join(f"{name} {value}" for name, value in self.identity(row).items())
                raise ValueError(
                    f"{labels.dataset} has no row for {known}: {short_repr(_question(row))}; expected other labels of "
                    "the same rows."
                )
            found.append(other if wanted(other) else None)
        return found

    def identity(self, row: Any) -> dict[str, Any]:
        return self._dataset_of.identity(vars(row))

    def _key(self, row: Any) -> Key:
        return tuple(str(getattr(row, column, "")) for column in self._dataset_of.key)


def by_reason(failed: Mapping[str, str]) -> dict[str, str]:
    names: dict[str, list[str]] = {}
    for name, why in failed.items():
        names.setdefault(why, []).append(name)
    return {", ".join(of): why for why, of in names.items()}


def _question(row: Any) -> str:
    return " ".join(str(getattr(row, "question", "")).split())


# Differences


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


def differences(found: Explained, score: str) -> Iterator[Difference]:
    """Yield why a score differs, for each pair of protocols that report it.

    If there are several files, each protocol of the first file is paired with each of the other files.
    """
    first_file, *others = found.files
    able = [one for one in found.protocols if one.reports(score)]
    for index, one in enumerate(able):
        for other in able[index + (not others) :]:
            for file in others or [first_file]:
                first, second = found.setting(one, first_file), found.setting(other, file)
                values, in_other_order = (
                    [found.score(setting, score) for setting in path(first, second, order)]
                    for order in (ASPECTS, OTHER_ORDER)
                )
                other_parts = parts(in_other_order, OTHER_ORDER)
                yield Difference(first, second, score, values, parts(values), other_parts)


def readings(found: Explained, first: Setting, second: Setting) -> Readings | None:
    """Return what another parser reads differently; None if the parser is the same, or no table of rows exists."""
    items = found.benchmark.items
    if not items or found.same(first, second, PARSER):
        return None
    settings, index = path(first, second), ASPECTS.index(PARSER)
    before, after = (found.result(setting)[items] for setting in settings[index : index + 2])
    matched, otherwise = found.ready(settings[index]).matched, []
    for row, text, one, other in zip(matched.rows, matched.texts, before, after, strict=True):
        if unlike := [name for name in found.stated.read or one if one.get(name) != other.get(name)]:
            old, new = (dict[str, Any]({name: of.get(name) for name in unlike}) for of in (one, other))
            otherwise.append((found.identity(row), text, old, new))
    return len(before), otherwise


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
    for one in readings[1]:
        once.setdefault(repr(one[1:]), one)
    seen: Counter[str] = Counter()
    ranks = []
    for one in once.values():
        ranks.append((seen[repr(one[2:])], one))
        seen[repr(one[2:])] += 1
    return [one for _, one in sorted(ranks, key=itemgetter(0))[:most]]


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


def _floats(
    result: Mapping[str, Any], names: Collection[str], within: str = ""
) -> Iterator[tuple[str, float]]:
    """Yield the scores of these names in a result and in its parts, such as samplings."""
    for name, value in result.items():
        if isinstance(value, float) and name in names:
            yield within + name, value
        elif isinstance(value, Mapping) and name not in INTERVALS:
            yield from _floats(value, names, f"{within}{name}/")
