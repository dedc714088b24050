"""How often each judge says yes, and what shows that a judge is broken.

A broken judge makes an ensemble's scores better, not worse: where it is alone with its vote, the cell (an image and a
class) has no agreement and is ignored, among others the cells in which the response misses an object.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.votes import UNASKED, YES
from halluscope.naming import named
from halluscope.sanitize import one_line

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]

# With fewer cells, a share says nothing about a judge.
LEAST_CELLS = 100

# The share of yes among present cells below which a judge is broken
LEAST_YES = 0.05
# and that among absent cells above which it is
MOST_YES = 0.95

# THRONE prints ignored shares of 2.4 to 8.5 %.
MOST_IGNORED = 0.2


@dataclass(frozen=True)
class YesCount:
    """What a judge said about cells that are alike."""

    cells: int  # all cells of this kind
    asked_cells: int  # those about which the judge was asked
    votes: int  # its votes on them, one for each of its questions
    yes: int  # how many of its votes are yes

    @property
    def share(self) -> float | None:
        if self.votes == 0:
            return None
        return self.yes / self.votes

    @property
    def is_selected(self) -> bool:
        """Whether the votes before this judge's chose the cells that it was asked about."""
        return self.asked_cells < self.cells

    def is_below(self, limit: float) -> bool:
        return self.asked_cells >= LEAST_CELLS and self.yes < limit * self.votes

    def is_above(self, limit: float) -> bool:
        return self.asked_cells >= LEAST_CELLS and self.yes > limit * self.votes


@dataclass(frozen=True)
class JudgeCounts:
    """How often a judge says yes about objects that are in the images, and about others."""

    judge: str
    present: YesCount
    absent: YesCount


def count_yes(votes: NDArray[np.int8], present: Flags, judges: Sequence[str]) -> list[JudgeCounts]:
    """Count each judge's votes.

    Args:
        votes: codes [images, classes, judges x questions].
        present: whether a class is in an image: [images, classes].
        judges: the judges' names.
    """
    columns = votes.shape[-1]
    questions = columns // len(judges)
    cells_present = int(np.count_nonzero(present))
    cells_absent = present.size - cells_present
    yes_present, yes_absent = _counts_of(votes == YES, present)
    is_asked = votes != UNASKED
    if is_asked.all():
        asked_present = np.full(columns, cells_present)
        asked_absent = np.full(columns, cells_absent)
    else:
        asked_present, asked_absent = _counts_of(is_asked, present)
    counts = []
    for number, judge in enumerate(judges):
        of_judge = slice(number * questions, (number + 1) * questions)
        of_present = _yes_count(cells_present, asked_present[of_judge], yes_present[of_judge])
        of_absent = _yes_count(cells_absent, asked_absent[of_judge], yes_absent[of_judge])
        counts.append(JudgeCounts(judge, of_present, of_absent))
    return counts


def _counts_of(table: Flags, present: Flags) -> tuple[Numbers, Numbers]:
    """Count the true values in each column of [images, classes, columns], in present and in absent cells."""
    columns = table.shape[-1]
    cells = table.reshape(-1, columns)
    # Summing over images first is ten times as fast as over all cells.
    everywhere = table.sum(axis=0, dtype=np.int32).sum(axis=0, dtype=np.int64)
    in_present = cells[np.flatnonzero(present)].sum(axis=0, dtype=np.int64)
    return in_present, everywhere - in_present


def _yes_count(cells: int, votes: Numbers, yes: Numbers) -> YesCount:
    """Return a judge's count from the numbers of each of its questions; no later question is about more cells."""
    return YesCount(
        cells,
        asked_cells=int(votes.max()),
        votes=int(votes.sum()),
        yes=int(yes.sum()),
    )


def shares(counts: Sequence[JudgeCounts]) -> dict[str, dict[str, float | None]]:
    """Return each judge's share of yes among the present and the absent cells; None where it was not asked."""
    by_judge: dict[str, dict[str, float | None]] = {}
    for count in counts:
        by_judge[count.judge] = {"present": count.present.share, "absent": count.absent.share}
    return by_judge


# Warnings


def warn_of_judges(counts: Sequence[JudgeCounts]) -> None:
    """Warn of judges that say yes to hardly any present cell, or to nearly all absent ones."""
    says_no_before = False
    for count in counts:
        # Where an earlier judge says no to all, a later one that works is only asked what both deny.
        is_judged = not (count.present.is_selected and says_no_before)
        if is_judged and count.present.is_below(LEAST_YES):
            says_no_before = True
            warnings.warn(named(_message_of_no(count)), stacklevel=3)
        if _says_yes(count):
            warnings.warn(named(_message_of_yes(count)), stacklevel=3)


def _says_yes(count: JudgeCounts) -> bool:
    if not count.absent.is_above(MOST_YES):
        return False
    if count.absent.is_selected:
        # The judges before it said yes to all of these cells, so one that works says yes to most of them, too.
        return count.present.is_above(MOST_YES)
    return True


def _message_of_no(count: JudgeCounts) -> str:
    return (
        f"The judge {_name(count)} says yes to {_tally(count.present)} questions about objects that are in the images"
        f"{_selection(count.present)}. Either it says no to nearly everything, or the responses name hardly any object "
        f"that is there. {ADVICE}"
    )


def _message_of_yes(count: JudgeCounts) -> str:
    return (
        f"The judge {_name(count)} says yes to {_tally(count.absent)} questions about objects that are not in the "
        f"images{_selection(count.absent)}. It says yes to nearly everything, which makes an ensemble's recall too "
        f"high. {ADVICE}"
    )


ADVICE = (
    "Look at some of its votes (score --out FOLDER, then report FOLDER), and mend it or leave it out (--judges, in "
    "Python judges or votes)."
)


def _name(count: JudgeCounts) -> str:
    return one_line(count.judge, 80)


def _tally(count: YesCount) -> str:
    return f"{count.yes:,} of {count.votes:,}"


def _selection(count: YesCount) -> str:
    if not count.is_selected:
        return ""
    return (
        f" (it was asked about {count.asked_cells:,} of {count.cells:,} such objects, where earlier votes left the "
        "label open; ask='all', --ask all, asks about all)"
    )


def warn_of_ignored(ignored: int, present: int, counts: Sequence[JudgeCounts]) -> None:
    """Warn if many of the present cells are ignored, because too few votes agree on them."""
    if present < LEAST_CELLS or ignored <= MOST_IGNORED * present:
        return
    of_judges = []
    for count in counts:
        if count.present.votes:
            of_judges.append(f"{_name(count)} {_tally(count.present)}")
    warnings.warn(
        named(
            f"{ignored:,} of {present:,} objects that are in the images are ignored, because too few votes agree on "
            f"them. The scores are about the rest; if one judge is broken, recall is too high. Yes to questions about "
            f"objects that are in the images: {'; '.join(of_judges)}. Leave out a judge that is far from the others "
            "(--judges, in Python judges or votes), or let fewer votes agree (--agreement)."
        ),
        stacklevel=3,
    )
