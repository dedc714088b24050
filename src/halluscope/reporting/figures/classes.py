"""Counts each class's outcomes over the rows, and what else is in the image when a class is invented."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.reporting.figures.shares import Share
from halluscope.reporting.shown import FOUND, HALLUCINATED, MISSED, Item
from halluscope.stats.fisher import by_chance
from halluscope.stats.paired import holm

FEWEST = 5
"""The fewest images in which one class is invented while another is present."""

BY_CHANCE = 0.05
"""The greatest probability that any of the shown pairs stands out by chance alone."""

THERE = frozenset({FOUND, MISSED})
"""The outcomes of a class that is in the image."""


@dataclass(frozen=True)
class Counts:
    """How often a class was mentioned and present, mentioned but absent, and present but not mentioned."""

    found: int
    hallucinated: int
    missed: int

    @property
    def errors(self) -> int:
        """How many errors of both kinds there are."""
        return self.hallucinated + self.missed

    @property
    def precision(self) -> Share:
        """Of the times that the class was mentioned, those in which it was present."""
        return Share(self.found, self.found + self.hallucinated)

    @property
    def recall(self) -> Share:
        """Of the times that the class was present, those in which it was mentioned."""
        return Share(self.found, self.found + self.missed)


NONE = Counts(0, 0, 0)


def of_classes(items: Iterable[Item]) -> dict[str, Counts]:
    """Return the counts of each class that was mentioned or present, in the order of their names."""
    seen = Counter((name, came) for item in items for name, came in item.classes.items())
    found = {
        name: Counts(seen[name, FOUND], seen[name, HALLUCINATED], seen[name, MISSED])
        for name in sorted({name for name, _ in seen})
    }
    return {name: counts for name, counts in found.items() if counts != NONE}


def worst(models: Sequence[Mapping[str, Counts]], most: int) -> list[str]:
    """Return the classes with the most errors over all models, the worst first."""
    errors: Counter[str] = Counter()
    for counts in models:
        errors.update({name: of.errors for name, of in counts.items()})
    return sorted(errors, key=lambda name: (-errors[name], name))[:most]


@dataclass(frozen=True)
class Together:
    """A class that was invented, and a class that is in the image.

    Attributes:
        invented: the class that was mentioned but is absent.
        beside: the class that is present.
        when: of the images in which the first class was invented, those with the second.
        otherwise: of all images without the first class, those with the second.
    """

    invented: str
    beside: str
    when: Share
    otherwise: Share

    @property
    def times(self) -> float:
        """How many times as often the second class is present when the first is invented."""
        return self.when.value / self.otherwise.value


_Image = Mapping[str, set[str]]
"""Class -> its outcomes in the rows of an image."""


def together(items: Iterable[Item], fewest: int = FEWEST) -> list[Together]:
    """Return what is in the image unusually often when a class is invented, the most significant pair first.

    Only a class that is not in the image can be invented, so an invented class is studied in the images without it.
    Among many pairs some stand out by chance; a pair is kept if Fisher's exact test finds it significant after Holm's
    correction for all pairs. An image counts once, however many rows it has.

    Args:
        items: of one model, or of several on the same images.
        fewest: the fewest images in which the first class is invented, the second is present, and both are the case.

    Returns:
        The pairs that stand out.
    """
    pairs = [pair for pair in _pairs(_images(items), fewest) if pair.invented != pair.beside]
    chance = holm([_by_chance(pair) if pair.when.count >= fewest else 1.0 for pair in pairs])
    kept = [(p, pair) for p, pair in zip(chance, pairs, strict=True) if p < BY_CHANCE]
    return [pair for _, pair in sorted(kept, key=lambda found: (found[0], -found[1].times))]


def _pairs(images: Sequence[_Image], fewest: int) -> Iterator[Together]:
    """Yield each class that was invented often enough, with each class that is present often enough."""
    truth = [_came(image, THERE) for image in images]
    wrong = [_came(image, {HALLUCINATED}) - known for image, known in zip(images, truth, strict=True)]
    invented, there = _table(wrong, fewest), _table(truth, fewest)
    if not invented or not there:
        return
    without = np.array([[name not in known for known in truth] for name in invented], float)
    said, has = np.stack([*invented.values()]), np.stack([*there.values()])
    when, usual = said @ has.T, without @ has.T
    for row, one in enumerate(invented):
        for column, other in enumerate(there):
            yield Together(
                one,
                other,
                Share(int(when[row, column]), int(said[row].sum())),
                Share(int(usual[row, column]), int(without[row].sum())),
            )


def _by_chance(pair: Together) -> float:
    return by_chance(pair.when.count, pair.when.total, pair.otherwise.count, pair.otherwise.total)


def _images(items: Iterable[Item]) -> list[_Image]:
    """Merge the rows of each image; a row without an image is kept by itself."""
    images: dict[tuple[bool, str], dict[str, set[str]]] = {}
    for item in items:
        of = images.setdefault((item.image is None, item.image or item.id), {})
        for name, came in item.classes.items():
            of.setdefault(name, set()).add(came)
    return list(images.values())


def _came(image: _Image, came: frozenset[str] | set[str]) -> set[str]:
    """Return the classes with one of these outcomes."""
    return {name for name, of in image.items() if of & came}


def _table(sets: Sequence[set[str]], fewest: int) -> dict[str, NDArray[np.float64]]:
    """Return, for each name that enough sets hold, which sets hold it, as 0 and 1."""
    often = Counter(name for names in sets for name in names)
    kept = {name: np.zeros(len(sets)) for name in sorted(often) if often[name] >= fewest}
    for place, names in enumerate(sets):
        for name in names & kept.keys():
            kept[name][place] = 1
    return kept
