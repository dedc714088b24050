"""Counts how the judge `rules` reads a real model's free-text responses to HallusionBench.

    python perf/hallusionbench_rules.py UPSTREAM

UPSTREAM is a folder with hallusionbench/HallusionBench.json and HallusionBench_result_sample.json, from
tianyi-lab/HallusionBench. The sample answers some of the questions, and gives other right answers and visuals for some
of these than the current file. So each response is joined to the current question with the same text, category,
subcategory, set and figure.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from halluscope.benchmarks.hallusionbench import metric as hallusionbench
from halluscope.benchmarks.hallusionbench.data import QUESTIONS
from halluscope.judging import free_text
from halluscope.reporting.tables import percent

JOINED_BY = ("category", "subcategory", "set_id", "figure_id", "question")
SCORES = ("aAcc", "qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "unread")
ROLES = ("no_visual", "original", "edited")
HEADER = [
    "asked about",
    "responses",
    "correct",
    "incorrect",
    "uncertain",
    "unread",
    "accuracy among read responses, %",
]


@dataclass(frozen=True)
class Response:
    """A response to a current question."""

    row: Mapping[str, Any]  # the question's, in the current file
    text: str


@dataclass(frozen=True)
class Read:
    """How a response was read."""

    question: Any
    text: str
    reading: free_text.Reading

    @property
    def is_right(self) -> bool:
        right = free_text.NO
        if self.question.yes:
            right = free_text.YES
        return self.reading.answer == right


def main() -> None:
    """Join, read, and print how many responses were right and how many could not be read."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--show", action="store_true", help="print the responses that could not be read")
    options = parser.parse_args()
    responses = joined(options.upstream / "hallusionbench")
    questions = QUESTIONS.read_all([response.row for response in responses])
    readings = []
    for question, response in zip(questions, responses, strict=True):
        reading = free_text.read(response.text, question.question)
        readings.append(Read(question, response.text, reading))
    print(rules_table(readings))
    print()
    print(roles_table(readings))
    if options.show:
        print_unread(readings)
    print_scores(responses)


def joined(folder: Path) -> list[Response]:
    """Return the sample's responses to current questions, and print how many there are."""
    rows = json.loads((folder / "HallusionBench.json").read_text(encoding="utf-8"))
    answers = json.loads((folder / "HallusionBench_result_sample.json").read_text(encoding="utf-8"))
    current = {key_of(row): row for row in rows}
    responses = []
    for answer in answers:
        row = current.get(key_of(answer))
        if row is not None:
            responses.append(Response(row, answer["model_prediction"]))
    print(f"{len(answers)} responses, {len(responses)} joined to a current question\n")
    return responses


def key_of(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[field].strip() for field in JOINED_BY)


def rules_table(readings: Sequence[Read]) -> str:
    """Return how many responses each rule read, and as what."""
    counts: Counter[tuple[str, str | None]] = Counter()
    right: Counter[tuple[str, str | None]] = Counter()
    for read in readings:
        key = (read.reading.rule, read.reading.answer)
        counts[key] += 1
        right[key] += read.is_right
    lines = []
    for (rule, answer), count in counts.most_common():
        lines.append([rule, answer or "-", count, right[rule, answer]])
    return tabulate(lines, ["rule", "read as", "responses", "right"])


def roles_table(readings: Sequence[Read]) -> str:
    """Return how many responses are right, of all and by what was asked about."""
    lines = [role_line("all", readings)]
    for role in ROLES:
        lines.append(role_line(role, [read for read in readings if read.question.role == role]))
    return tabulate(lines, HEADER)


def role_line(role: str, readings: Sequence[Read]) -> list[Any]:
    right = sum(read.is_right for read in readings)
    answers = Counter(read.reading.answer for read in readings)
    decided = answers[free_text.YES] + answers[free_text.NO]
    accuracy = "-"
    if decided:
        accuracy = percent(right / decided)
    return [
        role,
        len(readings),
        right,
        decided - right,
        answers[free_text.UNCERTAIN],
        answers[None],
        accuracy,
    ]


def print_unread(readings: Sequence[Read]) -> None:
    print()
    for read in readings:
        if read.reading.answer is None:
            print(f"- {read.question.question}\n  {read.text.strip()[:300]!r}")


def print_scores(responses: Sequence[Response]) -> None:
    """Print the metric's main scores on the joined questions."""
    texts = [response.text for response in responses]
    result = hallusionbench.compute(texts, [response.row for response in responses])
    scores = [f"{name} {percent(result[name])} %" for name in SCORES]
    print("\n" + ", ".join(scores))


if __name__ == "__main__":
    main()
