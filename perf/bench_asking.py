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
from dataclasses import dataclass
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
QUESTIONS: list[Question] = []
for template_questions in PAPER.about(COCO):
    QUESTIONS += template_questions
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


@dataclass(frozen=True)
class Sample:
    """Descriptions, and the classes that are in each image."""

    texts: list[str]
    labels: list[list[str]]


@dataclass(frozen=True)
class Run:
    """The scores of a run, and what it asked."""

    scores: dict[str, Any]
    cost: int  # the number of questions, each weighted by its judge's cost


class Recorded:
    """Repeats recorded votes, and counts its questions."""

    stored = False

    def __init__(self, key: str, answers: Answers) -> None:
        self.key = key
        self.questions = 0
        self._answers = answers

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Return the recorded votes."""
        self.questions += len(pairs)
        codes = [self._answers[texts[text], questions[question]] for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def main() -> None:
    """Print the ratios of work."""
    arguments = options(__doc__, "upstream", texts=12)
    upstream = arguments.upstream
    sample = real(upstream, arguments.texts) if upstream else made_up(arguments.texts)
    tiny_t5 = weights.find(str(ROOT / "tests" / "tiny_t5" / "checkpoint"))
    lexical = recorded(LexicalJudge(COCO), sample)
    causal = recorded(CausalJudge(weights.find(smollm2()), device="cpu"), sample)
    seq2seq = recorded(Seq2SeqJudge(tiny_t5, device="cpu"), sample)
    compare("lexical, SmolLM2, tiny T5", [lexical, causal, seq2seq], sample)
    compare("lexical, tiny T5, SmolLM2", [lexical, seq2seq, causal], sample)
    compare("97 % unanimous (simulated)", unanimous(sample), sample)


def recorded(judge: Voter, sample: Sample) -> Recorded:
    """Return a judge's votes on every question about every text."""
    texts = list(dict.fromkeys(sample.texts))
    pairs = np.array(list(np.ndindex(len(texts), len(QUESTIONS))))
    answers = {}
    for rows, codes, *_ in judge.answer(texts, QUESTIONS, pairs):
        for (text, question), code in zip(pairs[rows].tolist(), codes.tolist(), strict=True):
            answers[texts[text], QUESTIONS[question]] = code
    judge.close()
    return Recorded(judge.key, answers)


def unanimous(sample: Sample, share: float = 0.97) -> list[Recorded]:
    """Simulate three judges whose votes are unanimous on this share of cells, and find nine of ten present objects."""
    rng = np.random.default_rng(0)
    judges: list[Answers] = [{}, {}, {}]
    for text, objects in zip(sample.texts, sample.labels, strict=True):
        for name in COCO.classes:
            chance_of_yes = 0.02
            if name in objects:
                chance_of_yes = 0.9
            common_vote = rng.random() < chance_of_yes
            is_unanimous = rng.random() < share
            for question in QUESTIONS:
                if question.object != name:
                    continue
                for answers in judges:
                    vote = common_vote
                    if not is_unanimous:
                        vote = rng.random() < 0.5
                    answers[text, question] = int(vote)
    return [Recorded(f"simulated-{number}", answers) for number, answers in enumerate(judges)]


def compare(name: str, judges: Sequence[Recorded], sample: Sample) -> None:
    """Check that the scores are equal, and print how much less work is needed."""
    for agreement in (9, 5):
        everything = run(judges, sample, agreement, "all")
        needed = run(judges, sample, agreement, "needed")
        for figure in FIGURES:
            are_equal = np.array_equal(everything.scores[figure], needed.scores[figure], equal_nan=True)
            assert are_equal, "the scores differ"
        times = everything.cost / needed.cost
        print(f"{name}; k = {agreement} of 9: {times:.1f} times less work, equal scores")


def run(judges: Sequence[Recorded], sample: Sample, agreement: int, which: str) -> Run:
    """Score the sample."""
    for judge in judges:
        judge.questions = 0
    scores = throne.compute(
        sample.texts, sample.labels, judges=judges, agreement=agreement, ask=which, progress=False
    )
    cost = 0
    for weight, judge in zip(COSTS, judges, strict=True):
        cost += weight * judge.questions
    return Run(scores, cost)


def real(upstream: Path, number: int) -> Sample:
    """Return descriptions by LLaVA-1.5, and what is in the images."""
    (ready,) = scoring.prepare(
        registry.benchmark("throne"),
        [upstream / "responses" / "opera_llava-1.5_greedy.jsonl"],
        [str(upstream / "chair" / "coco2014_chair_objects.json.gz")],
        {},
        MatchingOptions(limit=number),
    )
    return Sample(ready.matched.texts, [list(objects) for objects in ready.inputs["references"]])


def made_up(number: int) -> Sample:
    """Return descriptions from the generator that the tiny T5 was trained on; each names one absent object."""
    sys.path.insert(0, str(ROOT))
    from tests.tiny_t5.descriptions import describe

    rng = random.Random(0)
    named = [rng.sample(COCO.classes, rng.randint(2, 5)) for _ in range(number)]
    texts = [describe(classes, rng) for classes in named]
    return Sample(texts, [classes[1:] for classes in named])


if __name__ == "__main__":
    main()
