"""What a metric is: responses are read, readings are counted, and scores are made from sums of the counts.

A benchmark's class says how, in a few methods. What all metrics share is done here: thoughts, intervals, signatures,
and the options that all have.
"""

import dataclasses
import inspect
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from halluscope import options as declarations
from halluscope.benchmark import IDS, Benchmark
from halluscope.options import Option, check_values, option
from halluscope.responses.odd_texts import warn_of_notes
from halluscope.responses.thoughts import REMOVED, THOUGHTS, choice, spoken
from halluscope.signature import form_of, signature
from halluscope.stats.bootstrap import METHOD, check_level, resamples_option
from halluscope.stats.counts import ClusterCounts
from halluscope.stats.intervals import Counts, LeftOut, Range, leave_out
from halluscope.stats.ratios import Floats
from halluscope.stats.stated import of_scores
from halluscope.validation import LARGEST_SEED, by_id

Scores = dict[str, Floats]  # name -> scores [sums]; a part has the name "score/part"


class Result(dict[str, Any]):
    """A result: a dictionary of scores and of what is said of them."""

    # score -> the score without each cluster, from which its interval is made; empty without intervals
    left_out: Mapping[str, LeftOut] = {}


@dataclass(frozen=True)
class Options:
    """The options that every metric has."""

    bootstrap: int = resamples_option("0 for no intervals; any other number gives the same ones")
    seed: int = option(0, about="moves nothing", most=LARGEST_SEED)
    level: float = option(0.95, about="the level of the intervals, in (0, 1)", check=check_level)
    thoughts: str = option(
        REMOVED,
        "whether text in <think> and similar tags is removed from responses (default) or kept",
        about='"removed" drops what the LVLM thought (`halluscope.responses.thoughts`), "kept" reads it too',
        choices=THOUGHTS,
    )

    def __post_init__(self) -> None:
        check_values(self)


class Metric(Benchmark):
    """A benchmark that scores responses.

    `read`, `count` and `score` are its steps. `rows` is what is known of the rows that were answered, in a form of the
    benchmark's own; `options` are an object of its `options_type`.
    """

    options_type: ClassVar[type[Options]] = Options
    # options of the command line that choose rows, or name files with more about them; `compute` has none of them
    row_options: ClassVar[tuple[Option, ...]] = ()
    ranges: ClassVar[Mapping[str, Range]] = {}  # the ranges of the scores that are not shares

    # In what benchmarks differ

    @abstractmethod
    def read(self, texts: Sequence[str], rows: Any, options: Any) -> Any:
        """Return what each response says, in a form of the benchmark's own."""

    @abstractmethod
    def count(self, rows: Any, readings: Any, options: Any) -> ClusterCounts:
        """Return counts by cluster."""

    @abstractmethod
    def score(self, rows: Any, sums: Counts, options: Any) -> Scores:
        """Return the scores of sums of counts: name -> [sums, ...] to name -> [sums]."""

    @abstractmethod
    def data(self, rows: Any) -> str:
        """Return what identifies the rows that are scored, for the signature: see `halluscope.signature.data_of`."""

    @abstractmethod
    def signed(self, rows: Any, readings: Any, options: Any) -> dict[str, Any]:
        """Return the choices that can move a score, for the signature."""

    def forms(self, rows: Any) -> Iterable[str]:
        """Return each row's parallel form; none for rows that have no such column."""
        return ()

    def reads_empty_as(self, options: Any) -> str:
        """Say what a rule makes of an empty response, as in "responses, which ..."; "" if no rule reads responses."""
        return ""

    def leaves_out(self, rows: Any) -> str:
        """Return what intervals leave out one at a time."""
        return "images"

    def refusals(self, rows: Any, total: Counts, options: Any) -> Mapping[str, str]:
        """Return why scores have no interval, by their names."""
        return {}

    def facts(
        self,
        rows: Any,
        readings: Any,
        total: Counts,
        options: Any,
    ) -> dict[str, Any]:
        """Return what a result holds besides the scores."""
        return {}

    def warn(
        self,
        texts: Sequence[str],
        rows: Any,
        readings: Any,
        result: dict[str, Any],
        options: Any,
    ) -> None:
        """Warn of what makes a result doubtful."""

    # What all share

    def evaluate(self, predictions: Sequence[str], rows: Any, options: Any) -> Result:
        """Score responses to rows, both in one order."""
        heard = spoken(predictions, options.thoughts, self.reads_empty_as(options))
        warn_of_notes(heard.texts)
        readings = self.read(heard.texts, rows, options)
        counts = self.count(rows, readings, options)
        total = counts.total()
        result = Result()
        for name, values in self.score(rows, total, options).items():
            result[name] = float(values[0])
        result.update(self.facts(rows, readings, total, options))
        result.update(heard.counts())
        result["signature"] = self.sign(rows, readings, options)
        self.warn(heard.texts, rows, readings, result, options)
        if options.bootstrap:
            result.left_out = self.leave_out(rows, counts, total, options)
            # numpy's narrow floats would round the quantiles
            result.update(of_scores(result.left_out, float(options.level)))
        return result

    def leave_out(
        self,
        rows: Any,
        counts: ClusterCounts,
        total: Counts,
        options: Any,
    ) -> dict[str, LeftOut]:
        """Return the scores without each cluster, by their names."""
        return leave_out(
            lambda sums: self.score(rows, sums, options),
            total,
            counts.blocks(),
            ranges=self.ranges,
            refused=self.refusals(rows, total, options),
            kinds=counts.kinds(),
        )

    def sign(self, rows: Any, readings: Any, options: Any) -> str:
        """Return the signature of scores."""
        interval = "no"
        if options.bootstrap:
            interval = f"{options.level:g},{METHOD},{self.leaves_out(rows)}"
        return signature(
            self.name,
            data=self.data(rows),
            **self.signed(rows, readings, options),
            **form_of(self.forms(rows)),
            **choice(options.thoughts),
            interval=interval,
        )

    # What is declared once, in the fields of `options_type` and in the function `compute` beside the class

    @property
    def compute(self) -> Callable[..., Any]:
        """The function `compute` of the benchmark's module, which also takes `ids`."""
        function: Callable[..., Any] = sys.modules[type(self).__module__].compute  # type: ignore[attr-defined]
        return by_id(function, self.verdicts)

    def chosen(self, options: Mapping[str, Any]) -> Any:
        """Return the options that a user gave, checked."""
        return declarations.build(self.options_type, options, self.name)

    @cached_property
    def options(self) -> tuple[Option, ...]:  # type: ignore[override]
        """The options of the command line."""
        return tuple(declarations.declared(self.options_type)) + self.row_options

    @property
    def input_options(self) -> tuple[str, ...]:  # type: ignore[override]
        """The arguments of `compute` that say something of each row."""
        names = declarations.keywords(self.compute)
        for field in dataclasses.fields(self.options_type):
            names.discard(field.name)
        return tuple(sorted(names))

    @property
    def help(self) -> str:
        """The help of `compute`."""
        about = inspect.cleandoc(self.compute.__doc__ or "")
        return "\n\n".join([about, IDS, declarations.described(self.options_type)])
