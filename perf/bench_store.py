"""A second run over a full store: 5,000 texts x 80 classes x 9 questions, every answer kept; nothing is asked."""

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from halluscope.benchmarks.throne import metric as throne
from halluscope.judging.questions import Question
from halluscope.judging.store import AnswerStore
from halluscope.judging.voter import Answered, Pairs
from halluscope.vocabularies import load
from timing import seconds

TEXTS, JUDGES = 5000, 3
COCO = load("coco")


class Cheap:
    """Answers by a rule, so that only the store's work is timed."""

    stored = True

    def __init__(self, key: str) -> None:
        self.key, self.asked = key, 0

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Yes to every eleventh pair."""
        for rows in np.array_split(np.arange(len(pairs)), max(1, len(pairs) // 512)):
            self.asked += len(rows)
            yield rows, ((pairs[rows] @ [7, 3]) % 11 == 0).astype(np.int8)

    def close(self) -> None:
        """Nothing is held."""


def main() -> None:
    """Print the figures."""
    texts = [f"Description number {i}." for i in range(TEXTS)]
    references = [[COCO.classes[i % 80]] for i in range(TEXTS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.sqlite"
        for which in ("first", "second"):
            judges = [Cheap(f"cheap-{i}") for i in range(JUDGES)]
            score = partial(throne.compute, judges=judges, store=AnswerStore(path), ask="all", progress=False)
            took = seconds(partial(score, texts, references))
            asked = sum(judge.asked for judge in judges)
            print(
                f"{which} run: {took:.1f} s, {asked:,} questions asked, store of {path.stat().st_size / 1e6:.0f} MB"
            )


if __name__ == "__main__":
    main()
