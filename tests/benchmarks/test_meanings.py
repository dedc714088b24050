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
        {"accuracy": 0.8421, "yes_ratio": 0.41, "signature": "pope|parser:pope|version:1"},
        "84.2 of 100 questions are answered correctly; the response is yes to 41.0 of 100.",
    ),
    (
        "pope",
        {"accuracy": 0.8421, "yes_ratio": 0.41, "signature": "pope|parser:lmms-eval"},
        "84.2 of 100 questions are answered correctly.",
    ),
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
        {"main_hal": 0.301, "extra_hal": 0.12, "overall_hal": 0.372},
        "37.2 of 100 responses hallucinate: the main answer is wrong in 30.1 of 100, and there are 0.12 extra "
        "claims per response that contradict the image.",
    ),
    (
        "hqh",
        {"main_hal": 0.301},
        "30.1 of 100 main answers are wrong; the overall rate is undefined, because nobody looked for extra "
        "claims.",
    ),
    (
        "haloquest",
        {"accuracy": 0.62},
        "62.0 of 100 judged responses agree with an answer that people wrote.",
    ),
    (
        "gavie",
        {"accuracy": 6.529, "relevancy": 8.2},
        "On average, responses are rated 6.53 of 10 for being true of the image, and 8.20 for doing what the "
        "instruction asks.",
    ),
    (
        "mmhal",
        {"rating": 2.314, "hallucination_rate": 0.521},
        "The mean rating is 2.31 of 6; 52.1 of 100 responses are rated below 3, which means that they hallucinate.",
    ),
]
"""Benchmark, its scores, and the sentence; scores that are not named are undefined."""

PARTS = [
    ("throne", {"f0.5_cls": 0.7, "precision_cls": 0.8, "recall_cls": 0.5}, ("70.0", "80.0", "50.0")),
    ("chair", {"chair_i": 0.123}, ("12.3",)),
    ("amber", {"amber": 0.8, "chair": 0.1, "f1": 0.7}, ("80.0", "10.0", "70.0")),
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
def test_a_sentence(name: str, scores: dict[str, Any], sentence: str) -> None:
    assert meaning(name, scores) == sentence


@pytest.mark.parametrize(("name", "scores", "parts"), PARTS)
def test_what_a_sentence_says(name: str, scores: dict[str, Any], parts: tuple[str, ...]) -> None:
    assert all(part in meaning(name, scores) for part in parts)
