"""What made a number: one line with a key for each choice that can move it, and the version last.

The habit is sacrebleu's: a score without its signature cannot be compared.
"""

import re

from halluscope import __version__


def signature(metric: str, **choices: object) -> str:
    """The signature of a score.

    >>> signature("throne", vocabulary="coco", agreement="9of9").rsplit("|", 1)[0]
    'throne|vocabulary:coco|agreement:9of9'
    """
    parts = [f"{key}:{_plain(value)}" for key, value in (choices | {"version": __version__}).items()]
    return "|".join([metric, *parts])


def _plain(value: object) -> str:
    """A value on one line, without the signs that divide a signature."""
    if isinstance(value, list | tuple):
        return ",".join(_plain(item).replace(",", "_") for item in value)
    return re.sub(r"[|\s\x00-\x1f\x7f]", "_", str(value))
