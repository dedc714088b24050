"""Which of HallusionBench's questions belong together, and which of them a protocol counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from halluscope.benchmarks.hallusionbench.data import CATEGORIES, EDITED, NO_VISUAL, Question
from halluscope.benchmarks.hallusionbench.given import Given
from halluscope.stats.tallies import Bools, Ints, numbers, rows_by

# Whose counting rules are used: the values of the option `protocol`
OFFICIAL = "official"
LMMS_EVAL = "lmms-eval"
VLMEVALKIT = "vlmevalkit"
PROTOCOLS = (OFFICIAL, LMMS_EVAL, VLMEVALKIT)

# How many of the dataset's questions a protocol counts
QUESTIONS_OF_PROTOCOL = {OFFICIAL: 1129, LMMS_EVAL: 951, VLMEVALKIT: 951}

NO_CONTROL = -1


def is_counted(question: Question, protocol: str) -> bool:
    """Whether a protocol counts a question: the harnesses count those with a visual, 951 of 1,129."""
    return protocol == OFFICIAL or question.visual_input != NO_VISUAL


class Layout:
    """Which rows belong together. All arrays are [rows]."""

    def __init__(self, questions: Sequence[Question]) -> None:
        visual_input = np.array([question.visual_input for question in questions])
        category = [question.category for question in questions]
        group = [question.group for question in questions]

        # Whether yes is the right answer
        self.yes: Bools = np.array([question.yes for question in questions])
        self.no_visual: Bools = visual_input == NO_VISUAL
        self.edited: Bools = visual_input == EDITED
        self.supplement: Bools = np.array(category) == "VS"

        # The number of its control pair, of its figure, and of its set. Rows without a visual share a figure's number,
        # which is not counted.
        self.pair: Ints = numbers([question.pair for question in questions])
        self.figure: Ints = numbers([question.figure for question in questions])
        self.set: Ints = numbers([question.set for question in questions])

        # The row of the control question of its pair (a control question's own row), or `NO_CONTROL`
        self.control: Ints = controls_of(questions)

        # Its rows by category (those that occur), and by category and subcategory, such as "VD/ocr"
        self.categories = rows_by(category, CATEGORIES)
        self.groups = rows_by(group, dict.fromkeys(group))


def controls_of(questions: Sequence[Question]) -> Ints:
    """Return the row of each question's control question, or `NO_CONTROL`."""
    control_of_pair = {}
    for row, question in enumerate(questions):
        if question.figure_id == 0:
            control_of_pair[question.pair] = row
    controls = [control_of_pair.get(question.pair, NO_CONTROL) for question in questions]
    return np.array(controls)


@dataclass(frozen=True)
class Scored:
    """The questions that a protocol counts, and the verdicts on them that a user gives."""

    questions: Sequence[Question]
    given: Mapping[str, Given]  # "correctness" or "same" -> verdicts; those that are not given are lacking

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.questions)

    def without_control(self) -> list[int]:
        """Return the rows whose control question is missing."""
        rows: list[Any] = np.flatnonzero(self.layout.control == NO_CONTROL).tolist()
        return rows
