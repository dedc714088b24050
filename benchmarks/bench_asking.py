"""How much less a run asks with ask="needed" than with ask="all", on real responses, with the same scores.

    python benchmarks/bench_asking.py UPSTREAM [--texts 40]

The judges are those that this machine can run, in the order and with the cost of the paper's three (FLAN-T5 base :
large : XL = 250 : 780 : 3000): the lexical judge, the tiny T5 of the tests, and SmolLM2-135M. All answers are given
once; then both ways are scored from them, and what each asks for is counted and weighted. Without UPSTREAM the script
makes descriptions of its own, which is easier for the judges.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.judges import weights
from halluscope.judges.base import Answered, Judge, Pairs
from halluscope.judges.causal import CausalJudge
from halluscope.judges.lexical import LexicalJudge
from halluscope.judges.seq2seq import Seq2SeqJudge
from halluscope.metrics import throne
from halluscope.questions import PAPER, Question
from halluscope.records.presence import match, read_labels, read_responses
from halluscope.vocabularies import load
from real_responses import smollm2

ROOT = Path(__file__).parents[1]
COSTS = (250, 780, 3000)
COCO = load("coco")
FIGURES = (
    "precision_all",
    "recall_all",
    "f0.5_all",
    "precision_cls",
    "recall_cls",
    "f0.5_cls",
    "undefined_classes",
)


class Recorded:
    """Repeats a judge's answers, and counts what it is asked."""

    stored = False

    def __init__(self, judge: Judge, texts: Sequence[str]) -> None:
        self.key, self.asked = judge.key, 0
        questions = [question for row in PAPER.about(COCO) for question in row]
        pairs = np.array(list(np.ndindex(len(texts), len(questions))))
        self._answers = {}
        for rows, codes in judge.answer(texts, questions, pairs):
            for (text, question), code in zip(pairs[rows].tolist(), codes.tolist(), strict=True):
                self._answers[texts[text], questions[question]] = code
        judge.close()

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """What was answered."""
        self.asked += len(pairs)
        codes = [self._answers[texts[text], questions[question]] for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        """Nothing is held."""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("upstream", nargs="?", type=Path)
    parser.add_argument("--texts", type=int, default=40)
    options = parser.parse_args()
    texts, labels = real(options.upstream, options.texts) if options.upstream else made(options.texts)
    judges = [
        Recorded(judge, list(dict.fromkeys(texts)))
        for judge in (
            LexicalJudge(COCO),
            Seq2SeqJudge(weights.find(str(ROOT / "tests" / "tiny_t5" / "checkpoint")), device="cpu"),
            CausalJudge(weights.find(smollm2()), device="cpu"),
        )
    ]
    for agreement in (9, 5):
        everything, all_scores = cost(judges, texts, labels, agreement, "all")
        needed, scores = cost(judges, texts, labels, agreement, "needed")
        equal = all(np.array_equal(all_scores[name], scores[name], equal_nan=True) for name in FIGURES)
        assert equal, "the scores differ"
        print(
            f"k = {agreement} of 9: {everything / needed:.1f} times less LM work, equal scores ({len(texts)} texts)"
        )


def cost(
    judges: Sequence[Recorded], texts: list[str], labels: list[list[str]], agreement: int, ask: str
) -> tuple[int, dict[str, Any]]:
    """The weighted number of questions, and the scores."""
    for judge in judges:
        judge.asked = 0
    result = throne.compute(texts, labels, judges=judges, agreement=agreement, ask=ask, progress=False)
    return sum(weight * judge.asked for weight, judge in zip(COSTS, judges, strict=True)), result


def real(upstream: Path, number: int) -> tuple[list[str], list[list[str]]]:
    """Descriptions by LLaVA-1.5 and what is in the images."""
    responses = read_responses(upstream / "responses" / "opera_llava-1.5_greedy.jsonl", number)
    labels = read_labels(str(upstream / "chair" / "coco2014_chair_objects.json.gz"))
    return list(responses.texts), [list(objects) for objects in match(responses, labels)]


def made(number: int) -> tuple[list[str], list[list[str]]]:
    """Descriptions by the generator that the tiny T5 was trained on; each names one object that is not there."""
    sys.path.insert(0, str(ROOT))
    from tests.tiny_t5.descriptions import describe

    rng = random.Random(0)
    said = [rng.sample(COCO.classes, rng.randint(2, 5)) for _ in range(number)]
    return [describe(names, rng) for names in said], [names[1:] for names in said]


if __name__ == "__main__":
    main()
