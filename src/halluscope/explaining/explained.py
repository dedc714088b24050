"""One LVLM's responses under the protocols of a benchmark, and under what lies between two of them.

Each score is computed once, as `halluscope score` computes it with the same options. A setting (`steps`) may take the
rows of one protocol, the labels of another, and read and count as a third.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from halluscope import registry, scoring
from halluscope.explaining.protocols import CHOSEN, Protocol, Protocols, Way
from halluscope.explaining.steps import (
    ASPECTS,
    COUNTING,
    LABELS,
    OTHER_ORDER,
    PARSER,
    PROMPT,
    ROWS,
    Setting,
    Step,
    parts,
    path,
)
from halluscope.foreign import brief
from halluscope.numbers import finite
from halluscope.options import Door, taken
from halluscope.registry import QUESTION, Benchmark
from halluscope.responses.files import Given
from halluscope.scoring import Ready

Result = Mapping[str, Any]
Key = tuple[str, ...]
"""What finds a row."""

INTERVALS = ("interval", "spread", "difference")
"""What in a result holds numbers by the names of scores that are no scores."""

MOST = 1e9

ABSENT = object()
"""Stands for a row that other labels do not have."""

IMPOSSIBLE = (ValueError, OSError, ImportError)
"""Why a protocol may not be computed: rows, labels or a package that are not there."""


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


class Explained:
    """Scores of the same responses by protocol.

    Attributes:
        benchmark: whose protocols these are.
        protocols: those that can be computed.
        not_computed: name -> why, of those that cannot.
        files: the names of the files of responses, each the answers to one prompt.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        stated: Protocols,
        chosen: Sequence[Protocol],
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Mapping[str, Any],
        door: Door | None = None,
    ) -> None:
        """Read the responses, and score them by each protocol.

        Args:
            benchmark: whose responses these are.
            stated: what its room states.
            chosen: the protocols that are wanted.
            responses: of one LVLM, a file per prompt.
            dataset: what they are scored against.
            options: of the benchmark, as `halluscope.scoring.prepare` takes them.
            door: how responses are read and matched.

        Raises:
            ValueError: if no protocol can be computed, or files answer other rows than the first.
        """
        self.benchmark, self.files = benchmark, [""]
        self._stated, self._responses, self._dataset = stated, responses, dataset
        self._named = {one.name: one for one in chosen}
        self._others = {one.labels.dataset for one in stated.each if one.labels.dataset}
        self._options, self._door = options, door
        self._prepared: dict[str, list[Ready]] = {}
        self._tables: dict[str, dict[Key, Any]] = {}
        self._results: dict[tuple[str, ...], Result] = {}
        self.protocols: list[Protocol] = []
        self.not_computed: dict[str, str] = {}
        self._try(chosen)

    def _try(self, chosen: Sequence[Protocol]) -> None:
        """Compute each protocol; why one cannot be is kept.

        Raises:
            ValueError: the first reason, where none can be computed.
        """
        failed: list[Exception] = []
        for one in chosen:
            try:
                self._check_needs(one)
                self.files = [ready.matched.name for ready in self._prepare(one.rows)]
                self._check_files(one)
                for file in self.files:
                    self.result(self.setting(one, file))
            except IMPOSSIBLE as error:
                failed.append(error)
                self.not_computed[one.name] = str(error)
            else:
                self.protocols.append(one)
        if not self.protocols:
            raise failed[0]

    def setting(self, protocol: Protocol, file: str) -> Setting:
        """All that a protocol does, of the responses in a file."""
        return {PROMPT: file, **dict.fromkeys(CHOSEN, protocol.name)}

    def result(self, setting: Setting) -> Result:
        """The result at a setting; computed once."""
        ways = {aspect: self._named[setting[aspect]].way(aspect) for aspect in CHOSEN}
        rows_of, labels_of = self._named[setting[ROWS]], self._named[setting[LABELS]]
        options = self._left(ways[LABELS])
        for way in ways.values():
            options |= way.options
        key = (setting[PROMPT], repr((rows_of.rows, rows_of.labels)), repr(labels_of.labels), repr(options))
        if key not in self._results:
            ready = self._ready(setting[PROMPT], rows_of, labels_of)
            items = {self.benchmark.items: True} if self.benchmark.items else {}
            self._results[key] = scoring.compute(self.benchmark, ready, options | items)
        return self._results[key]

    def score(self, setting: Setting, name: str) -> float:
        """A score at a setting; NaN where it is undefined, or the result does not have it."""
        called = self._named[setting[COUNTING]].called.get(name, name)
        value = self.result(setting).get(called)
        return float(value) if isinstance(value, int | float) else math.nan

    def pairs(self) -> Iterator[tuple[Setting, Setting]]:
        """Each two protocols; of several files from the first to each other, the same protocol too."""
        first, *others = self.files
        for place, one in enumerate(self.protocols):
            for other in self.protocols[place + (0 if others else 1) :]:
                for file in others or [first]:
                    yield self.setting(one, first), self.setting(other, file)

    def differences(self, score: str) -> Iterator[Difference]:
        """Why a score differs, for each two protocols that report it."""
        for first, second in self.pairs():
            if all(self._named[setting[ROWS]].reports(score) for setting in (first, second)):
                yield self.difference(first, second, score)

    def difference(self, first: Setting, second: Setting, score: str) -> Difference:
        """Why a score differs between two settings."""
        steps = path(first, second)

        def value(setting: Setting) -> float:
            return self.score(setting, score)

        return Difference(
            first,
            second,
            score,
            tuple(map(value, (first, *(step.after for step in steps)))),
            parts(steps, value),
            parts(path(first, second, OTHER_ORDER), value),
        )

    def readings(self, first: Setting, second: Setting) -> Readings | None:
        """What is read otherwise where the parser changes; None in a benchmark without a table of rows."""
        if not self.benchmark.items:
            return None
        (step,) = (step for step in path(first, second) if step.aspect == PARSER)
        before, after = (self.result(setting)[self.benchmark.items] for setting in (step.before, step.after))
        rows = self._of(step)
        found = [
            (registry.identity(self.benchmark).identity(vars(row)), text, *differing)
            for row, text, *pair in zip(rows.matched.rows, rows.matched.texts, before, after, strict=True)
            if any(differing := self._differing(*pair))
        ]
        return Readings(len(before), found)

    def asked(self, file: str) -> list[tuple[str, int]]:
        """The prompts that a file's responses say they answer, {question} for a row's own; "" for none."""
        matched = self._ready(file, self.protocols[0], self.protocols[0]).matched
        return Counter(map(_template, matched.rows, matched.asked)).most_common()

    def settings(self) -> list[Setting]:
        """Each protocol of each file."""
        return [self.setting(one, file) for one in self.protocols for file in self.files]

    def same(self, first: Setting, second: Setting, aspect: str) -> bool:
        """Whether two settings do the same in an aspect, however it is said."""
        if aspect == PROMPT:
            return first[PROMPT] == second[PROMPT]
        one, other = (self._named[setting[aspect]] for setting in (first, second))
        if aspect == ROWS:
            return _means(one.rows, one.labels) == _means(other.rows, other.labels)
        counted = aspect == COUNTING and one.called != other.called
        return not counted and _means(one.way(aspect)) == _means(other.way(aspect))

    def read_otherwise(self) -> Iterator[tuple[str, str, Readings]]:
        """What each two parsers read otherwise, by the names of protocols: each two parsers once, in the first file."""
        done: set[frozenset[str]] = set()
        for first, second in combinations([self.setting(one, self.files[0]) for one in self.protocols], 2):
            two = frozenset(_means(self._named[setting[PARSER]].parser) for setting in (first, second))
            if len(two) > 1 and two not in done and (readings := self.readings(first, second)):
                done.add(two)
                yield first[PARSER], second[PARSER], readings

    def places(self, number: str) -> Iterator[tuple[Setting, str]]:
        """Where a number stands that is printed with so many digits: protocol, and score.

        Raises:
            ValueError: for what is no number.
        """
        value, digits = finite("number", _number(number), -MOST, MOST), len(number.partition(".")[2])
        for setting in self.settings():
            one = self._named[setting[COUNTING]]
            own = {one.called.get(score, score): score for score in self.benchmark.scores if one.reports(score)}
            for name, found in _floats(self.result(setting), own):
                if any(abs(found * times - value) <= 0.5 * 10**-digits + 1e-9 for times in (1, 100)):
                    yield setting, name

    # What is computed on the way.

    def _of(self, step: Step) -> Ready:
        setting = step.before
        return self._ready(setting[PROMPT], self._named[setting[ROWS]], self._named[setting[LABELS]])

    def _differing(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What two readings of one response do not have in common."""
        names = [name for name in self._stated.read or before if before.get(name) != after.get(name)]
        return {name: before.get(name) for name in names}, {name: after.get(name) for name in names}

    def _left(self, labels: Way) -> dict[str, Any]:
        """The user's options that hold where labels are chosen in this way."""
        gone = self._others | {*labels.without}
        return {name: value for name, value in self._options.items() if name not in gone}

    def _check_needs(self, protocol: Protocol) -> None:
        lacking = [name for name in protocol.needs if not self._options.get(name)]
        if lacking:
            raise ValueError(f"it needs --{lacking[0].replace('_', '-')}")

    def _check_files(self, protocol: Protocol) -> None:
        first, *others = self._prepare(protocol.rows)
        for other in others:
            if [*map(self._key, other.matched.rows)] != [*map(self._key, first.matched.rows)]:
                raise ValueError(
                    f"{other.matched.name} and {first.matched.name} answer other rows ({len(other.matched.rows):,} and "
                    f"{len(first.matched.rows):,}); expected one LVLM's responses to the same rows, a file per prompt."
                )

    def _prepare(self, rows: Way) -> list[Ready]:
        """The files of responses, matched to the rows that count."""
        key = repr(rows.options)
        if key not in self._prepared:
            options = self._left(Way()) | rows.options
            self._prepared[key] = scoring.prepare(
                self.benchmark, self._responses, self._dataset, options, self._door
            )
        return self._prepared[key]

    def _ready(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        """The responses to the rows of one protocol, with the labels of another where these rows have one."""
        prepared = self._prepare(rows_of.rows)
        place = self.files.index(file)
        mine = prepared[place].matched.rows
        theirs = self._labelled(mine, rows_of.labels)
        rows = [
            None if left_out is None else row
            for row, left_out in zip(self._labelled(mine, labels_of.labels), theirs, strict=True)
        ]
        if rows == mine:
            return prepared[place]
        options = self._left(labels_of.labels) | rows_of.rows.options
        return scoring.among(self.benchmark, prepared[place], rows, options, (place, len(prepared)))

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """The rows with other labels; None for one that these leave out."""
        if not (labels.dataset or labels.without):
            return rows
        table = self._table(labels)
        return [self._counterpart(row, table, labels.dataset) for row in rows]

    def _table(self, labels: Way) -> Mapping[Key, Any]:
        """The rows that other labels are about; None for one that is not scored."""
        key = repr(labels)
        if key not in self._tables:
            module, options = self.benchmark.module("rows"), self._left(labels)
            rows = module.load(self._options.get(labels.dataset, self._dataset), **taken(module.load, options))
            wanted = getattr(module, "wanted", lambda row: True)
            self._tables[key] = {self._key(row): row if wanted(row) else None for row in rows}
        return self._tables[key]

    def _counterpart(self, row: Any, table: Mapping[Key, Any], named: str) -> Any:
        """The row of other labels that is about the same.

        Raises:
            ValueError: if there is none, or one that asks something else.
        """
        found = table.get(self._key(row), ABSENT)
        if found is ABSENT or (found is not None and _question(found) != _question(row)):
            known = registry.identity(self.benchmark).identity(vars(row))
            raise ValueError(
                f"{named} has no row for {', '.join(f'{name} {value}' for name, value in known.items())}: "
                f"{brief(_question(row))}; expected other labels of the same rows."
            )
        return found

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return registry.identity(self.benchmark).key

    def _key(self, row: Any) -> Key:
        return tuple(str(getattr(row, column, "")) for column in self._columns)


def _means(*ways: Way) -> str:
    """What ways do, however it is said."""
    return repr([(sorted(way.options.items()), way.dataset, way.without) for way in ways])


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"The number is {brief(word)}; expected one such as 85.9 or 0.859.") from None


def _floats(result: Result, names: Mapping[str, str], within: str = "") -> Iterator[tuple[str, float]]:
    """The scores of these names in a result, and in its parts such as its samplings."""
    for name, value in result.items():
        if isinstance(value, float) and name in names:
            yield within + name, value
        elif isinstance(value, Mapping) and name not in INTERVALS:
            yield from _floats(value, names, f"{within}{name}/")


def _question(row: Any) -> str:
    return " ".join(str(getattr(row, "question", "")).split())


def _template(row: Any, asked: str) -> str:
    """A prompt with {question} for a row's own question."""
    question = _question(row)
    return asked.replace(question, QUESTION) if question else asked
