"""What figures show: scores with their intervals, and what is counted over the rows.

Errors by class, by place in the text and by its length; pairs of classes; votes that agree.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import FAILED, OTHER, UNASKED, YES
from halluscope.registry import Benchmark
from halluscope.reporting.report_items import FOUND, HALLUCINATED, MISSED, Item
from halluscope.stats.paired import holm
from halluscope.stats.ratios import fisher, kappa, wilson

# Points and scores

UNDEFINED = float("nan")

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Share:
    """A count out of a total, with Wilson's interval at 0.95; NaN if the total is 0.

    >>> share = Share(0, 10)
    >>> share.value, round(share.high, 3)
    (0.0, 0.278)
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        return self.count / self.total if self.total else UNDEFINED

    @property
    def low(self) -> float:
        return wilson(self.count, self.total)[0] if self.total else UNDEFINED

    @property
    def high(self) -> float:
        return wilson(self.count, self.total)[1] if self.total else UNDEFINED


@dataclass(frozen=True)
class Score:
    """A score, and the ends of its interval; NaN for what the result does not have."""

    value: float = UNDEFINED
    low: float = UNDEFINED
    high: float = UNDEFINED


Point = Share | Score


def score(result: Result, name: str) -> Score:
    """Return a score of a result."""
    return _score(result.get(name), result.get("interval", {}).get(name))


def _score(value: Any, ends: Any) -> Score:
    return Score(
        *(float(one) if isinstance(one, int | float) else UNDEFINED for one in (value, *(ends or ())))
    )


def having(results: Sequence[Result], names: Sequence[str]) -> list[int]:
    """Return the indices of the results that have all of these scores."""
    each = ([score(result, name).value for name in names] for result in results)
    return [index for index, values in enumerate(each) if not any(map(math.isnan, values))]


def two_scores(benchmark: Benchmark, results: Sequence[Result]) -> list[str]:
    """Return two scores that several results have; fewer if there are not two.

    They are precision and recall, if possible of the principal score's kind ("f0.5_cls": "precision_cls"); else the
    principal score and recall, or the principal score and the next one.
    """
    own = "_" + benchmark.principal.rpartition("_")[2]
    for pair in ([f"precision{end}", f"recall{end}"] for end in (own, "")):
        if len(having(results, pair)) > 1:
            return pair
    directed = [name for name, direction in benchmark.scores.items() if direction and "/" not in name]
    rest = [
        name for name in dict.fromkeys([benchmark.principal, *directed]) if len(having(results, [name])) > 1
    ]
    return sorted(rest, key=lambda name: (name != benchmark.principal, name != "recall"))[:2]


def groups(benchmark: Benchmark, results: Sequence[Result]) -> tuple[str, list[dict[str, Score]]]:
    """Return a score that results have by groups, if possible the principal one, and for each result: group -> score.

    Groups for which no result has a score are left out; the list is empty if no score has two groups.
    """
    for name in (benchmark.principal, *benchmark.scores):
        each = [_groups(result, name) for result in results]
        known = {group for one in each for group, score in one.items() if not math.isnan(score.value)}
        if len(known) > 1:
            order = [
                group for group in dict.fromkeys(group for one in each for group in one) if group in known
            ]
            return name, [{group: one.get(group, Score()) for group in order} for one in each]
    return benchmark.principal, []


def _groups(result: Result, name: str) -> dict[str, Score]:
    ends = _grouped(result.get("interval", {}), name)
    return {group: _score(value, ends.get(group)) for group, value in _grouped(result, name).items()}


def _grouped(result: Result, name: str) -> dict[str, Any]:
    """Return a score by groups, from keys like "accuracy/chart", or from tables like {"chart": {"accuracy": ...}}."""
    grouped = {
        key.removeprefix(f"{name}/"): value for key, value in result.items() if key.startswith(f"{name}/")
    }
    for part in result.values():
        for group, scores in part.items() if isinstance(part, Mapping) else ():
            if isinstance(scores, Mapping) and name in scores:
                grouped[group] = scores[name]
    return grouped


# Classes

FEWEST = 5  # images in which one class is invented while another is present
BY_CHANCE = 0.05  # the greatest probability that any of the shown pairs stands out by chance alone


@dataclass(frozen=True)
class Counts:
    """How often a class was mentioned and present, mentioned but absent, and present but not mentioned."""

    found: int = 0
    hallucinated: int = 0
    missed: int = 0

    @property
    def errors(self) -> int:
        return self.hallucinated + self.missed

    @property
    def precision(self) -> Share:
        """Of the times that the class was mentioned, those in which it was present."""
        return Share(self.found, self.found + self.hallucinated)

    @property
    def recall(self) -> Share:
        """Of the times that the class was present, those in which it was mentioned."""
        return Share(self.found, self.found + self.missed)


def of_classes(items: Iterable[Item]) -> dict[str, Counts]:
    """Return the counts of each class that was mentioned or present, by name."""
    seen = Counter(pair for item in items for pair in item.classes.items())
    counts = {
        name: Counts(*(seen[name, outcome] for outcome in (FOUND, HALLUCINATED, MISSED)))
        for name in sorted({name for name, _ in seen})
    }
    return {name: one for name, one in counts.items() if one != Counts()}


def worst(models: Sequence[Mapping[str, Counts]], most: int) -> list[str]:
    """Return the classes with the most errors over all models, the worst first."""
    errors: Counter[str] = Counter()
    for counts in models:
        errors.update({name: one.errors for name, one in counts.items()})
    return sorted(errors, key=lambda name: (-errors[name], name))[:most]


# Pairs of classes


@dataclass(frozen=True)
class Together:
    """A class that was invented, and a class that is in the image."""

    invented: str
    beside: str
    when: Share  # of the images in which the first class was invented, those with the second
    otherwise: Share  # of all images without the first class, those with the second

    @property
    def times(self) -> float:
        """How many times as often the second class is present when the first is invented."""
        return self.when.value / self.otherwise.value


def together(items: Iterable[Item], fewest: int = FEWEST) -> list[Together]:
    """Return what is in the image unusually often when a class is invented, the most significant pair first.

    Fisher's exact test, with Holm's correction for all pairs, in the images without the invented class. Only classes
    that were invented, or are present, in enough images are paired.
    """
    images: dict[
        tuple[bool, str], dict[str, set[str]]
    ] = {}  # of each image, by class, the outcomes in its rows
    for item in items:
        image = images.setdefault((item.image is None, item.image or item.id), {})
        for name, outcome in item.classes.items():
            image.setdefault(name, set()).add(outcome)
    truth = [{name for name, came in image.items() if came & {FOUND, MISSED}} for image in images.values()]
    wrong = [{name for name, came in image.items() if HALLUCINATED in came} for image in images.values()]
    invented = _often([one - other for one, other in zip(wrong, truth, strict=True)], fewest)
    present = _often(truth, fewest)
    if not invented or not present:
        return []
    without = np.array([[name not in names for names in truth] for name in invented], float)
    said, has = np.stack([*invented.values()]), np.stack([*present.values()])
    when, usual = said @ has.T, without @ has.T
    pairs = [
        Together(
            one,
            other,
            Share(int(when[row, column]), int(said[row].sum())),
            Share(int(usual[row, column]), int(without[row].sum())),
        )
        for row, one in enumerate(invented)
        for column, other in enumerate(present)
        if one != other
    ]
    chance = holm(
        [
            fisher(one.when.count, one.when.total, one.otherwise.count, one.otherwise.total)
            if one.when.count >= fewest
            else 1.0
            for one in pairs
        ]
    )
    significant = [(p, one) for p, one in zip(chance, pairs, strict=True) if p < BY_CHANCE]
    return [one for _, one in sorted(significant, key=lambda pair: (pair[0], -pair[1].times))]


def _often(sets: Sequence[set[str]], fewest: int) -> dict[str, NDArray[np.float64]]:
    """Return, for each name that enough sets hold, which sets hold it, as 0 and 1."""
    often = Counter(name for names in sets for name in names)
    return {
        name: np.array([name in names for names in sets], float)
        for name in sorted(often)
        if often[name] >= fewest
    }


# Texts

TENTHS = 10
BINS, ROWS_OF_A_BIN = 8, 10  # the most bins of lengths, and the fewest rows per bin, on average
MENTIONS = ("bad", "good")  # the kinds of marks that say whether a mention is right
UNJUDGED = frozenset({"unreadable", "unjudged"})  # errors of a row that could not be judged


def by_tenth(items: Iterable[Item]) -> list[Share]:
    """Return, for each tenth of the text, the share of the mentions beginning there that are errors."""
    mentions = np.zeros((2, TENTHS), np.int64)
    for item in items:
        for start, _, of, kind in {(m.start, m.end, m.of, m.kind) for m in item.marks if m.kind in MENTIONS}:
            mentions[MENTIONS.index(kind), min(TENTHS - 1, TENTHS * start // len(item.text))] += bool(of)
    return [Share(int(bad), int(bad + good)) for bad, good in mentions.T]


@dataclass(frozen=True)
class Length:
    """Rows whose responses have similar lengths."""

    words: float  # the median number of words of these responses
    rows: Share  # of these rows, those in which something is wrong (`is_wrong`)
    said: Share  # of the classes that these responses mention, those that are absent


def by_length(items: Iterable[Item]) -> list[Length]:
    """Put rows into bins of similar size by their number of words, the shortest first; equal lengths share a bin.

    Only rows with classes count; if no row has classes, all rows that could be judged.
    """
    known = [item for item in items if item.classes or UNJUDGED.isdisjoint(item.errors)]
    known = [item for item in known if item.classes] or known
    words = np.array([len(item.text.split()) for item in known])
    bins = min(BINS, len(known) // ROWS_OF_A_BIN)
    if bins < 2:
        return []
    edges = np.unique(np.quantile(words, np.arange(1, bins) / bins, method="lower"))
    of = np.searchsorted(edges, words, side="right")
    return [
        _length([known[row] for row in np.flatnonzero(of == one)], words[of == one]) for one in np.unique(of)
    ]


def is_wrong(item: Item) -> bool:
    """Whether a class is hallucinated in a row; for a row without classes, whether it has any error."""
    return HALLUCINATED in item.classes.values() if item.classes else bool(item.errors)


def _length(items: Sequence[Item], words: NDArray[np.int64]) -> Length:
    outcomes = Counter(outcome for item in items for outcome in item.classes.values())
    wrong, right = outcomes[HALLUCINATED], outcomes[FOUND]
    rows = Share(sum(map(is_wrong, items)), len(items))
    return Length(float(np.median(words)), rows, Share(wrong, wrong + right))


# Votes

Votes = NDArray[np.int8]  # codes of votes, of shape [items, classes, voters]


@dataclass(frozen=True)
class Two:
    """How two voters agree."""

    first: int
    second: int
    agree: Share  # of the questions that both were asked, those on which they voted alike
    # Cohen's kappa of these votes; NaN if it is undefined, or if votes that could change nothing were not asked for,
    # so that one voter's votes decided what the other was asked.
    kappa: float


def yeses(votes: Votes) -> list[int]:
    """Return how many questions got a yes from 0, 1, 2, ... voters, among those that all voters were asked."""
    asked = votes[(votes != UNASKED).all(2)]
    return [int(many) for many in np.bincount((asked == YES).sum(1), minlength=votes.shape[2] + 1)]


def pairs(votes: Votes) -> list[Two]:
    """Compare each pair of voters. A vote that is neither yes nor no counts as a third kind, on which two may agree."""
    each = np.where(votes == FAILED, OTHER, votes).reshape(-1, votes.shape[2]).T
    return [_two(*two, each[two[0]], each[two[1]]) for two in combinations(range(len(each)), 2)]


def _two(first: int, second: int, one: Votes, other: Votes) -> Two:
    both = (one != UNASKED) & (other != UNASKED)
    table = np.zeros((3, 3), np.int64)
    np.add.at(table, (one[both], other[both]), 1)
    agree = Share(int(np.trace(table)), int(table.sum()))
    return Two(first, second, agree, kappa(table) if both.all() else UNDEFINED)
