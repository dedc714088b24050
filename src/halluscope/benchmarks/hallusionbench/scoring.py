"""HallusionBench's scores: counts per set first, then ratios.

Sources: HallusionBench, equations 2 to 7, sections 4.3.2 and 4.3.4, Figure 3; and the authors' script, where the paper
leaves something open.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, Ints, Tally, numbers, scores, tally_groups

INCORRECT, CORRECT, UNCERTAIN = 0, 1, 2  # Verdicts on a response (section 4.1)

NO_FAILURE, LANGUAGE, VISION, MIXED = 0, 1, 2, 3
# The kinds of failure, by their codes (Figure 3).
FAILURES = ("", "language_hallucination", "visual_illusion", "mixed")

NO_CONTROL = -1


class Layout:
    """Which rows belong together. All arrays are [rows]."""

    def __init__(self, questions: Sequence[Any]) -> None:
        def column(name: str) -> list[Any]:
            return [getattr(question, name) for question in questions]

        self.yes: Bools = np.array(column("yes"))  # whether yes is the right answer
        visual, category, group = (np.array(column(name)) for name in ("visual_input", "category", "group"))
        self.no_visual, self.edited = visual == 0, visual == 2  # no image, or an edited one
        self.supplement: Bools = category == "VS"
        # the number of its control pair, of its figure, and of its set; rows without a visual share a figure's number,
        # which is not counted
        self.pair, self.figure, self.set = (numbers(column(name)) for name in ("pair", "figure", "set"))
        # the row of the control question of its pair (a control question's own row), or `NO_CONTROL`
        controls = {one.pair: row for row, one in enumerate(questions) if one.figure_id == 0}
        self.control = np.array([controls.get(pair, NO_CONTROL) for pair in column("pair")])
        # its rows by category ("VD" and "VS", those that occur), and by category and subcategory, such as "VD/ocr"
        self.categories = {name: category == name for name in ("VD", "VS") if name in category}
        self.groups = {name: group == name for name in dict.fromkeys(group.tolist())}


def right(layout: Layout, correctness: Ints) -> Bools:
    """Whether a response is right (equation 2): correct, or uncertain if there is no visual."""
    good: Bools = (correctness == CORRECT) | (layout.no_visual & (correctness == UNCERTAIN))
    return good


def needs_same(layout: Layout, correctness: Ints) -> Bools:
    """Whether a diagnosis depends on agreement with the response to the control question: [rows]."""
    wrong = correctness == INCORRECT
    control = correctness[..., layout.control]
    dependent = ~layout.supplement & (control == CORRECT)
    supplement = (
        layout.supplement
        & ~layout.no_visual
        & ((control == INCORRECT) | (layout.edited & (control == CORRECT)))
    )
    needed: Bools = wrong & (dependent | supplement)
    return needed


def diagnose(layout: Layout, correctness: Ints, same: Bools, by: str = "script") -> Ints:
    """Return how each response failed: a code of `FAILURES` (Figure 3), by the authors' "script" or by the "paper".

    - Without a visual, a wrong response is language hallucination.
    - A wrong response that agrees with a correct response to the control question is mixed in VD. In VS, where the
      control question has no visual, it is language hallucination if it is about an edited image. (By the "paper",
      whose third principle in section 4.3.4 says so, it is language hallucination in VD too; the authors' script counts
      VD as mixed, and so do the paper's scores.)
    - In VS with a visual, after a wrong response to the control question: language hallucination if the response is
      wrong and agrees with it, mixed if it is wrong in another way or uncertain.
    - Every other failure is visual illusion.
    """
    wrong, uncertain = correctness == INCORRECT, correctness == UNCERTAIN
    kept = needs_same(layout, correctness) & same
    control_wrong = layout.supplement & ~layout.no_visual & (correctness[..., layout.control] == INCORRECT)
    language = (layout.no_visual & wrong) | (kept if by == "paper" else layout.supplement & kept)
    mixed = (~layout.supplement & kept) | (control_wrong & (uncertain | (wrong & ~same)))
    failed = ~right(layout, correctness)
    failure = np.select([~failed, language, mixed], [NO_FAILURE, LANGUAGE, MIXED], VISION)
    return failure.astype(np.int64)


def accuracies(layout: Layout, good: Floats) -> Tally:
    """Count by set how many rows, pairs and figures are right, by the chance that each row is: [rows]."""
    every, visual = np.ones(len(good), dtype=bool), ~layout.no_visual
    figures = _groups(layout.figure, good, visual)
    of_rows = {
        "aAcc": (good, every),
        "qAcc": _groups(layout.pair, good, every)["all"],
        "fAcc": figures["all"],
        "easy_aAcc": _groups(layout.pair, good, ~layout.edited)["all"],
        "hard_aAcc": _groups(layout.pair, good, layout.edited)["all"],
        "figure_score": figures["mean"],
    }
    whole = {"correct": figures["all"], "inconsistent": figures["some"], "wrong": figures["none"]}
    return {
        **tally_groups(of_rows, layout.set, layout.categories),
        **tally_groups(whole, layout.set, {}),
        **tally_groups({"aAcc": (good, every)}, layout.set, layout.groups),
    }


def _groups(group: Ints, good: Floats, among: Bools) -> dict[str, tuple[Floats, Bools]]:
    """Return, at the first of a group's rows in `among`, the chance that these are all, none or in part good, and the
    mean; and which rows are first.
    """
    rows = np.flatnonzero(among)
    number, chance, first = group[rows], good[rows], np.zeros(len(group), dtype=bool)
    first[rows[np.unique(number, return_index=True)[1]]] = True
    every, none = np.ones((2, len(group)))
    np.multiply.at(every, number, chance)
    np.multiply.at(none, number, 1 - chance)
    sums: list[Any] = [np.bincount(number, of, len(group)) for of in (chance, np.ones(len(rows)))]
    found = {"all": every, "none": none, "some": 1 - every - none, "mean": ratio(*sums)}
    return {name: (np.where(first, of[group], 0), first) for name, of in found.items()}


def tally(layout: Layout, good: Bools, failure: Ints | None, said_yes: Bools, read: Bools) -> Tally:
    """Count a model's responses, by set.

    `failure` holds codes of `FAILURES`, None without a diagnosis; `read` says which responses could be read as yes or
    no, or are known by their verdict. All are [rows].
    """
    wrong = ~good
    failed = np.zeros_like(good) if failure is None else wrong
    parts: dict[str, tuple[Floats | Bools, Bools]] = {
        "pct_diff": ((said_yes.astype(float) - layout.yes) * read, read),
        "fp_ratio": (said_yes & wrong & read, wrong & read),
        **{FAILURES[code]: (failed & (failure == code), failed) for code in (LANGUAGE, VISION, MIXED)},
    }
    return {**accuracies(layout, good.astype(float)), **tally_groups(parts, layout.set, {})}


def counted(layout: Layout) -> dict[str, dict[str, int]]:
    return {
        category: {
            "easy_questions": int((among & ~layout.edited).sum()),
            "hard_questions": int((among & layout.edited).sum()),
            "figures": len(np.unique(layout.figure[among & ~layout.no_visual])),
        }
        for category, among in layout.categories.items()
    }


def chance(layout: Layout) -> dict[str, float]:
    """Return the expected scores of a model that tosses a coin for yes or no; the diagnosis is undefined."""
    yes = float(layout.yes.mean())
    expected = scores([accuracies(layout, np.full(len(layout.yes), 0.5))])
    return {**expected, "pct_diff": 0.5 - yes, "fp_ratio": 1 - yes, **dict.fromkeys(FAILURES[1:], np.nan)}
