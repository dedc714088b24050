"""What a protocol is: who scores a benchmark in which way.

A benchmark's protocols stand in its package's module `protocols`. A benchmark without that module has a protocol for
each rule by which its metric reads responses (the choices of its option `parser`); without such rules, it has one: its
metric with the given options.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from halluscope.benchmark import PACKAGES, Benchmark
from halluscope.options import check_names
from halluscope.reporting.tables import Values

# What options choose in a protocol, in the order in which a score is made
ROWS = "rows"
LABELS = "labels"
PARSER = "parser"
COUNTING = "counting"
CHOSEN = (ROWS, LABELS, PARSER, COUNTING)
AS_SCORED = "as `halluscope score` does with the same options"


@dataclass(frozen=True)
class Way:
    """What a protocol does in one aspect. Ways that do the same are equal, and have the same `repr`."""

    said: str = field(default="", compare=False, repr=False)
    options: Values = field(default_factory=dict)  # the options of the benchmark that it sets
    # for labels, the option that names their dataset; "" for the labels of the dataset that is scored
    dataset: str = ""
    without: Sequence[str] = ()  # the user's options that do not apply in it


@dataclass(frozen=True)
class Discrepancy:
    """Why the program that a protocol is named after prints other numbers than the protocol has here."""

    why: str
    scores: Sequence[str] = ()  # the scores that this moves; () for all
    # the options that together remove it, with their values; True stands for any value
    unless: Values = field(default_factory=dict)
    unless_dataset: Callable[[Sequence[str]], bool] | None = None  # whether the scored datasets remove it

    def is_removed(self, options: Values, dataset: Sequence[str]) -> bool:
        """Whether these options or this dataset remove it."""
        if self.unless_dataset is not None and self.unless_dataset(dataset):
            return True
        if not self.unless:
            return False
        for name, value in self.unless.items():
            chosen = options.get(name)
            if value is True and not chosen:
                return False
            if value is not True and chosen != value:
                return False
        return True


@dataclass(frozen=True)
class Protocol:
    """A way in which a benchmark is scored."""

    name: str
    by: str  # who uses it, and the source for that
    rows: Way  # which rows count
    labels: Way  # which answers are right
    parser: Way  # how a response is read, or who judges it
    counting: Way  # how readings become scores
    prompt: str = ""  # what is asked, with {question} for a row's own question; "" where it is not known
    scores: Sequence[str] = ()  # the scores that it reports; () for all
    # score -> its key in a result, where that is another name
    called: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()  # options without which it cannot be computed
    discrepancy: Discrepancy | None = None
    only_named: bool = False  # whether it is computed only when the user names it

    @property
    def ways(self) -> dict[str, Way]:
        """What it does in the aspects that options choose."""
        return {ROWS: self.rows, LABELS: self.labels, PARSER: self.parser, COUNTING: self.counting}

    def but(self, name: str, *, by: str = "", only_named: bool = False, **changes: Any) -> "Protocol":
        """Return a protocol that differs from this one only in what is given; it is not only named unless said."""
        return replace(self, name=name, by=by or self.by, only_named=only_named, **changes)

    def reports(self, score: str) -> bool:
        return not self.scores or score in self.scores

    def unequal(self, options: Values, dataset: Sequence[str]) -> str | None:
        """Return why its own program prints other numbers than it has here; None if it does not."""
        if self.discrepancy is None or self.discrepancy.is_removed(options, dataset):
            return None
        return self.discrepancy.why


@dataclass(frozen=True)
class Protocols:
    """The protocols of a benchmark, and what is shown of them."""

    each: Sequence[Protocol]  # the protocols; the first is that of the benchmark's authors
    shown: Sequence[str]  # the scores in the table
    # the columns of the table of rows that say how a response was read; () for all columns
    read: Sequence[str] = ()
    # a value in these columns -> the word that is shown for it
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def settled(self) -> set[str]:
        """The options that every protocol sets."""
        settled = []
        for protocol in self.each:
            names: set[str] = set()
            for way in protocol.ways.values():
                names.update(way.options)
            settled.append(names)
        return set.intersection(*settled)

    def chosen(self, names: Sequence[str] = ()) -> list[Protocol]:
        """Return the protocols of these names; the usual ones if there are none."""
        check_names("There is no protocol", names, [protocol.name for protocol in self.each])
        chosen = []
        for protocol in self.each:
            is_usual = not names and not protocol.only_named
            if is_usual or protocol.name in names:
                chosen.append(protocol)
        return chosen


def load(benchmark: Benchmark) -> Protocols:
    """Return the protocols of a benchmark."""
    module = f"{PACKAGES}.{benchmark.name}.protocols"
    if find_spec(module) is not None:
        protocols: Protocols = importlib.import_module(module).PROTOCOLS
        return protocols
    same = Way(AS_SCORED)
    usual = Protocol(
        "halluscope",
        by="this project",
        rows=Way("all that are scored"),
        labels=Way("the dataset's"),
        parser=same,
        counting=same,
        prompt=benchmark.prompt,
    )
    parsers = [option for option in benchmark.options if option.name == PARSER]
    if not parsers:
        return Protocols([usual], shown=list(benchmark.scores))
    each = []
    for name in parsers[0].choices:
        by = f"`halluscope score` with --parser {name}"
        each.append(usual.but(name, by=by, parser=Way(f"by the rule {name}", {PARSER: name}), prompt=""))
    each[0] = replace(each[0], prompt=benchmark.prompt)
    return Protocols(each, shown=list(benchmark.scores), read=("read",))
