"""Says how long a model on this machine will take, once its first batches show how fast it is."""

from dataclasses import dataclass

# How long is measured, from the first batch on: before it comes, the model is loaded
MEASURED_S = 3.0

# From this time on it is worth a line
LONG_S = 60.0

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass
class Pace:
    """How fast replies come."""

    total: int  # how much is asked
    came: int = 0
    came_at_first: int = 0  # how much came with the first batch
    start: float | None = None  # when the first batch had come, in seconds
    is_known: bool = False

    def seconds_left(self, came: int, now: float) -> float | None:
        """Count what came; return how long the rest takes, once, as soon as it can be said, and else None."""
        if self.is_known or came == 0:
            return None
        self.came += came
        if self.start is None:
            self.start = now
            self.came_at_first = self.came
            return None
        measured = now - self.start
        if measured < MEASURED_S:
            return None
        self.is_known = True
        return measured * (self.total - self.came) / (self.came - self.came_at_first)


def in_words(seconds: float) -> str:
    """Return a duration as people say it.

    >>> in_words(50), in_words(600), in_words(3 * 3600), in_words(1e6)
    ('1 minute', '10 minutes', '3 hours', '12 days')
    """
    if seconds < 1.5 * HOUR:
        return _counted(seconds / MINUTE, "minute")
    if seconds < 2 * DAY:
        return _counted(seconds / HOUR, "hour")
    return _counted(seconds / DAY, "day")


def _counted(amount: float, unit: str) -> str:
    number = max(1, round(amount))
    if number == 1:
        return f"1 {unit}"
    return f"{number:,} {unit}s"
