"""Times a second run over a full cache of 5,000 texts x 80 classes x 9 questions, which asks nothing.

It also measures the cost of checksums, by looking up the same votes in a plain table of SQLite.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
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

TEXTS = 5000
JUDGES = 3
COCO = load("coco")
FIND = "SELECT text, answer FROM plain WHERE judge = 1 AND question = ? AND text BETWEEN 0 AND ?"


class Cheap:
    """Votes by a trivial rule, so that only the cache's work is timed."""

    stored = True

    def __init__(self, key: str) -> None:
        self.key = key
        self.questions = 0

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote yes on every eleventh pair."""
        for rows in np.array_split(np.arange(len(pairs)), max(1, len(pairs) // 512)):
            self.questions += len(rows)
            votes = (pairs[rows] @ [7, 3]) % 11 == 0
            yield rows, votes.astype(np.int8)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def main() -> None:
    """Print the times of both runs, and the ratio of the look-ups."""
    texts = [f"Description number {number}." for number in range(TEXTS)]
    questions: list[Question] = []
    for template_questions in PAPER.about(COCO):
        questions += template_questions
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.sqlite")
        plain = Path(folder, "plain.sqlite")
        run("first", path, texts)
        run("second", path, texts)
        make_plain(plain, len(questions))
        stored = look_up(path, texts, questions)
        plainly_stored = look_up_plainly(plain, len(questions))
        compare(
            f"looking up {stored:,} votes",
            lambda: look_up(path, texts, questions),
            lambda: look_up_plainly(plain, len(questions)),
            f"{plainly_stored:,} in a plain table of {plain.stat().st_size / 1e6:.0f} MB",
        )


def run(which: str, path: Path, texts: list[str]) -> None:
    """Score the texts with a cache, and print the time."""
    references = [[COCO.classes[number % 80]] for number in range(TEXTS)]
    judges = [Cheap(f"cheap-{number}") for number in range(JUDGES)]
    cache = Cache(path)
    took = seconds(
        lambda: throne.compute(texts, references, judges=judges, store=cache, ask="all", progress=False)
    )
    questions = sum(judge.questions for judge in judges)
    megabytes = path.stat().st_size / 1e6
    print(f"{which} run: {took:.1f} s, {questions:,} questions asked, cache of {megabytes:.0f} MB")


def make_plain(path: Path, questions: int) -> None:
    """Make a table without checksums, with a row for each vote."""
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE plain (judge INTEGER NOT NULL, question INTEGER NOT NULL, text INTEGER NOT NULL, "
        "answer INTEGER NOT NULL, PRIMARY KEY (judge, question, text)) WITHOUT ROWID"
    )
    for question in range(questions):
        votes = [(1, question + 1, text, (question + text) % 2) for text in range(TEXTS)]
        db.executemany("INSERT INTO plain VALUES (?, ?, ?, ?)", votes)
    db.commit()
    db.close()


def look_up(path: Path, texts: list[str], questions: list[Question]) -> int:
    """Count the votes in the cache, and check their checksums."""
    cache = Cache(path)
    votes, _ = cache.votes("cheap-0", questions, texts)
    cache.close()
    return int((votes != UNASKED).sum())


def look_up_plainly(path: Path, questions: int) -> int:
    """Count the votes in a table without checksums."""
    db = sqlite3.connect(path)
    tables = []  # held together, as the cache holds its votes
    for question in range(questions):
        rows = db.execute(FIND, (question + 1, TEXTS)).fetchall()
        tables.append(np.array(rows, dtype=np.int64))
    db.close()
    return sum(len(table) for table in tables)


if __name__ == "__main__":
    main()
