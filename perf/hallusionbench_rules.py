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
from pathlib import Path
from typing import Any

from tabulate import tabulate

from halluscope.benchmarks.hallusionbench import metric as hallusionbench
from halluscope.benchmarks.hallusionbench.data import QUESTIONS
from halluscope.judging import free_text
from halluscope.reporting.tables import percent

JOINED_BY = ("category", "subcategory", "set_id", "figure_id", "question")


def main() -> None:
    """Join, read, and print how many responses were right and how many could not be read."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--show", action="store_true", help="print the responses that could not be read")
    options = parser.parse_args()
    folder = options.upstream / "hallusionbench"
    rows = json.loads((folder / "HallusionBench.json").read_text(encoding="utf-8"))
    answers = json.loads((folder / "HallusionBench_result_sample.json").read_text(encoding="utf-8"))
    today = {_key(row): row for row in rows}
    joined = [
        (today[_key(answer)], answer["model_prediction"]) for answer in answers if _key(answer) in today
    ]
    print(f"{len(answers)} responses, {len(joined)} joined to a current question\n")
    questions = QUESTIONS.read_all([row for row, _ in joined])
    report([(question, text) for question, (_, text) in zip(questions, joined, strict=True)], options.show)
    score(joined)


def score(answered: list[tuple[dict[str, Any], str]]) -> None:
    """Print the metric's main scores on the joined questions."""
    result = hallusionbench.compute([text for _, text in answered], [row for row, _ in answered])
    names = ("aAcc", "qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "unread")
    print("\n" + ", ".join(f"{name} {percent(result[name])} %" for name in names))


def report(answered: list[tuple[Any, str]], show: bool) -> None:
    """Print tables by rule and by role."""
    readings = [(question, text, free_text.read(text, question.question)) for question, text in answered]
    by_rule = Counter((reading.rule, reading.answer) for _, _, reading in readings)
    right: Counter[tuple[str, str | None]] = Counter(
        (reading.rule, reading.answer)
        for question, _, reading in readings
        if reading.answer == (free_text.YES if question.yes else free_text.NO)
    )
    table = [[rule, answer or "-", n, right[rule, answer]] for (rule, answer), n in by_rule.most_common()]
    print(tabulate(table, ["rule", "read as", "responses", "right"]))
    print()
    print(tabulate([_row(role, readings) for role in (None, "no_visual", "original", "edited")], _HEADER))
    if show:
        print()
        for question, text, reading in readings:
            if reading.answer is None:
                print(f"- {question.question}\n  {text.strip()[:300]!r}")


_HEADER = [
    "asked about",
    "responses",
    "correct",
    "incorrect",
    "uncertain",
    "unread",
    "accuracy among read responses, %",
]


def _row(role: str | None, readings: list[tuple[Any, str, free_text.Reading]]) -> list[Any]:
    about = [(question, reading.answer) for question, _, reading in readings if role in (None, question.role)]
    right = sum(answer == (free_text.YES if question.yes else free_text.NO) for question, answer in about)
    counts = Counter(answer for _, answer in about)
    wrong = counts[free_text.YES] + counts[free_text.NO] - right
    accuracy = percent(right / (right + wrong)) if right + wrong else "-"
    return [role or "all", len(about), right, wrong, counts[free_text.UNCERTAIN], counts[None], accuracy]


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[field].strip() for field in JOINED_BY)


if __name__ == "__main__":
    main()
