"""A difference between two scores as a sum of parts: what was changed on the way from one to the other, one at a time.

Pure: what a score is, the caller says. A setting says whose way each aspect follows. From the first setting to the
second one aspect after the other is changed, and after each change the score is computed. So the parts are differences
of scores that exist, and sum to the whole.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

PROMPT, ROWS, LABELS, PARSER, COUNTING = ASPECTS = ("prompt", "rows", "labels", "parser", "counting")
"""What can differ between two protocols, in the order in which a score is made."""

OTHER_ORDER = (PROMPT, COUNTING, PARSER, ROWS, LABELS)
"""The order that shows whether the order matters. Rows stay before labels: what has no label cannot be scored."""

Setting = Mapping[str, str]
"""Aspect -> whose way it follows: the name of a protocol; of the prompt, that of a file of responses."""


@dataclass(frozen=True)
class Step:
    """One change.

    Attributes:
        aspect: what is changed.
        before: the setting without the change.
        after: the setting with it.
    """

    aspect: str
    before: Setting
    after: Setting


def path(first: Setting, second: Setting, order: Sequence[str] = ASPECTS) -> list[Step]:
    """The steps from one setting to another, one aspect at a time.

    >>> [step.after for step in path({"rows": "a", "parser": "a"}, {"rows": "b", "parser": "b"}, ("rows", "parser"))]
    [{'rows': 'b', 'parser': 'a'}, {'rows': 'b', 'parser': 'b'}]
    """
    settings: list[Setting] = [dict(first)]
    for aspect in order:
        settings.append({**settings[-1], aspect: second[aspect]})
    return [Step(aspect, *pair) for aspect, pair in zip(order, pairwise(settings), strict=True)]


def parts(steps: Sequence[Step], score: Callable[[Setting], float]) -> dict[str, float]:
    """What each change adds to the score; NaN beside a score that is undefined.

    >>> parts(path({"rows": "a"}, {"rows": "b"}, ("rows",)), lambda setting: {"a": 0.25, "b": 1.0}[setting["rows"]])
    {'rows': 0.75}
    """
    return {step.aspect: score(step.after) - score(step.before) for step in steps}
