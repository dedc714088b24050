"""What comes of each class over the rows, and what else is in the image when one is invented."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.reporting.figures.shares import Share
from halluscope.reporting.shown import FOUND, HALLUCINATED, MISSED, Item
from halluscope.stats.wilson import wilson

FEWEST = 5
"""Times that a class is invented, and images with what stands beside it, before chance is ruled out at all."""

BY_CHANCE = 0.05
"""The greatest chance that any of the pairs that are shown stands out by luck alone."""


@dataclass(frozen=True)
class Counts:
    """How often a class was said and there, said and not there, there and not said."""

    found: int
    hallucinated: int
    missed: int

    @property
    def errors(self) -> int:
        """Both kinds."""
        return self.hallucinated + self.missed

    @property
    def precision(self) -> Share:
        """Of the times that it was said, those that it was there."""
        return Share(self.found, self.found + self.hallucinated)

    @property
    def recall(self) -> Share:
        """Of the times that it was there, those that it was said."""
        return Share(self.found, self.found + self.missed)


NONE = Counts(0, 0, 0)


def of_classes(items: Iterable[Item]) -> dict[str, Counts]:
    """The counts of each class that was said or there, in the order of their names."""
    seen = Counter((name, came) for item in items for name, came in item.classes.items())
    found = {
        name: Counts(seen[name, FOUND], seen[name, HALLUCINATED], seen[name, MISSED])
        for name in sorted({name for name, _ in seen})
    }
    return {name: counts for name, counts in found.items() if counts != NONE}


def worst(models: Sequence[Mapping[str, Counts]], most: int) -> list[str]:
    """The classes with most errors, those of all models added up; the worst first."""
    errors: Counter[str] = Counter()
    for counts in models:
        errors.update({name: of.errors for name, of in counts.items()})
    return sorted(errors, key=lambda name: (-errors[name], name))[:most]


@dataclass(frozen=True)
class Together:
    """A class that was invented, and one that is in the image.

    Attributes:
        invented: the class that was said and is not there.
        beside: the class that is there.
        when: of the images in which the first was invented, those with the second.
        otherwise: of all images in which the first is not, those with the second.
    """

    invented: str
    beside: str
    when: Share
    otherwise: Share

    @property
    def times(self) -> float:
        """How many times as often the second is there when the first is invented."""
        return self.when.value / self.otherwise.value


def together(models: Sequence[Sequence[Item]], fewest: int = FEWEST) -> list[Together]:
    """What is in the image unusually often when a class is invented, the most unusual first; models are added up.

    An image can only tempt to invent what is not in it; so an invented class is compared on the images without it.
    Of many pairs some stand out by luck: a pair is kept if the lower end of Wilson's interval is above the usual
    share at a level that is corrected for the number of pairs (Bonferroni), and it was seen `fewest` times.

    Args:
        models: the items of each.
        fewest: times that a class must be invented, that the other must be there, and both together.

    Returns:
        The pairs that stand out.
    """
    images = [one for items in models for one in _images(items)]
    invented = _table(images, {HALLUCINATED}, fewest)
    there = _table(images, {FOUND, MISSED}, fewest)
    if not invented or not there:
        return []
    lacks = 1 - _columns(
        [{name for name in one if one[name] & {FOUND, MISSED}} for one in images], [*invented]
    )
    said, has = np.stack([*invented.values()]), np.stack([*there.values()])
    said = said * lacks  # of one image, answers may differ
    joint, usual = said @ has.T, lacks @ has.T
    totals, without = said.sum(1), lacks.sum(1)
    level = 1 - BY_CHANCE / joint.size
    found = [
        Together(
            one,
            other,
            Share(int(joint[row, column]), int(totals[row])),
            Share(int(usual[row, column]), int(without[row])),
        )
        for row, one in enumerate(invented)
        for column, other in enumerate(there)
        if one != other and joint[row, column] >= fewest
    ]
    low = {pair: wilson(pair.when.count, pair.when.total, level)[0] for pair in found}
    kept = [pair for pair in found if low[pair] > pair.otherwise.value]
    return sorted(kept, key=lambda pair: (-low[pair] / pair.otherwise.value, pair.invented, pair.beside))


_Image = Mapping[str, set[str]]
"""What came of each class in the rows of an image."""


def _images(items: Iterable[Item]) -> list[_Image]:
    """The rows of each image put together; a row without an image stands for itself."""
    images: dict[tuple[bool, str], dict[str, set[str]]] = {}
    for item in items:
        of = images.setdefault((item.image is None, item.image or item.id), {})
        for name, came in item.classes.items():
            of.setdefault(name, set()).add(came)
    return list(images.values())


def _table(images: Sequence[_Image], came: set[str], fewest: int) -> dict[str, NDArray[np.float64]]:
    """For each class of which one of these came often enough, the images in which it did, as 0 and 1."""
    sets = [{name for name, of in one.items() if of & came} for one in images]
    often = Counter(name for names in sets for name in names)
    kept = sorted(name for name, times in often.items() if times >= fewest)
    return dict(zip(kept, _columns(sets, kept), strict=True))


def _columns(sets: Sequence[set[str]], names: Sequence[str]) -> NDArray[np.float64]:
    """Which sets hold each name, as 0 and 1 [names, sets]."""
    place = {name: row for row, name in enumerate(names)}
    table = np.zeros((len(names), len(sets)))
    for column, held in enumerate(sets):
        table[[place[name] for name in held if name in place], column] = 1
    return table
