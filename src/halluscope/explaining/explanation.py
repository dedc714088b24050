"""Scores one LVLM's responses under each of a benchmark's protocols, as `halluscope score` does with their options."""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from halluscope import registry, scoring
from halluscope.benchmark import Benchmark
from halluscope.errors import WithoutEffect
from halluscope.explaining.protocols import Protocol, Protocols, Way
from halluscope.metric import Result
from halluscope.options import MatchingOptions, taken
from halluscope.reporting.tables import Values, below
from halluscope.responses.given import Given
from halluscope.responses.identity import single_spaced
from halluscope.responses.read_otherwise import WARNING as READ_OTHERWISE
from halluscope.sanitize import short_repr
from halluscope.scoring import Ready

Key = tuple[str, ...]  # what identifies a row


class Explanation:
    """The scores of responses under each protocol. There may be several files of responses, one per prompt."""

    def __init__(
        self,
        benchmark: Benchmark,
        protocols: Protocols,
        chosen: Sequence[Protocol],
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Values,
        matching: MatchingOptions = MatchingOptions(),
    ) -> None:
        """Match the responses to the rows of each protocol."""
        self.benchmark = benchmark
        self.known = protocols
        self.protocols = list(chosen)  # those that can be computed
        self.files: list[str] = []  # the names of the files of responses
        self.not_computed: dict[str, str] = {}  # name of a protocol -> the reason
        self.identity = registry.first_dataset(benchmark)
        self._responses = responses
        self._dataset = dataset
        self._options = options
        self._matching = matching
        self._prepared: dict[str, list[Ready]] = {}  # by the way in which rows are chosen; one per file
        # rows with other labels, by the way in which these are chosen
        self._labels: dict[str, dict[Key, Any]] = {}
        self._ready: dict[tuple[str, str], Ready] = {}  # by protocol and file
        self._results: dict[tuple[str, str], Result] = {}  # likewise
        self._without_effect: dict[str, list[str]] = {}  # name of a protocol -> why options were left out
        self._discrepancies: dict[str, str | None] = {}  # name of a protocol -> why it is not equal
        self._keep_possible(self._match)

    def compute(self) -> None:
        """Score each file by each protocol."""
        self._keep_possible(self._compute)

    # What is known of a protocol

    def ready(self, protocol: Protocol, file: str) -> Ready:
        """Return the responses, matched to the rows that a protocol counts, with its labels."""
        return self._ready[protocol.name, file]

    def result(self, protocol: Protocol, file: str) -> Result:
        return self._results[protocol.name, file]

    def score(self, protocol: Protocol, file: str, name: str) -> float:
        """Return a score; NaN if it is undefined, or no number."""
        value = self.result(protocol, file).get(protocol.called.get(name, name))
        if isinstance(value, int | float):
            return float(value)
        return math.nan

    def without_effect(self, protocol: Protocol) -> list[str]:
        """Return why options of a protocol cannot matter here: it is computed without these."""
        return list(dict.fromkeys(self._without_effect.get(protocol.name, ())))

    def discrepancy(self, protocol: Protocol) -> str | None:
        """Return why a protocol's own program prints other numbers; None if it does not."""
        if protocol.name not in self._discrepancies:
            options = self.options(*protocol.ways.values())
            self._discrepancies[protocol.name] = protocol.unequal(options, self._dataset)
        return self._discrepancies[protocol.name]

    def options(self, *ways: Way) -> dict[str, Any]:
        """Return what these ways set, and the user's options that apply in all of them."""
        left_out = {protocol.labels.dataset for protocol in self.known.each}
        for way in ways:
            left_out.update(way.without)
        options = {name: value for name, value in self._options.items() if name not in left_out}
        for way in ways:
            options.update(way.options)
        return options

    # Matching

    def _keep_possible(self, step: Callable[[Protocol], None]) -> None:
        """Do a step for each protocol; keep those that it is possible for, and why it is not for others."""
        failed: dict[str, Exception] = {}
        for protocol in self.protocols:
            try:
                step(protocol)
            except (ValueError, OSError, ImportError) as error:  # no rows, no labels, or no package
                failed[protocol.name] = error
        self.protocols = [protocol for protocol in self.protocols if protocol.name not in failed]
        reasons = {name: str(error) for name, error in failed.items()}
        self.not_computed.update(reasons)
        if self.protocols:
            return
        if len(set(reasons.values())) == 1:
            raise next(iter(failed.values()))
        lines = ["No protocol can be computed."]
        for names, reason in by_reason(reasons):
            lines.append(f"{names}: {reason}")
        raise ValueError("\n".join(lines))

    def _match(self, protocol: Protocol) -> None:
        """Match the files to the rows that a protocol counts."""
        for name in protocol.needs:
            if not self._options.get(name):
                raise ValueError(f"--{name.replace('_', '-')} is not given, and {protocol.name} needs it.")
        prepared = self._prepare(protocol.rows)
        self._check_same_rows(prepared)
        self.files = [ready.matched.name for ready in prepared]
        for number, ready in enumerate(prepared):
            self._ready[protocol.name, ready.matched.name] = self._labelled(protocol, ready, number)

    def _prepare(self, rows: Way) -> list[Ready]:
        """Match the files to the rows that are chosen in a way, once."""
        key = repr(rows)
        if key not in self._prepared:
            options = self.options(rows)
            self._prepared[key] = scoring.prepare(
                self.benchmark, self._responses, self._dataset, options, self._matching
            )
        return self._prepared[key]

    def _check_same_rows(self, prepared: Sequence[Ready]) -> None:
        """Check that all files answer the same rows."""
        first = prepared[0].matched
        expected = sorted(self._key(row) for row in first.rows)
        for ready in prepared[1:]:
            matched = ready.matched
            if sorted(self._key(row) for row in matched.rows) != expected:
                raise ValueError(
                    f"{matched.name} and {first.name} answer different rows ({len(matched.rows):,} and "
                    f"{len(first.rows):,}); expected one LVLM's responses to the same rows, a file per prompt."
                )

    def _labelled(self, protocol: Protocol, ready: Ready, number: int) -> Ready:
        """Return a file's responses to the rows that are scored with a protocol's labels."""
        labels = protocol.labels
        if not labels.dataset and not labels.without:
            return ready
        rows = [self._with_label(row, labels) for row in ready.matched.rows]
        if rows == ready.matched.rows:
            return ready
        options = self.options(labels, protocol.rows)
        return scoring.among(self.benchmark, ready, rows, options, (number, len(self.files)))

    def _with_label(self, row: Any, labels: Way) -> Any:
        """Return a row with another label; None if it is not scored with it."""
        relabelled = self._rows_with(labels).get(self._key(row))
        is_scored = relabelled is not None and self._is_scored(relabelled)
        if relabelled is None or (is_scored and question_of(relabelled) != question_of(row)):
            names = [f"{name} {value}" for name, value in self.identity.identity(vars(row)).items()]
            raise ValueError(
                f"{labels.dataset} has no row for {', '.join(names)}: {short_repr(question_of(row))}; expected other "
                "labels of the same rows."
            )
        if is_scored:
            return relabelled
        return None

    def _is_scored(self, row: Any) -> bool:
        """Whether a benchmark that leaves out rows scores a row."""
        rows_module = self.benchmark.module("rows")
        return not hasattr(rows_module, "wanted") or bool(rows_module.wanted(row))

    def _rows_with(self, labels: Way) -> dict[Key, Any]:
        """Return the rows of a dataset with other labels, read once."""
        key = repr(labels)
        if key not in self._labels:
            load = self.benchmark.module("rows").load
            source = self._options.get(labels.dataset, self._dataset)
            rows = load(source, **taken(load, self.options(labels)))
            self._labels[key] = {self._key(row): row for row in rows}
        return self._labels[key]

    def _key(self, row: Any) -> Key:
        return tuple(str(getattr(row, column, "")) for column in self.identity.key)

    # Scoring

    def _compute(self, protocol: Protocol) -> None:
        """Score each file by a protocol."""
        for file in self.files:
            self._results[protocol.name, file] = self._scored(protocol, file)

    def _scored(self, protocol: Protocol, file: str) -> Result:
        """Score a file, without the options of a protocol that cannot matter beside the user's."""
        options = self.options(*protocol.ways.values())
        if self.benchmark.items:
            options[self.benchmark.items] = True
        of_protocol: set[str] = set()
        for way in protocol.ways.values():
            of_protocol.update(way.options)
        while True:
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", READ_OTHERWISE)  # what rules read differently is shown
                    return scoring.compute(self.benchmark, self.ready(protocol, file), options)
            except WithoutEffect as error:
                if error.name not in of_protocol or error.name not in options:
                    raise
                del options[error.name]
                self._without_effect.setdefault(protocol.name, []).append(error.reason)


def by_reason(reasons: Values) -> list[tuple[str, str]]:
    """Return reasons, each once, after the names that it holds for."""
    blocks = below({name: [reason] for name, reason in reasons.items()})
    return [(block.of, block.lines[0]) for block in blocks]


def question_of(row: Any) -> str:
    """Return a row's question, "" if it has none."""
    return single_spaced(getattr(row, "question", ""))
