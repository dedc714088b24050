"""The protocols of a benchmark, as its package states them in protocols.toml: who scores it in which way.

A protocol that is `like` another states only its differences. A package without the file has one protocol: its metric
with the given options.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halluscope.errors import RegistryError
from halluscope.options import nearest
from halluscope.registry import Benchmark

FILE = "protocols.toml"

# What can differ between two protocols, in the order in which a score is made; and what options choose of it.
PROMPT, ROWS, LABELS, PARSER, COUNTING = ASPECTS = ("prompt", "rows", "labels", "parser", "counting")
CHOSEN = (ROWS, LABELS, PARSER, COUNTING)

# Aspect -> the name of the protocol that it follows; for the prompt, the name of a file of responses.
Setting = Mapping[str, str]


@dataclass(frozen=True)
class Way:
    """What a protocol does in one aspect."""

    said: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # the options of the benchmark that it sets
    # for labels, the option that names their dataset; "" for the labels of the dataset that is scored
    dataset: str = ""
    without: Sequence[str] = ()  # the user's options that do not apply in it


@dataclass(frozen=True)
class Discrepancy:
    """Why the program that a protocol is named after prints other numbers."""

    why: str = ""  # the reason, with the options that remove it
    scores: Sequence[str] = ()  # the scores that it moves; () for all
    # the options that together remove it, with their values; true stands for any value
    unless: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, options: Mapping[str, Any]) -> bool:
        """Whether the numbers differ when a protocol is computed with these options."""
        removed = self.unless and all(
            options.get(name) if value is True else options.get(name) == value
            for name, value in self.unless.items()
        )
        return bool(self.why) and not removed

    def moves(self, score: str) -> bool:
        return not self.scores or score in self.scores


@dataclass(frozen=True)
class Protocol:
    name: str
    by: str  # who uses it, and the source for that
    prompt: str = ""  # what is asked, with {question} for a row's own question; "" where it is not known
    rows: Way = Way()  # which rows count
    labels: Way = Way()  # which labels count as right
    parser: Way = Way()  # how a response is read, or who judges it
    counting: Way = Way()  # how readings become scores
    scores: Sequence[str] = ()  # the scores that it reports; () for all
    # score -> its key in a result, where that is another name
    called: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()  # options without which it cannot be computed
    discrepancy: Discrepancy = Discrepancy()  # why its own program prints other numbers
    only_named: bool = False  # whether it is computed only when the user names it

    def way(self, aspect: str) -> Way:
        found: Way = getattr(self, aspect)
        return found

    def reports(self, score: str) -> bool:
        return not self.scores or score in self.scores


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
    def names(self) -> list[str]:
        return [one.name for one in self.each]

    @property
    def usual(self) -> list[Protocol]:
        return [one for one in self.each if not one.only_named]

    @property
    def settled(self) -> set[str]:
        return set.intersection(
            *({option for aspect in CHOSEN for option in one.way(aspect).options} for one in self.each)
        )

    def chosen(self, names: Sequence[str]) -> list[Protocol]:
        """Return the protocols of these names; the usual ones if there are none."""
        if unknown := [name for name in names if name not in self.names]:
            raise ValueError(
                f"There is no protocol {unknown[0]!r:.80}.{nearest(unknown[0], self.names)} Expected one of "
                f"{', '.join(self.names)}."
            )
        return [one for one in self.each if one.name in names] if names else self.usual


def load(benchmark: Benchmark) -> Protocols:
    file = benchmark.folder / FILE
    if not file.is_file():
        rows, labels = Way("all that are scored"), Way("the dataset's")
        said = Way("as `halluscope score` does with the same options")
        own = Protocol("halluscope", "this project", benchmark.prompt, rows, labels, said, said)
        return Protocols([own], [benchmark.principal], list(benchmark.scores))
    known: dict[str, dict[str, Any]] = {"": {}}
    each = []
    try:
        stated = tomllib.loads(file.read_text(encoding="utf-8"))
        for own_facts in stated.pop("protocols"):
            facts = known[own_facts.pop("like", "")] | own_facts
            known[facts["name"]] = {name: value for name, value in facts.items() if name != "only_named"}
            ways = {aspect: Way(**facts[aspect]) for aspect in CHOSEN if aspect in facts}
            discrepancy = Discrepancy(**facts.get("discrepancy", {}))
            each.append(Protocol(**facts | ways | {"discrepancy": discrepancy}))
        return Protocols(each, **{"shown": stated["compared"]} | stated)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise RegistryError(f"{FILE} of {benchmark.name} cannot be read: {error}.") from error


def means(*ways: Way) -> str:
    """Return a text that is the same for ways that do the same."""
    return repr([(sorted(way.options.items()), way.dataset, way.without) for way in ways])
