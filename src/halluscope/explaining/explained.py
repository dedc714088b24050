"""Scores one LVLM's responses under a benchmark's protocols, and under the steps between two protocols.

Each score is computed once, as `halluscope score` computes it with the same options. A setting may take the
rows of one protocol, the labels of another, and the parser and counting of a third.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halluscope import registry, scoring
from halluscope.explaining.protocols import (
    CHOSEN,
    COUNTING,
    LABELS,
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
from halluscope.sanitize import short_repr
from halluscope.scoring import Ready

Result = Mapping[str, Any]
Key = tuple[str, ...]  # the values that identify a row
ABSENT = object()  # a row for which the other labels have none

# Errors for which a protocol is left out: missing rows, missing labels, or a missing package.
IMPOSSIBLE = (ValueError, OSError, ImportError)


class Explained:
    """Scores of the same responses by protocol."""

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
        self._prepared: dict[str, list[Ready]] = {}
        self._tables: dict[str, dict[Key, Any]] = {}
        self._ready: dict[Key, Ready] = {}
        self._results: dict[Key, Result] = {}
        self.protocols = self._possible(chosen, self._match)

    def compute(self) -> None:
        """Compute the scores of each protocol."""
        self.protocols = self._possible(self.protocols, self._compute)

    def setting(self, protocol: Protocol, file: str) -> Setting:
        """Return the setting in which one protocol decides every aspect."""
        return {PROMPT: file, **dict.fromkeys(CHOSEN, protocol.name)}

    def settings(self) -> list[Setting]:
        """Return the setting of each protocol for each file."""
        return [self.setting(one, file) for one in self.protocols for file in self.files]

    def whose(self, setting: Setting, aspect: str) -> Protocol:
        """Return the protocol that an aspect of a setting follows."""
        return self._named[setting[aspect]]

    def ready(self, setting: Setting) -> Ready:
        """Return the responses of a setting, matched to its rows and labels."""
        return self._with_rows(setting[PROMPT], self.whose(setting, ROWS), self.whose(setting, LABELS))

    def result(self, setting: Setting) -> Result:
        """Return the result at a setting; it is computed once."""
        options = self.options(*(self.whose(setting, aspect).way(aspect) for aspect in CHOSEN))
        about = _same_rows(setting[PROMPT], self.whose(setting, ROWS), self.whose(setting, LABELS))
        key = (*about, repr(sorted(options.items())))
        if key not in self._results:
            items = {self.benchmark.items: True} if self.benchmark.items else {}
            self._results[key] = scoring.compute(self.benchmark, self.ready(setting), options | items)
        return self._results[key]

    def discrepancy(self, one: Protocol) -> Discrepancy | None:
        """Return why a protocol's own program prints other numbers, if it does."""
        options = self.options(*(one.way(aspect) for aspect in CHOSEN))
        return one.discrepancy if one.discrepancy.holds(options) else None

    def score(self, setting: Setting, name: str) -> float:
        """Return a score at a setting; NaN where it is undefined or missing."""
        value = self.result(setting).get(self.whose(setting, COUNTING).called.get(name, name))
        return float(value) if isinstance(value, int | float) else math.nan

    def same(self, first: Setting, second: Setting, aspect: str) -> bool:
        """Whether two settings do the same in an aspect, however described."""
        if aspect == PROMPT:
            return first[PROMPT] == second[PROMPT]
        one, other = (self.whose(setting, aspect) for setting in (first, second))
        if aspect == COUNTING and one.called != other.called:
            return False
        beside = [LABELS] if aspect == ROWS else []  # labels can leave rows out
        return means(*map(one.way, (aspect, *beside))) == means(*map(other.way, (aspect, *beside)))

    def asked(self, file: str) -> list[tuple[str, int]]:
        """Return the prompts that a file's responses name, with counts; {question} is a row's own."""
        matched = self.ready(self.setting(self.protocols[0], file)).matched
        if len(matched.prompts) == 1 and not any(matched.asked):
            # Our harness tasks log only the name of a prompt.
            named = " ".join(self.benchmark.prompts.get(matched.prompts[0], "").split())
            return [(named, len(matched.rows))]
        return Counter(map(_template, matched.rows, matched.asked)).most_common()

    def options(self, *ways: Way) -> dict[str, Any]:
        """Return what these ways set, and the user's options that apply in all of them."""
        gone = self._others.union(*(way.without for way in ways))
        left = {name: value for name, value in self._options.items() if name not in gone}
        return left | {name: value for way in ways for name, value in way.options.items()}

    def identity(self, row: Any) -> dict[str, Any]:
        """Return the columns that identify a row, with their names, to be shown."""
        return self._dataset_of.identity(vars(row))

    def _possible(self, among: Sequence[Protocol], do: Callable[[Protocol], None]) -> list[Protocol]:
        possible: list[Protocol] = []
        failed: dict[str, Exception] = {}
        for one in among:
            try:
                do(one)
            except IMPOSSIBLE as error:
                failed[one.name] = error
            else:
                possible.append(one)
        self.not_computed |= {name: str(error) for name, error in failed.items()}
        if not possible:
            raise _together(failed)
        return possible

    def _compute(self, one: Protocol) -> None:
        for file in self.files:
            self.result(self.setting(one, file))

    def _match(self, one: Protocol) -> None:
        """Match the files to a protocol's rows."""
        if lacking := [name for name in one.needs if not self._options.get(name)]:
            option = f"--{lacking[0].replace('_', '-')}"
            raise ValueError(f"{option} is not given, and {one.name} needs it.")
        first, *others = self._prepare(one.rows)
        self.files = [ready.matched.name for ready in (first, *others)]
        for other in others:
            if sorted(map(self._key, other.matched.rows)) != sorted(map(self._key, first.matched.rows)):
                raise ValueError(
                    f"{other.matched.name} and {first.matched.name} answer different rows ({len(other.matched.rows):,} "
                    f"and {len(first.matched.rows):,}); expected one LVLM's responses to the same rows, a file per "
                    "prompt."
                )
        for file in self.files:
            self._with_rows(file, one, one)

    def _with_rows(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        key = _same_rows(file, rows_of, labels_of)
        if key not in self._ready:
            self._ready[key] = self._put(file, rows_of, labels_of)
        return self._ready[key]

    def _prepare(self, rows: Way) -> list[Ready]:
        key = means(rows)
        if key not in self._prepared:
            self._prepared[key] = scoring.prepare(
                self.benchmark, self._responses, self._dataset, self.options(rows), self._matching
            )
        return self._prepared[key]

    def _put(self, file: str, rows_of: Protocol, labels_of: Protocol) -> Ready:
        prepared = self._prepare(rows_of.rows)
        index = self.files.index(file)
        mine = prepared[index].matched.rows
        theirs = self._labelled(mine, rows_of.labels)
        rows = [
            None if left_out is None else row
            for row, left_out in zip(self._labelled(mine, labels_of.labels), theirs, strict=True)
        ]
        if rows == mine:
            return prepared[index]
        options = self.options(labels_of.labels, rows_of.rows)
        return scoring.among(self.benchmark, prepared[index], rows, options, (index, len(prepared)))

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """Return the rows with other labels; None for a row that has none there."""
        if not (labels.dataset or labels.without):
            return rows
        table = self._table(labels)
        return [self._counterpart(row, table, labels.dataset) for row in rows]

    def _table(self, labels: Way) -> Mapping[Key, Any]:
        """Return the rows of other labels; None for a row that is not scored."""
        key = means(labels)
        if key not in self._tables:
            module = self.benchmark.module("rows")
            source = self._options.get(labels.dataset, self._dataset)
            rows = module.load(source, **taken(module.load, self.options(labels)))
            wanted = getattr(module, "wanted", lambda row: True)
            self._tables[key] = {self._key(row): row if wanted(row) else None for row in rows}
        return self._tables[key]

    def _counterpart(self, row: Any, table: Mapping[Key, Any], named: str) -> Any:
        found = table.get(self._key(row), ABSENT)
        if found is ABSENT or (found is not None and _question(found) != _question(row)):
            known = ", ".join(f"{name} {value}" for name, value in self.identity(row).items())
            raise ValueError(
                f"{named} has no row for {known}: {short_repr(_question(row))}; expected other labels of the same rows."
            )
        return found

    def _key(self, row: Any) -> Key:
        return tuple(str(getattr(row, column, "")) for column in self._dataset_of.key)


def by_reason(failed: Mapping[str, str]) -> dict[str, str]:
    """Map names, joined where the reason is the same, to the reason."""
    names: dict[str, list[str]] = {}
    for name, why in failed.items():
        names.setdefault(why, []).append(name)
    return {", ".join(of): why for why, of in names.items()}


def _together(failed: Mapping[str, Exception]) -> Exception:
    reasons = by_reason({name: str(error) for name, error in failed.items()})
    if len(reasons) == 1:
        return next(iter(failed.values()))
    return ValueError("\n".join(["No protocol can be computed.", *map(": ".join, reasons.items())]))


def _template(row: Any, asked: str) -> str:
    own = _question(row)
    return asked.replace(own, QUESTION) if own else asked


def _question(row: Any) -> str:
    return " ".join(str(getattr(row, "question", "")).split())


def _same_rows(file: str, rows_of: Protocol, labels_of: Protocol) -> Key:
    return file, means(rows_of.rows, rows_of.labels), means(labels_of.labels)
