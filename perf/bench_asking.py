"""Counts how much less a run asks with ask="needed" than with ask="all", on real responses, with the same scores.

    python perf/bench_asking.py UPSTREAM [--texts 12]

Questions cost as much as with the paper's judges (FLAN-T5 base : large : XL = 250 : 780 : 3000), and the cheapest judge
is asked first. Judges that this machine can run replace them: the lexical judge, SmolLM2-135M and the tiny T5 of the
tests. The last two judge real responses poorly: SmolLM2 votes no nearly everywhere, and the tiny T5 votes yes. So the
tiny T5 almost never confirms that an object is absent, and asking it early saves little; both orders are shown. All
votes are collected once; both ways are then scored from them, and the questions of each way counted. Without UPSTREAM
the script makes up descriptions. The last two lines are a simulation: votes are unanimous on 97 % of the cells, as
with judges that mostly agree.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import registry, scoring
from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.judge import Answered, Pairs, Voter
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import CausalJudge, Seq2SeqJudge
from halluscope.judging.questions import Question
from halluscope.options import MatchingOptions
from halluscope.vocabularies import load
from results import smollm2
from timing import options

ROOT = Path(__file__).parents[1]
COSTS = (250, 780, 3000)
COCO = load("coco")
QUESTIONS = [question for row in PAPER.about(COCO) for question in row]
FIGURES = (
    "precision_all",
    "recall_all",
    "f0.5_all",
    "precision_cls",
    "recall_cls",
    "f0.5_cls",
    "undefined_classes",
)


Answers = dict[tuple[str, Question], int]


class Recorded:
    """Repeats recorded votes, and counts its questions."""

    stored = False

    def __init__(self, key: str, answers: Answers) -> None:
        self.key, self.asked, self._answers = key, 0, answers

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Return the recorded votes."""
        self.asked += len(pairs)
        codes = [self._answers[texts[text], questions[question]] for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def answers_of(judge: Voter, texts: Sequence[str]) -> Answers:
    """Return a judge's votes on every question about every text."""
    pairs = np.array(list(np.ndindex(len(texts), len(QUESTIONS))))
    answers = {}
    for rows, codes, *_ in judge.answer(texts, QUESTIONS, pairs):
        for (text, question), code in zip(pairs[rows].tolist(), codes.tolist(), strict=True):
            answers[texts[text], QUESTIONS[question]] = code
    judge.close()
    return answers


def unanimous(texts: Sequence[str], labels: Sequence[Sequence[str]], share: float = 0.97) -> list[Recorded]:
    """Simulate three judges whose votes are unanimous on this share of cells, and find nine of ten present objects."""
    rng = np.random.default_rng(0)
    answers: list[Answers] = [{}, {}, {}]
    for text, objects in zip(texts, labels, strict=True):
        for name in COCO.classes:
            said = (name in objects) == (rng.random() < 0.9) if name in objects else rng.random() < 0.02
            agreed = rng.random() < share
            for question in (one for one in QUESTIONS if one.object == name):
                for of in answers:
                    of[text, question] = int(said if agreed else rng.random() < 0.5)
    return [Recorded(f"simulated-{i}", of) for i, of in enumerate(answers)]


def main() -> None:
    """Print the ratios of work."""
    given = options(__doc__, "upstream", texts=12)
    texts, labels = real(given.upstream, given.texts) if given.upstream else made(given.texts)
    tiny_t5 = weights.find(str(ROOT / "tests" / "tiny_t5" / "checkpoint"))
    kinds: list[Voter] = [
        LexicalJudge(COCO),
        CausalJudge(weights.find(smollm2()), device="cpu"),
        Seq2SeqJudge(tiny_t5, device="cpu"),
    ]
    unique = list(dict.fromkeys(texts))
    lexical, causal, seq2seq = (Recorded(judge.key, answers_of(judge, unique)) for judge in kinds)
    compare("lexical, SmolLM2, tiny T5", [lexical, causal, seq2seq], texts, labels)
    compare("lexical, tiny T5, SmolLM2", [lexical, seq2seq, causal], texts, labels)
    compare("97 % unanimous (simulated)", unanimous(texts, labels), texts, labels)


def compare(name: str, judges: Sequence[Recorded], texts: list[str], labels: list[list[str]]) -> None:
    """Check that the scores are equal, and print how much less work is needed."""
    for agreement in (9, 5):
        everything, all_scores = cost(judges, texts, labels, agreement, "all")
        needed, scores = cost(judges, texts, labels, agreement, "needed")
        equal = all(np.array_equal(all_scores[one], scores[one], equal_nan=True) for one in FIGURES)
        assert equal, "the scores differ"
        print(f"{name}; k = {agreement} of 9: {everything / needed:.1f} times less work, equal scores")


def cost(
    judges: Sequence[Recorded], texts: list[str], labels: list[list[str]], agreement: int, ask: str
) -> tuple[int, dict[str, Any]]:
    """Return the weighted number of questions, and the scores."""
    for judge in judges:
        judge.asked = 0
    result = throne.compute(texts, labels, judges=judges, agreement=agreement, ask=ask, progress=False)
    return sum(weight * judge.asked for weight, judge in zip(COSTS, judges, strict=True)), result


def real(upstream: Path, number: int) -> tuple[list[str], list[list[str]]]:
    """Return descriptions by LLaVA-1.5, and what is in the images."""
    (ready,) = scoring.prepare(
        registry.benchmark("throne"),
        [upstream / "responses" / "opera_llava-1.5_greedy.jsonl"],
        [str(upstream / "chair" / "coco2014_chair_objects.json.gz")],
        {},
        MatchingOptions(limit=number),
    )
    return ready.matched.texts, [list(objects) for objects in ready.inputs["references"]]


def made(number: int) -> tuple[list[str], list[list[str]]]:
    """Return descriptions from the generator that the tiny T5 was trained on; each names one absent object."""
    sys.path.insert(0, str(ROOT))
    from tests.tiny_t5.descriptions import describe

    rng = random.Random(0)
    said = [rng.sample(COCO.classes, rng.randint(2, 5)) for _ in range(number)]
    return [describe(names, rng) for names in said], [names[1:] for names in said]


if __name__ == "__main__":
    main()
