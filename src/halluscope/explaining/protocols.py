"""The protocols of a benchmark, as its package states them in protocols.toml: who scores it in which way.

A protocol that is `like` another states only its differences. A package without the file has one protocol: its metric
with the given options.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halluscope.benchmark import Benchmark
from halluscope.options import check_names
from halluscope.reporting.tables import Values
from halluscope.vocabularies import read_toml

FILE = "protocols.toml"

# What can differ between two protocols, in the order in which a score is made; and what options choose of it.
PROMPT, ROWS, LABELS, PARSER, COUNTING = ASPECTS = ("prompt", "rows", "labels", "parser", "counting")
CHOSEN = (ROWS, LABELS, PARSER, COUNTING)


@dataclass(frozen=True)
class Way:
    """What a protocol does in one aspect. Ways that do the same are equal, and have the same `repr`."""

    said: str = field(default="", compare=False, repr=False)
    options: Values = field(default_factory=dict)  # the options of the benchmark that it sets
    # for labels, the option that names their dataset; "" for the labels of the dataset that is scored
    dataset: str = ""
    without: Sequence[str] = ()  # the user's options that do not apply in it


@dataclass(frozen=True)
class Protocol:
    name: str
    by: str  # who uses it, and the source for that
    # which rows count, which labels are right, how a response is read or who judges it, and how readings become scores
    ways: Mapping[str, Way]
    prompt: str = ""  # what is asked, with {question} for a row's own question; "" where it is not known
    scores: Sequence[str] = ()  # the scores that it reports; () for all
    # score -> its key in a result, where that is another name
    called: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()  # options without which it cannot be computed
    # `why` the program that it is named after prints other numbers, with the options that remove it; the `scores` that
    # this moves, or all; `unless`: the options that together remove it, with their values; true stands for any value
    discrepancy: Values = field(default_factory=dict)
    only_named: bool = False  # whether it is computed only when the user names it

    def reports(self, score: str) -> bool:
        return not self.scores or score in self.scores

    def unequal(self, options: Values) -> str | None:
        """Return why its own program prints other numbers than it has with these options; None if it does not."""
        unless = self.discrepancy.get("unless", {})
        removed = [
            options.get(name) == value if value is not True else bool(options.get(name))
            for name, value in unless.items()
        ]
        return None if removed and all(removed) else self.discrepancy.get("why")


@dataclass(frozen=True)
class Protocols:
    """The protocols that a package states, and what is shown of them."""

    each: Sequence[Protocol]  # the protocols; the first is that of the benchmark's authors
    compared: Sequence[str]  # the scores whose differences are shown unless the user names others
    shown: Sequence[str]  # the scores in the table
    # the columns of the table of rows that say how a response was read; () for all columns
    read: Sequence[str] = ()
    # a value in these columns -> the word that is shown for it
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def settled(self) -> set[str]:
        """The options that every protocol sets."""
        sets = ({name for way in one.ways.values() for name in way.options} for one in self.each)
        return set.intersection(*sets)

    def chosen(self, names: Sequence[str] = ()) -> list[Protocol]:
        """Return the protocols of these names; the usual ones if there are none."""
        check_names("There is no protocol", names, [one.name for one in self.each])
        return [one for one in self.each if (one.name in names if names else not one.only_named)]


def load(benchmark: Benchmark) -> Protocols:
    file = benchmark.folder / FILE
    if not file.is_file():
        same = "as `halluscope score` does with the same options"
        ways = dict(zip(CHOSEN, map(Way, ("all that are scored", "the dataset's", same, same)), strict=True))
        own = Protocol("halluscope", "this project", ways, benchmark.prompt)
        return Protocols([own], [benchmark.principal], list(benchmark.scores))
    stated = dict(read_toml(str(file), FILE))
    known: dict[str, dict[str, Any]] = {"": {}}
    for facts in stated.pop("protocols"):
        known[facts["name"]] = {**known[facts.get("like", "")], "only_named": False, **facts}
    each = []
    for facts in [*known.values()][1:]:
        ways = {aspect: Way(**facts.get(aspect, {})) for aspect in CHOSEN}
        about = {name: value for name, value in facts.items() if name not in (*CHOSEN, "like")}
        each.append(Protocol(ways=ways, **about))
    return Protocols(each, **{"shown": stated["compared"]} | stated)
