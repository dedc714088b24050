"""What each row adds to HallusionBench's scores (equations 3 to 7, section 4.3.2).

The scores of control pairs and of figures are added by the first of their rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from halluscope.benchmarks.hallusionbench.diagnosis import FAILURES, LANGUAGE, MIXED, VISION
from halluscope.benchmarks.hallusionbench.layout import Layout
from halluscope.judged import Adds, name_of
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, Ints


@dataclass(frozen=True)
class Verdicts:
    """One repeat's verdicts on all responses: [rows] each."""

    right: Bools
    failure: Ints | None  # codes of `FAILURES`; None without a diagnosis
    says_yes: Bools  # whether the response says yes
    is_read: Bools  # whether it is known what the response says


@dataclass(frozen=True)
class Groups:
    """How many rows of a group are right, such as of a control pair; at the first row of each group: [rows] each."""

    is_first: Bools  # whether the row is the first of its group
    all: Floats  # the chance that all rows are right
    none: Floats  # the chance that none is
    mean: Floats  # the share of right rows

    @property
    def some(self) -> Floats:
        """The chance that some rows are right, but not all."""
        return np.where(self.is_first, 1 - self.all - self.none, 0)


def groups_of(number: Ints, chance: Floats, among: Bools) -> Groups:
    """Return the groups of rows with the same number, among some rows, by the chance that each row is right."""
    rows = np.flatnonzero(among)
    group = number[rows]
    count = len(number)
    is_first = np.zeros(count, dtype=bool)
    _, first = np.unique(group, return_index=True)
    is_first[rows[first]] = True

    all_right = np.ones(count)
    none_right = np.ones(count)
    np.multiply.at(all_right, group, chance[rows])
    np.multiply.at(none_right, group, 1 - chance[rows])
    right = np.bincount(group, weights=chance[rows], minlength=count)
    size = np.bincount(group, minlength=count)
    return Groups(
        is_first,
        all=np.where(is_first, all_right[number], 0),
        none=np.where(is_first, none_right[number], 0),
        mean=np.where(is_first, ratio(right, size)[number], 0),
    )


def accuracies(layout: Layout, chance: Floats) -> dict[str, Adds]:
    """Return what rows add to the accuracies, by the chance that each row is right: [rows]."""
    every = np.ones(len(chance), dtype=bool)
    pairs = groups_of(layout.pair, chance, every)
    easy_pairs = groups_of(layout.pair, chance, ~layout.edited)
    hard_pairs = groups_of(layout.pair, chance, layout.edited)
    figures = groups_of(layout.figure, chance, ~layout.no_visual)
    accuracy = Adds(chance, every)
    also_by_category = {
        "aAcc": accuracy,
        "qAcc": Adds(pairs.all, pairs.is_first),
        "fAcc": Adds(figures.all, figures.is_first),
        "easy_aAcc": Adds(easy_pairs.all, easy_pairs.is_first),
        "hard_aAcc": Adds(hard_pairs.all, hard_pairs.is_first),
        "figure_score": Adds(figures.mean, figures.is_first),
    }
    adds = dict(also_by_category)
    adds["correct"] = Adds(figures.all, figures.is_first)
    adds["inconsistent"] = Adds(figures.some, figures.is_first)
    adds["wrong"] = Adds(figures.none, figures.is_first)
    for category, is_in in layout.categories.items():
        for score, of_all in also_by_category.items():
            adds[name_of(score, category)] = within(of_all, is_in)
    for group, is_in in layout.groups.items():
        adds[name_of("aAcc", group)] = within(accuracy, is_in)
    return adds


def within(adds: Adds, is_in: Bools) -> Adds:
    """Return what the rows of a group add."""
    return Adds(adds.values, adds.counts & is_in)


def adds_of(layout: Layout, verdicts: Verdicts) -> dict[str, Adds]:
    """Return what rows add to each score."""
    wrong = ~verdicts.right
    adds = accuracies(layout, verdicts.right.astype(float))
    difference = verdicts.says_yes.astype(float) - layout.yes
    adds["pct_diff"] = Adds(difference, verdicts.is_read)
    adds["fp_ratio"] = Adds(verdicts.says_yes, wrong & verdicts.is_read)
    for code in (LANGUAGE, VISION, MIXED):
        adds[FAILURES[code]] = adds_to_failure(code, verdicts.failure, wrong)
    return adds


def adds_to_failure(code: int, failure: Ints | None, wrong: Bools) -> Adds:
    """Return what rows add to the share of a failure among the wrong responses; nothing without a diagnosis."""
    if failure is None:
        nothing = np.zeros_like(wrong)
        return Adds(nothing, nothing)
    return Adds(failure == code, wrong)


def expected_by_chance(layout: Layout) -> dict[str, float]:
    """Return the expected scores of a model that tosses a coin for yes or no; the diagnosis is undefined."""
    expected = {}
    for name, adds in accuracies(layout, np.full(len(layout.yes), 0.5)).items():
        part = adds.values[adds.counts].sum()
        expected[name] = float(ratio(part, adds.counts.sum()))
    expected["overall"] = (expected["aAcc"] + expected["qAcc"] + expected["fAcc"]) / 3
    yes = float(layout.yes.mean())
    expected["pct_diff"] = 0.5 - yes
    expected["fp_ratio"] = 1 - yes
    for failure in FAILURES[1:]:
        expected[failure] = float("nan")
    return expected


def sizes_of(layout: Layout) -> Mapping[str, dict[str, int]]:
    """Return how many questions and figures each category has, as the authors' script prints them."""
    sizes = {}
    for category, is_in in layout.categories.items():
        sizes[category] = {
            "easy_questions": int((is_in & ~layout.edited).sum()),
            "hard_questions": int((is_in & layout.edited).sum()),
            "figures": len(np.unique(layout.figure[is_in & ~layout.no_visual])),
        }
    return sizes
