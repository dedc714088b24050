"""HallusionBench's scores: counts per set first, then ratios, then resampled sets.

Every score is a part divided by a whole, and both are sums over sets of questions. Sources: HallusionBench, equations 2
to 7, sections 4.3.2 and 4.3.4, Figure 3; and the authors' script, where the paper leaves something open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halluscope import limits
from halluscope.benchmarks.hallusionbench.rows import DEPENDENT, EDITED, NO_VISUAL, SUPPLEMENT, VisualQuestion
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
    group: Ints  # the number of its category and subcategory
    # the row of the control question of its pair (a control question's own row), or `NO_CONTROL`
    control: Ints
    groups: list[str]  # the names of the categories and subcategories, such as "VD/ocr"

    @classmethod
    def of(cls, questions: Sequence[VisualQuestion]) -> "Layout":
        """Return the layout of questions, in their order."""
        controls = {question.pair: row for row, question in enumerate(questions) if question.figure_id == 0}
        visual = np.array([question.visual_input for question in questions])
        groups = list(dict.fromkeys(question.group for question in questions))
        what = f"A table of {len(questions):,} questions by {len(groups):,} subcategories"
        limits.check("cells", len(questions) * len(groups), what)
        return cls(
            yes=np.array([question.yes for question in questions]),
            no_visual=visual == NO_VISUAL,
            edited=visual == EDITED,
            supplement=np.array([question.category == SUPPLEMENT for question in questions]),
            pair=numbers([question.pair for question in questions]),
            figure=numbers([question.figure or "" for question in questions]),
            set=numbers([question.set for question in questions]),
            group=numbers([question.group for question in questions]),
            control=np.array([controls.get(question.pair, NO_CONTROL) for question in questions]),
            groups=groups,
        )

    @property
    def sets(self) -> int:
        """How many sets there are; an interval resamples them."""
        return int(self.set.max()) + 1

    @property
    def categories(self) -> dict[str, Bools]:
        """The rows of each category that occurs: "VD" and "VS"."""
        rows = {DEPENDENT: ~self.supplement, SUPPLEMENT: self.supplement}
        return {category: among for category, among in rows.items() if among.any()}

    @property
    def is_control(self) -> Bools:
        """Whether a row is a control question."""
        return np.equal(self.control, np.arange(len(self.control)))


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


def diagnose(layout: Layout, correctness: Ints, same: Bools) -> Ints:
    """Return how each response failed: a code of `FAILURES` (Figure 3).

    - Without a visual, a wrong response is language hallucination.
    - A wrong response that agrees with a correct response to the control question is mixed in VD. In VS, where the
      control question has no visual, it is language hallucination if it is about an edited image. (The paper's third
      principle says language hallucination for both; the authors' script counts VD as mixed, and so do its scores.)
    - In VS with a visual, after a wrong response to the control question: language hallucination if the response is
      wrong and agrees with it, mixed if it is wrong in another way or uncertain.
    - Every other failure is visual illusion.
    """
    wrong, uncertain = correctness == INCORRECT, correctness == UNCERTAIN
    kept = needs_same(layout, correctness) & same
    control_wrong = layout.supplement & ~layout.is_control & (correctness[layout.control] == INCORRECT)
    language = (layout.no_visual & wrong) | (layout.supplement & kept)
    mixed = (~layout.supplement & kept) | (control_wrong & (uncertain | (wrong & ~same)))
    failed = ~right(layout, correctness)
    failure = np.select([~failed, language, mixed], [NO_FAILURE, LANGUAGE, MIXED], VISION)
    return failure.astype(np.int64)


def said_yes_officially(layout: Layout, correctness: Ints) -> Bools:
    """Whether the authors' script infers a yes: right where yes is right, or not right where no is right."""
    return np.equal(right(layout, correctness), layout.yes)


def tally(
    layout: Layout, correctness: Ints, same: Bools | None, said_yes: Bools, read: Bools | None = None
) -> Tally:
    """Count a model's responses, by set."""
    good = right(layout, correctness)
    read = np.ones(len(good), dtype=bool) if read is None else read
    visual = ~layout.no_visual
    rows = _Rows(layout.set)
    pairs, figures = _Groups(layout.pair, layout.set), _Groups(layout.figure, layout.set)
    counts: dict[str, tuple[Ints | Floats, Ints]] = {
        "aAcc": rows.share(good),
        "qAcc": pairs.all(good),
        "fAcc": figures.all(good, visual),
        "easy_aAcc": pairs.all(good, ~layout.edited),
        "hard_aAcc": pairs.all(good, layout.edited),
        "pct_diff": (rows.count(said_yes & read) - rows.count(layout.yes & read), rows.count(read)),
        "fp_ratio": rows.share(said_yes, ~good & read),
        "correct": figures.all(good, visual),
        "inconsistent": figures.some(good, visual),
        "wrong": figures.all(~good, visual),
        "figure_score": figures.mean(good, visual),
    }
    failure = diagnose(layout, correctness, same) if same is not None else np.zeros_like(correctness)
    whole = ~good if same is not None else np.zeros_like(good)
    for code in (LANGUAGE, VISION, MIXED):
        counts[FAILURES[code]] = rows.share(failure == code, whole)
    for category, among in layout.categories.items():
        counts |= {
            f"aAcc/{category}": rows.share(good, among),
            f"qAcc/{category}": pairs.all(good, among),
            f"fAcc/{category}": figures.all(good, among & visual),
            f"easy_aAcc/{category}": pairs.all(good, among & ~layout.edited),
            f"hard_aAcc/{category}": pairs.all(good, among & layout.edited),
            f"figure_score/{category}": figures.mean(good, among & visual),
        }
    for number, name in enumerate(layout.groups):
        counts[f"aAcc/{name}"] = rows.share(good, layout.group == number)
    return counts


def counted(layout: Layout) -> dict[str, dict[str, int]]:
    """Return how many questions and figures the authors' script counts per category, before it prints a score."""
    visual = ~layout.no_visual
    return {
        category: {
            "easy_questions": int((among & ~layout.edited).sum()),
            "hard_questions": int((among & layout.edited).sum()),
            "figures": len(np.unique(layout.figure[among & visual])),
        }
        for category, among in layout.categories.items()
    }


def chance(layout: Layout) -> dict[str, float]:
    """Return the expected scores of a model that tosses a coin for yes or no; the diagnosis is undefined."""
    everything = np.ones(len(layout.yes), dtype=bool)
    whole = _chance(layout, everything)
    yes = float(layout.yes.mean())
    return {
        **whole,
        "pct_diff": 0.5 - yes,
        "fp_ratio": 1 - yes,
        "correct": whole["fAcc"],
        "inconsistent": 1 - 2 * whole["fAcc"],
        "wrong": whole["fAcc"],
        **dict.fromkeys(FAILURES[1:], np.nan),
        **{
            f"{score}/{category}": value
            for category, among in layout.categories.items()
            for score, value in _chance(layout, among).items()
        },
        **{f"aAcc/{name}": 0.5 for name in layout.groups},
    }


def _chance(layout: Layout, among: Bools) -> dict[str, float]:
    """Return the expected accuracies of a coin on some of the rows."""
    edited, visual = among & layout.edited, among & ~layout.no_visual
    return {
        "aAcc": 0.5,
        "qAcc": _mean_half(layout.pair[among]),
        "fAcc": _mean_half(layout.figure[visual]),
        "easy_aAcc": _mean_half(layout.pair[among & ~edited]),
        "hard_aAcc": _mean_half(layout.pair[edited]),
        "figure_score": 0.5 if visual.any() else np.nan,
    }


class _Rows:
    """Counts rows by set."""

    def __init__(self, sets: Ints) -> None:
        self._sets, self._number = sets, int(sets.max()) + 1

    def count(self, rows: Bools) -> Ints:
        return np.bincount(self._sets[rows], minlength=self._number)

    def share(self, part: Bools, whole: Bools | None = None) -> tuple[Ints, Ints]:
        whole = np.ones_like(part) if whole is None else whole
        return self.count(part & whole), self.count(whole)


class _Groups:
    """Counts groups of rows (pairs or figures) by set; each group is in one set."""

    def __init__(self, groups: Ints, sets: Ints) -> None:
        self._groups, self._number = groups, int(groups.max()) + 1
        self._sets_of = sets[np.unique(groups, return_index=True)[1]]
        self._rows = _Rows(self._sets_of)
        self._sets = int(sets.max()) + 1

    def all(self, good: Bools, among: Bools | None = None) -> tuple[Ints, Ints]:
        """Count, by set, the groups whose rows in `among` are all good, and the groups with any row in `among`."""
        total, hits = self._totals(good, among)
        return self._by_set((hits == total) & (total > 0)), self._by_set(total > 0)

    def some(self, good: Bools, among: Bools | None = None) -> tuple[Ints, Ints]:
        """Count, by set, the groups with some but not all rows in `among` good, and the groups with any row there."""
        total, hits = self._totals(good, among)
        return self._by_set((hits > 0) & (hits < total)), self._by_set(total > 0)

    def mean(self, good: Bools, among: Bools) -> tuple[Floats, Ints]:
        """Sum, by set, each group's share of good rows in `among`, and count the groups with any row there."""
        total, hits = self._totals(good, among)
        share = np.divide(hits, total, out=np.zeros(len(total)), where=total > 0)
        sums: Floats = np.zeros(self._sets)
        np.add.at(sums, self._sets_of, share)
        return sums, self._by_set(total > 0)

    def _totals(self, good: Bools, among: Bools | None) -> tuple[Ints, Ints]:
        among = np.ones_like(good) if among is None else among
        total = np.bincount(self._groups[among], minlength=self._number)
        return total, np.bincount(self._groups[among & good], minlength=self._number)

    def _by_set(self, groups: Bools) -> Ints:
        counts = self._rows.count(groups)
        return np.pad(counts, (0, self._sets - len(counts)))


def _mean_half(groups: Ints) -> float:
    """Return the mean over groups of 0.5 to the power of the group's size: the chance that all its rows are right."""
    sizes = np.unique(groups, return_counts=True)[1]
    return float(np.mean(0.5**sizes)) if len(sizes) else float("nan")
