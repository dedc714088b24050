"""What a page says about a score in a sentence: its numbers, what a convention changes, and what is undefined.

That each benchmark has one, without "nan" and with an end, is in tests/test_contract.py.
"""

import math
from collections import defaultdict
from typing import Any

import pytest

from halluscope import registry

CASES = [
    (
        "pope",
        {"accuracy": 0.8421, "yes_ratio": 0.41, "signature": "pope|parser:repope"},
        "84.2 of 100 readable responses are right; they are yes to 41.0 of 100.",
    ),
    (
        "hallusionbench",
        {"aAcc": 0.613, "language_hallucination": 0.2, "visual_illusion": 0.7, "mixed": 0.1},
        "61.3 of 100 responses are right (an uncertain one is right where no image is shown); of 100 others, 20.0 "
        "ignore the image (language hallucination), 70.0 misread it (visual illusion), and 10.0 are a mix.",
    ),
    ("hallusionbench", {"aAcc": 1.0}, "100.0 of 100 responses are right."),
    (
        "hqh",
        {"main_hal": 0.301},
        "30.1 of 100 main answers are wrong; the overall rate is undefined, because nobody looked for extra "
        "claims.",
    ),
]
"""Benchmark, its scores, and the sentence; scores that are not named are undefined."""

PARTS = [
    ("throne", {"f0.5_cls": 0.7, "precision_cls": 0.8, "recall_cls": 0.5}, ("70.0", "80.0", "50.0")),
    ("amber", {"chair": 0.1}, ("undefined", "10.0")),
    ("openchair", {"openchair": 0.5, "signature": "openchair|convention:released"}, ("50.0", "left out")),
    ("openchair", {"openchair": 0.5, "signature": "openchair|convention:first"}, ("50.0", "once")),
]


def meaning(name: str, scores: dict[str, Any]) -> str:
    """Return the sentence; whether null or NaN stands for undefined does not matter."""
    benchmark = registry.benchmark(name)
    sentences = set()
    for undefined in (None, math.nan):
        known = dict.fromkeys(benchmark.scores, undefined) | {"signature": name} | scores
        table = defaultdict(lambda undefined=undefined: undefined, known)
        sentences.add(benchmark.module("report").meaning(table))
    (sentence,) = sentences
    return sentence


@pytest.mark.parametrize(("name", "scores", "sentence"), CASES)
def test_what_a_score_means_in_a_sentence(name: str, scores: dict[str, Any], sentence: str) -> None:
    assert meaning(name, scores) == sentence


@pytest.mark.parametrize(("name", "scores", "parts"), PARTS)
def test_what_a_sentence_says(name: str, scores: dict[str, Any], parts: tuple[str, ...]) -> None:
    assert all(part in meaning(name, scores) for part in parts)
