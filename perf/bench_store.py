"""Times a second run over a full cache of 5,000 texts x 80 classes x 9 questions, which asks nothing.

It also measures the cost of checksums, by looking up the same votes in a plain table of SQLite.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.cache import Cache
from halluscope.judging.judge import Answered, Pairs
from halluscope.judging.questions import Question
from halluscope.judging.votes import UNASKED
from halluscope.vocabularies import load
from timing import compare, seconds

TEXTS, JUDGES = 5000, 3
COCO = load("coco")


class Cheap:
    """Votes by a trivial rule, so that only the cache's work is timed."""

    stored = True

    def __init__(self, key: str) -> None:
        self.key, self.asked = key, 0

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote yes on every eleventh pair."""
        for rows in np.array_split(np.arange(len(pairs)), max(1, len(pairs) // 512)):
            self.asked += len(rows)
            yield rows, ((pairs[rows] @ [7, 3]) % 11 == 0).astype(np.int8)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def look_up(path: Path, texts: list[str], questions: list[Question]) -> int:
    """Count the votes in the cache, and check their checksums."""
    cache = Cache(path)
    votes, _ = cache.votes("cheap-0", questions, texts)
    cache.close()
    return int((votes != UNASKED).sum())


def look_up_plainly(path: Path, questions: int) -> int:
    """Count the votes in a table without checksums."""
    find = "SELECT text, answer FROM plain WHERE judge = 1 AND question = ? AND text BETWEEN 0 AND ?"
    db = sqlite3.connect(path)
    rows = [np.array(db.execute(find, (i + 1, TEXTS)).fetchall(), dtype=np.int64) for i in range(questions)]
    db.close()
    return sum(map(len, rows))


def make_plain(path: Path, questions: int) -> None:
    """Make a table without checksums, with a row for each vote."""
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE plain (judge INTEGER NOT NULL, question INTEGER NOT NULL, text INTEGER NOT NULL, "
        "answer INTEGER NOT NULL, PRIMARY KEY (judge, question, text)) WITHOUT ROWID"
    )
    votes = ((1, i + 1, text, (i + text) % 2) for i in range(questions) for text in range(TEXTS))
    db.executemany("INSERT INTO plain VALUES (?, ?, ?, ?)", votes)
    db.commit()
    db.close()


def main() -> None:
    """Print the times of both runs, and the ratio of the look-ups."""
    texts = [f"Description number {i}." for i in range(TEXTS)]
    references = [[COCO.classes[i % 80]] for i in range(TEXTS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.sqlite"
        for which in ("first", "second"):
            judges = [Cheap(f"cheap-{i}") for i in range(JUDGES)]
            score = partial(throne.compute, judges=judges, store=Cache(path), ask="all", progress=False)
            took = seconds(partial(score, texts, references))
            asked = sum(judge.asked for judge in judges)
            print(
                f"{which} run: {took:.1f} s, {asked:,} questions asked, cache of {path.stat().st_size / 1e6:.0f} MB"
            )
        questions = [question for about in PAPER.about(COCO) for question in about]
        make_plain(plain := Path(folder) / "plain.sqlite", len(questions))
        votes = look_up(path, texts, questions), look_up_plainly(plain, len(questions))
        compare(
            f"looking up {votes[0]:,} votes",
            partial(look_up, path, texts, questions),
            partial(look_up_plainly, plain, len(questions)),
            f"{votes[1]:,} in a plain table of {plain.stat().st_size / 1e6:.0f} MB",
        )


if __name__ == "__main__":
    main()
