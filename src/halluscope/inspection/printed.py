"""Reads scores that other people's scripts printed, as text or as JSON."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.errors import LimitExceeded
from halluscope.files.opening import read_text

# A score in a text, and words that only names of scores hold
_FIGURE = re.compile(r"(?<![\w-])([A-Za-z][\w ()%-]{0,60}?)\s*[:|=]\s*(-?\d+(?:\.\d+)?)\b")
_WORDS = ("acc", "score", "rate", "f1")

MOST = 30  # how many printed scores are listed


def printed(file: Path) -> dict[str, float]:
    """Return the scores that a text prints; {} if it prints none, or is no text."""
    try:
        text = read_text(file)
    except LimitExceeded:
        raise
    except ValueError:
        return {}
    return scores_among(_FIGURE.findall(text))


def scores_among(figures: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Return the first of these numbers whose names are those of scores; a repeated name gets a number."""
    known: set[str] = set()
    for benchmark in registry.benchmarks():
        known.update(letters(score) for score in benchmark.scores)
    scores: dict[str, float] = {}
    seen: Counter[str] = Counter()
    for name, value in islice(figures, 100 * MOST):
        if len(scores) == MOST:
            break
        last = letters(name.rpartition("/")[2])
        if last not in known and not any(word in last for word in _WORDS):
            continue
        name = name.strip()
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} #{seen[name]}"
        scores[name] = float(value)
    return scores


def letters(name: str) -> str:
    """Return the letters and digits of a score's name, by which names are compared."""
    return re.sub("[^a-z0-9]", "", name.lower())
