"""A count out of a total, as a share with its interval."""

from dataclasses import dataclass
from typing import Protocol

from halluscope.stats.wilson import wilson

UNDEFINED = float("nan")


class Point(Protocol):
    """What a chart draws: a value and the ends of its interval; undefined numbers are NaN."""

    @property
    def value(self) -> float:
        """The value."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


@dataclass(frozen=True)
class Share:
    """A count out of a total; its share is undefined if the total is 0.

    >>> share = Share(0, 10)
    >>> share.value, round(share.high, 3)
    (0.0, 0.278)

    Attributes:
        count: how many of the total are counted.
        total: how many there are in all.
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share, in [0, 1]."""
        return self.count / self.total if self.total else UNDEFINED

    @property
    def low(self) -> float:
        """The lower end of Wilson's interval at 0.95."""
        return wilson(self.count, self.total)[0] if self.total else UNDEFINED

    @property
    def high(self) -> float:
        """The upper end of Wilson's interval at 0.95."""
        return wilson(self.count, self.total)[1] if self.total else UNDEFINED
