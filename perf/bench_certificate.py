"""Times a certificate and corrected scores (5,000 x 80, 200 labelled texts), against raw scores with an interval.

    python perf/bench_certificate.py [--texts 5000] [--labelled 200] [--rounds 3]

The texts, the objects they imply, a judge that errs, and people's labels are made up. Both ways include the judge's
votes, which cost almost nothing here.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from halluscope.benchmarks.throne.metric import compute, judge
from halluscope.judging.judge import Answered, Pairs
from halluscope.judging.questions import Question
from halluscope.reliability import certificate as certificates
from halluscope.reliability.certificate import Labels, digest, name_of, rows_of
from halluscope.stats.bootstrap import RESAMPLES
from halluscope.vocabularies import load
from timing import compare

CLASSES = load("coco").classes
MISSED, MADE_UP = 0.1, 0.01
"""How often the judge votes no where people say yes, and yes where people say no."""


class Erring:
    """A judge that looks up its votes in a table."""

    key, stored = "erring-1", False

    def __init__(self, yes: dict[str, set[str]]) -> None:
        self._yes = yes

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Look up the votes."""
        codes = [questions[question].object in self._yes[texts[text]] for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def main() -> None:
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("texts", 5000), ("labelled", 200), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    implied = rng.random((options.texts, len(CLASSES))) < rng.beta(0.4, 6, len(CLASSES))
    yes = flipped(implied, rng)
    texts = [f"text {row}" for row in range(options.texts)]
    objects = named(flipped(implied, rng))
    erring = Erring({text: set(names) for text, names in zip(texts, named(yes), strict=True)})
    asked: dict[str, Any] = {"judges": erring, "questions": ["Is there {a/an} {x}?"], "progress": False}
    both = partial(corrected, texts, objects, implied, options.labelled, asked)
    raw = partial(compute, texts, objects, bootstrap=RESAMPLES, **asked)
    print(f"{options.texts:,} texts x {len(CLASSES)} classes, {options.labelled} labelled")
    compare(
        "certificate and corrected scores", both, raw, f"raw scores, {RESAMPLES:,} resamples", options.rounds
    )


def corrected(texts: list[str], objects: list[list[str]], implied: Any, count: int, asked: Any) -> Any:
    """Certify the judge by the labels of some texts, and score all texts with the certificate."""
    rows = np.random.default_rng(1).choice(len(texts), count, replace=False)
    labels = Labels(
        "made-up",
        [digest(texts[row]) for row in rows],
        implied[rows].astype(np.int8),
        np.full((count, len(CLASSES)), count / len(texts)),
    )
    judgement = judge([texts[row] for row in rows], [objects[row] for row in rows], ask="all", **asked)
    name = name_of(rows_of(texts))
    certificate = certificates.certify(judgement, labels, name, "nobody", responses="made-up", data="made-up")
    return compute(texts, objects, certificate=certificate, **asked)["corrected"]


def flipped(implied: Any, rng: np.random.Generator) -> Any:
    """Return the table with errors added."""
    return np.where(implied, rng.random(implied.shape) >= MISSED, rng.random(implied.shape) < MADE_UP)


def named(table: Any) -> list[list[str]]:
    """Return the classes of each row."""
    return [[CLASSES[place] for place in np.flatnonzero(row)] for row in table]


if __name__ == "__main__":
    main()
