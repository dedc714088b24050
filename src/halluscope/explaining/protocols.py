"""The protocols of a benchmark: who scores it in which way, as its room states in protocols.toml.

A protocol is data: a name, who uses it, what is asked, and what it does in each aspect (rows, labels, parser,
counting), in words and as options of the benchmark. A protocol that is `like` another states only its differences. A
room without the file has one protocol: its metric with the given options.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halluscope.errors import RegistryError
from halluscope.explaining.steps import COUNTING, LABELS, PARSER, ROWS
from halluscope.options import keywords, nearest
from halluscope.registry import Benchmark
from halluscope.scoring import FUNCTIONS

FILE = "protocols.toml"

OWN = "halluscope"
"""The name of the only protocol of a room that states no protocols."""

CHOSEN = (ROWS, LABELS, PARSER, COUNTING)
"""The aspects that options choose. The prompt is chosen by whoever asks the LVLM."""


@dataclass(frozen=True)
class Way:
    """What a protocol does in one aspect.

    Attributes:
        said: what it does, in a few words.
        options: the options of the benchmark that it sets.
        dataset: for labels, the option that names their dataset; "" for the labels of the dataset that is scored.
        without: the user's options that do not apply in it.
    """

    said: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protocol:
    """One way to compute a score.

    Attributes:
        name: the name of the protocol.
        by: who uses it, and the source for that.
        prompt: what is asked, with {question} for a row's own question; "" where it is not known.
        rows: which rows count.
        labels: which labels count as right.
        parser: how a response is read, or who judges it.
        counting: how readings become scores.
        scores: the scores that it reports; () for all.
        called: score -> its key in a result, where that is another name.
        needs: options without which it cannot be computed.
        only_named: whether it is computed only when the user names it.
    """

    name: str
    by: str
    prompt: str = ""
    rows: Way = Way()
    labels: Way = Way()
    parser: Way = Way()
    counting: Way = Way()
    scores: tuple[str, ...] = ()
    called: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    only_named: bool = False

    def way(self, aspect: str) -> Way:
        """Return what it does in one of `CHOSEN`."""
        found: Way = getattr(self, aspect)
        return found

    def reports(self, score: str) -> bool:
        """Whether it reports a score."""
        return not self.scores or score in self.scores


@dataclass(frozen=True)
class Protocols:
    """The protocols that a room states, and what is shown of them.

    Attributes:
        each: the protocols; the first is that of the benchmark's authors.
        compared: the scores whose differences are shown unless the user names others.
        shown: the scores in the table.
        read: the columns of the table of rows that say how a response was read; () for all columns.
        words: a value in these columns -> the word that is shown for it.
    """

    each: tuple[Protocol, ...]
    compared: tuple[str, ...]
    shown: tuple[str, ...]
    read: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of all protocols."""
        return [one.name for one in self.each]

    @property
    def usual(self) -> list[Protocol]:
        """The protocols that are computed without being named."""
        return [one for one in self.each if not one.only_named]

    @property
    def settled(self) -> set[str]:
        """The options that every protocol sets, so that the user's value would never count."""
        return set.intersection(*(_settles(one) for one in self.each))

    def chosen(self, names: Sequence[str]) -> list[Protocol]:
        """Return the protocols of these names, in the room's order; the usual ones if no name is given.

        Raises:
            ValueError: for an unknown name; the message suggests the nearest one.
        """
        for name in names:
            if name not in self.names:
                raise ValueError(
                    f"There is no protocol {name!r:.80}.{nearest(name, self.names)} Expected one of "
                    f"{', '.join(self.names)}."
                )
        return [one for one in self.each if one.name in names] if names else self.usual


def load(benchmark: Benchmark) -> Protocols:
    """Read the protocols of a benchmark, and check them.

    Raises:
        RegistryError: for a protocol that is not complete, or sets an option that the benchmark does not have.
    """
    found = read(benchmark)
    if problems := list(_problems(benchmark, found)):
        raise RegistryError(f"{FILE} of {benchmark.name} is not complete: {'; '.join(problems)}.")
    return found


def read(benchmark: Benchmark) -> Protocols:
    """Read the protocols of a benchmark as its room states them.

    Raises:
        RegistryError: for a file in another form.
    """
    file = benchmark.folder / FILE
    if not file.is_file():
        return _own(benchmark)
    try:
        stated = _tuples(tomllib.loads(file.read_text(encoding="utf-8")))
        each = tuple(map(_protocol, _whole(stated.pop("protocols"))))
        return Protocols(each, **{"shown": stated["compared"]} | stated)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise RegistryError(f"{FILE} of {benchmark.name} cannot be read: {error}.") from error


def means(*ways: Way) -> str:
    """Return a text that is the same for ways that do the same, however they are described."""
    return repr([(sorted(way.options.items()), way.dataset, way.without) for way in ways])


def _own(benchmark: Benchmark) -> Protocols:
    """Return the one protocol of a room without the file: the metric with the given options."""
    said = Way("as `halluscope score` does with the same options")
    one = Protocol(
        OWN, "this project", benchmark.prompt, Way("all that are scored"), Way("the dataset's"), said, said
    )
    return Protocols((one,), (benchmark.principal,), tuple(benchmark.scores))


def _whole(stated: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each protocol together with what it inherits from the one that it is `like`."""
    known: dict[str, dict[str, Any]] = {}
    for one in stated:
        own = {name: value for name, value in one.items() if name != "like"}
        whole = known.get(one.get("like", ""), {}) | own
        known[one["name"]] = {name: value for name, value in whole.items() if name != "only_named"}
        yield whole


def _protocol(stated: Mapping[str, Any]) -> Protocol:
    """Return a protocol from its table in protocols.toml."""
    ways = {aspect: Way(**_tuples(stated[aspect])) for aspect in CHOSEN if aspect in stated}
    return Protocol(**_tuples(stated) | ways)


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


def _settles(protocol: Protocol) -> set[str]:
    return {option for aspect in CHOSEN for option in protocol.way(aspect).options}


def _problems(benchmark: Benchmark, found: Protocols) -> Iterator[str]:
    """Yield what is missing or wrong in a room's protocols."""
    rows = benchmark.module("rows")
    reading = (getattr(rows, name) for name in FUNCTIONS if hasattr(rows, name))
    known = benchmark.keywords.union(*map(keywords, reading))
    if len(set(found.names)) < len(found.names):
        yield "two protocols have the same name"
    for one in found.each:
        if lacking := [aspect for aspect in CHOSEN if not one.way(aspect).said]:
            yield f"{one.name} does not say its {', '.join(lacking)}"
        ways = [one.way(aspect) for aspect in CHOSEN]
        meant = {
            *one.needs,
            *(name for way in ways for name in (*way.options, *way.without, way.dataset) if name),
        }
        if unknown := sorted(meant - known):
            yield f"{one.name} sets the option {unknown[0]!r}, which {benchmark.name} does not have"
    for score in {*found.compared, *found.shown, *(name for one in found.each for name in one.scores)}:
        try:
            benchmark.direction(score)
        except KeyError:
            yield f"there is no score {score!r}"
