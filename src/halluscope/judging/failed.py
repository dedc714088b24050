"""How much of what a judge is asked may get no reply before that is an error: for voters and graders alike."""

from collections import Counter
from typing import Any

from halluscope.numbers import finite

MAX_FAILED = 0.02
"""The share that may, unless the user says otherwise."""

SHOWN = 3
"""How many reasons, or unreadable replies, a message shows."""


def check_max_failed(value: Any) -> None:
    """Check the share of failures that is allowed.

    Raises:
        ValueError: if it is no number in [0, 1].
    """
    finite("max_failed", value, 0, 1, "a share of what is asked, such as 0.02,")


def reasons(failures: Counter[str]) -> str:
    """Why there was no reply, for a message: the most frequent reasons in brackets, or nothing.

    >>> reasons(Counter({"HTTP 500": 2, "an empty reply": 7}))
    ' (an empty reply: 7, HTTP 500: 2)'
    """
    why = ", ".join(f"{reason}: {count:,}" for reason, count in failures.most_common(SHOWN))
    return f" ({why})" if why else ""
