"""HallusionBench's scores: counts per set first, then ratios, then resampled sets.

Every score is a part divided by a whole, and both are sums over sets of questions. Sources: HallusionBench, equations 2
to 7, sections 4.3.2 and 4.3.4, Figure 3; and the authors' script, where the paper leaves something open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope import limits
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, numbers

INCORRECT, CORRECT, UNCERTAIN = 0, 1, 2  # Verdicts on a response (section 4.1)

NO_FAILURE, LANGUAGE, VISION, MIXED = 0, 1, 2, 3
# The kinds of failure, by their codes (Figure 3).
FAILURES = ("", "language_hallucination", "visual_illusion", "mixed")

NO_CONTROL = -1


@dataclass(frozen=True)
class Layout:
    """Which rows belong together. All arrays are [rows]."""

    yes: Bools  # whether yes is the right answer
    no_visual: Bools  # whether the question is asked without an image
    edited: Bools  # whether it is asked about an edited image
    supplement: Bools  # whether its category is VS
    pair: Ints  # the number of its control pair
    figure: Ints  # the number of its figure; rows without a visual share a number that is not counted
    set: Ints  # the number of its set
    # the row of the control question of its pair (a control question's own row), or `NO_CONTROL`
    control: Ints
    # its rows by category ("VD" and "VS", those that occur), and by category and subcategory, such as "VD/ocr"
    categories: dict[str, Bools]
    groups: dict[str, Bools]

    @classmethod
    def of(cls, questions: Sequence[Any]) -> "Layout":
        controls = {question.pair: row for row, question in enumerate(questions) if question.figure_id == 0}
        visual = np.array([question.visual_input for question in questions])
        category = np.array([question.category for question in questions])
        group = np.array([question.group for question in questions])
        groups = list(dict.fromkeys(group.tolist()))
        what = f"A table of {len(questions):,} questions by {len(groups):,} subcategories"
        limits.check("cells", len(questions) * len(groups), what)
        return cls(
            yes=np.array([question.yes for question in questions]),
            no_visual=visual == 0,
            edited=visual == 2,
            supplement=category == "VS",
            pair=numbers([question.pair for question in questions]),
            figure=numbers([question.figure or "" for question in questions]),
            set=numbers([question.set for question in questions]),
            control=np.array([controls.get(question.pair, NO_CONTROL) for question in questions]),
            categories={name: category == name for name in ("VD", "VS") if name in category},
            groups={name: group == name for name in groups},
        )

    @property
    def is_control(self) -> Bools:
        return np.equal(self.control, np.arange(len(self.control)))

    def count(self, rows: Bools) -> Ints:
        return np.bincount(self.set[rows], minlength=int(self.set.max()) + 1)


def right(layout: Layout, correctness: Ints) -> Bools:
    """Whether a response is right (equation 2): correct, or uncertain if there is no visual."""
    good: Bools = (correctness == CORRECT) | (layout.no_visual & (correctness == UNCERTAIN))
    return good


def needs_same(layout: Layout, correctness: Ints) -> Bools:
    """Whether a diagnosis depends on agreement with the response to the control question: [rows]."""
    wrong = correctness == INCORRECT
    control = correctness[layout.control]
    dependent = ~layout.supplement & (control == CORRECT)
    supplement = layout.supplement & ((control == INCORRECT) | (layout.edited & (control == CORRECT)))
    needed: Bools = wrong & ~layout.is_control & (dependent | supplement)
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
    control_wrong = layout.supplement & ~layout.is_control & (correctness[layout.control] == INCORRECT)
    language = (layout.no_visual & wrong) | (kept if by == "paper" else layout.supplement & kept)
    mixed = (~layout.supplement & kept) | (control_wrong & (uncertain | (wrong & ~same)))
    failed = ~right(layout, correctness)
    failure = np.select([~failed, language, mixed], [NO_FAILURE, LANGUAGE, MIXED], VISION)
    return failure.astype(np.int64)


def tally(layout: Layout, good: Bools, failure: Ints | None, said_yes: Bools, read: Bools) -> Tally:
    """Count a model's responses, by set.

    Args:
        layout: which rows belong together.
        good: which responses are right: [rows].
        failure: how each response failed, a code of `FAILURES`: [rows]; None without a diagnosis.
        said_yes: which responses say yes: [rows].
        read: which responses could be read as yes or no, or are known by their verdict: [rows].
    """
    visual, every = ~layout.no_visual, np.ones_like(good)
    count = layout.count
    counts: dict[str, tuple[Ints | Floats, Ints]] = {}
    for name, among in {"": every, **layout.categories}.items():
        end = name and f"/{name}"
        seen = among & visual
        counts[f"aAcc{end}"] = count(good & among), count(among)
        counts[f"qAcc{end}"] = _shares(layout, layout.pair, good, among)["all"]
        counts[f"fAcc{end}"] = _shares(layout, layout.figure, good, seen)["all"]
        counts[f"easy_aAcc{end}"] = _shares(layout, layout.pair, good, among & ~layout.edited)["all"]
        counts[f"hard_aAcc{end}"] = _shares(layout, layout.pair, good, among & layout.edited)["all"]
        counts[f"figure_score{end}"] = _shares(layout, layout.figure, good, seen)["mean"]
    figures = _shares(layout, layout.figure, good, visual)
    counts |= {"correct": figures["all"], "inconsistent": figures["some"], "wrong": figures["none"]}
    counts["pct_diff"] = count(said_yes & read) - count(layout.yes & read), count(read)
    counts["fp_ratio"] = count(said_yes & ~good & read), count(~good & read)
    for code in (LANGUAGE, VISION, MIXED):
        whole = ~good if failure is not None else np.zeros_like(good)
        counts[FAILURES[code]] = count(whole & (failure == code)), count(whole)
    return counts | {
        f"aAcc/{name}": (count(good & among), count(among)) for name, among in layout.groups.items()
    }


def _shares(layout: Layout, group: Ints, good: Bools, among: Bools) -> dict[str, tuple[Ints | Floats, Ints]]:
    """Count, by set, the groups (pairs or figures) whose rows in `among` are all, in part, or not at all good.

    "mean" sums each group's share of good rows. The whole is the number of groups with any row in `among`.
    """
    total = np.bincount(group[among], minlength=int(group.max()) + 1)
    hits = np.bincount(group[among & good], minlength=len(total))
    sets = layout.set[np.unique(group, return_index=True)[1]]  # each group is in one set
    there, number = total > 0, int(layout.set.max()) + 1

    def by_set(groups: Bools | Floats) -> Any:
        return np.bincount(sets, weights=groups, minlength=number)

    whole = by_set(there).astype(np.int64)
    parts = {
        "all": there & (hits == total),
        "some": (hits > 0) & (hits < total),
        "none": there & (hits == 0),
        "mean": np.divide(hits, total, out=np.zeros(len(total)), where=there),
    }
    return {name: (by_set(part), whole) for name, part in parts.items()}


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
    scores: dict[str, float] = {}
    for name, among in {"": np.ones(len(layout.yes), dtype=bool), **layout.categories}.items():
        edited, visual, end = among & layout.edited, among & ~layout.no_visual, name and f"/{name}"
        scores |= {
            f"aAcc{end}": 0.5,
            f"qAcc{end}": _mean_half(layout.pair[among]),
            f"fAcc{end}": _mean_half(layout.figure[visual]),
            f"easy_aAcc{end}": _mean_half(layout.pair[among & ~edited]),
            f"hard_aAcc{end}": _mean_half(layout.pair[edited]),
            f"figure_score{end}": 0.5 if visual.any() else np.nan,
        }
    yes, figures = float(layout.yes.mean()), scores["fAcc"]
    return {
        **scores,
        **{"pct_diff": 0.5 - yes, "fp_ratio": 1 - yes},
        **{"correct": figures, "inconsistent": 1 - 2 * figures, "wrong": figures},
        **dict.fromkeys(FAILURES[1:], np.nan),
        **{f"aAcc/{name}": 0.5 for name in layout.groups},
    }


def _mean_half(groups: Ints) -> float:
    """Return the mean over groups of 0.5 to the power of the group's size: the chance that all its rows are right."""
    sizes = np.unique(groups, return_counts=True)[1]
    return float(np.mean(0.5**sizes)) if len(sizes) else float("nan")
