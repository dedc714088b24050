"""Splits the difference between two scores into a sum of parts, one per changed aspect.

The caller says what a score is; this module computes none. A setting says which protocol each aspect follows. On the
way from the first setting to the second, one aspect after the other is changed, and the score is computed after each
change. So the parts are differences of real scores, and sum to the whole.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

PROMPT, ROWS, LABELS, PARSER, COUNTING = ASPECTS = ("prompt", "rows", "labels", "parser", "counting")
"""What can differ between two protocols, in the order in which a score is made."""

OTHER_ORDER = (PROMPT, COUNTING, PARSER, ROWS, LABELS)
"""A second order, to see whether the order matters. Rows stay before labels: a row without a label has no score."""

Setting = Mapping[str, str]
"""Aspect -> the name of the protocol that it follows; for the prompt, the name of a file of responses."""


@dataclass(frozen=True)
class Step:
    """One change.

    Attributes:
        aspect: what is changed.
        before: the setting without the change.
        after: the setting with the change.
    """

    aspect: str
    before: Setting
    after: Setting


def path(first: Setting, second: Setting, order: Sequence[str] = ASPECTS) -> list[Step]:
    """Return the steps from one setting to another, one aspect at a time.

    >>> [step.after for step in path({"rows": "a", "parser": "a"}, {"rows": "b", "parser": "b"}, ("rows", "parser"))]
    [{'rows': 'b', 'parser': 'a'}, {'rows': 'b', 'parser': 'b'}]
    """
    settings: list[Setting] = [dict(first)]
    for aspect in order:
        settings.append({**settings[-1], aspect: second[aspect]})
    return [Step(aspect, *pair) for aspect, pair in zip(order, pairwise(settings), strict=True)]


def parts(steps: Sequence[Step], score: Callable[[Setting], float]) -> dict[str, float]:
    """Return what each change adds to the score; NaN before and after an undefined score.

    >>> parts(path({"rows": "a"}, {"rows": "b"}, ("rows",)), lambda setting: {"a": 0.25, "b": 1.0}[setting["rows"]])
    {'rows': 0.75}
    """
    return {step.aspect: score(step.after) - score(step.before) for step in steps}
