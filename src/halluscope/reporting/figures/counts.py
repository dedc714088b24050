"""What figures count over the rows: errors by class, by place in the text and by its length; votes that agree."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import FAILED, OTHER, UNASKED, YES
from halluscope.reporting.figures.points import UNDEFINED, Share
from halluscope.reporting.report_items import FOUND, HALLUCINATED, MISSED, Item
from halluscope.stats.paired import holm
from halluscope.stats.ratios import fisher, kappa

FEWEST = 5  # images in which one class is invented while another is present
BY_CHANCE = 0.05  # the greatest probability that any of the shown pairs stands out by chance alone

# Classes


@dataclass(frozen=True)
class Counts:
    """How often a class was mentioned and present, mentioned but absent, and present but not mentioned."""

    found: int = 0
    hallucinated: int = 0
    missed: int = 0

    @property
    def errors(self) -> int:
        """Errors of both kinds."""
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


_Image = Mapping[str, set[str]]  # class -> its outcomes in the rows of an image


def together(items: Iterable[Item], fewest: int = FEWEST) -> list[Together]:
    """Return what is in the image unusually often when a class is invented, the most significant pair first.

    Fisher's exact test, with Holm's correction for all pairs, in the images without the invented class.
    """
    pairs = [pair for pair in _pairs(_images(items), fewest) if pair.invented != pair.beside]
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


def _pairs(images: Sequence[_Image], fewest: int) -> Iterator[Together]:
    """Yield each class that was invented often enough, with each class that is present often enough."""
    truth = [_with(image, {FOUND, MISSED}) for image in images]
    wrong = [_with(image, {HALLUCINATED}) - present for image, present in zip(images, truth, strict=True)]
    invented, present = _table(wrong, fewest), _table(truth, fewest)
    if not invented or not present:
        return
    without = np.array([[name not in names for names in truth] for name in invented], float)
    said, has = np.stack([*invented.values()]), np.stack([*present.values()])
    when, usual = said @ has.T, without @ has.T
    for row, one in enumerate(invented):
        for column, other in enumerate(present):
            yield Together(
                one,
                other,
                Share(int(when[row, column]), int(said[row].sum())),
                Share(int(usual[row, column]), int(without[row].sum())),
            )


def _images(items: Iterable[Item]) -> list[_Image]:
    """Merge the rows of each image; a row without an image is kept by itself."""
    images: dict[tuple[bool, str], dict[str, set[str]]] = {}
    for item in items:
        image = images.setdefault((item.image is None, item.image or item.id), {})
        for name, outcome in item.classes.items():
            image.setdefault(name, set()).add(outcome)
    return list(images.values())


def _with(image: _Image, wanted: set[str]) -> set[str]:
    return {name for name, outcomes in image.items() if outcomes & wanted}


def _table(sets: Sequence[set[str]], fewest: int) -> dict[str, NDArray[np.float64]]:
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
