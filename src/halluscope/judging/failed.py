"""The share of prompts that may get no reply before it is an error, for voters and graders alike."""

from collections import Counter
from typing import Any

from halluscope.inputs import finite

MAX_FAILED = 0.02  # The share of prompts that may get no reply, unless the user says otherwise

SHOWN = 3  # How many reasons, or unreadable replies, a message shows


def check_max_failed(value: Any) -> None:
    """Check the allowed share of failures."""
    finite("max_failed", value, 0, 1, "a share of the prompts, such as 0.02,")


def reasons(failures: Counter[str]) -> str:
    """Return the most frequent reasons for missing replies, in brackets, for a message; "" if there are no reasons.

    >>> reasons(Counter({"HTTP 500": 2, "an empty reply": 7}))
    ' (an empty reply: 7, HTTP 500: 2)'
    """
    why = ", ".join(f"{reason}: {count:,}" for reason, count in failures.most_common(SHOWN))
    return f" ({why})" if why else ""
