"""When a response is right, and why it fails (HallusionBench, equation 2, sections 4.1 and 4.3.4, Figure 3).

The authors' script decides where the paper leaves something open.
"""

import numpy as np

from halluscope.benchmarks.hallusionbench.layout import Layout
from halluscope.stats.tallies import Bools, Ints

# Verdicts on a response (section 4.1)
INCORRECT = 0
CORRECT = 1
UNCERTAIN = 2

# Why a response fails, by its code (Figure 3)
NO_FAILURE = 0
LANGUAGE = 1
VISION = 2
MIXED = 3
FAILURES = ("", "language_hallucination", "visual_illusion", "mixed")

# By whose rule: the values of the option `diagnosis`
SCRIPT = "script"
PAPER = "paper"


def is_right(layout: Layout, correctness: Ints) -> Bools:
    """Return whether a response is right (equation 2): correct, or uncertain if there is no visual."""
    right: Bools = (correctness == CORRECT) | (layout.no_visual & (correctness == UNCERTAIN))
    return right


def needs_same(layout: Layout, correctness: Ints) -> Bools:
    """Return whether a diagnosis depends on agreement with the response to the control question."""
    wrong = correctness == INCORRECT
    control = correctness[..., layout.control]
    dependent = ~layout.supplement & (control == CORRECT)
    after_wrong_control = control == INCORRECT
    edited_after_right_control = layout.edited & (control == CORRECT)
    supplement = layout.supplement & ~layout.no_visual & (after_wrong_control | edited_after_right_control)
    needed: Bools = wrong & (dependent | supplement)
    return needed


def diagnose(layout: Layout, correctness: Ints, same: Bools, rule: str = SCRIPT) -> Ints:
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
    wrong = correctness == INCORRECT
    uncertain = correctness == UNCERTAIN
    kept = needs_same(layout, correctness) & same
    control_wrong = layout.supplement & ~layout.no_visual & (correctness[..., layout.control] == INCORRECT)
    kept_as_language = layout.supplement & kept
    if rule == PAPER:
        kept_as_language = kept
    language = (layout.no_visual & wrong) | kept_as_language
    mixed = (~layout.supplement & kept) | (control_wrong & (uncertain | (wrong & ~same)))
    failed = ~is_right(layout, correctness)
    failure = np.select([~failed, language, mixed], [NO_FAILURE, LANGUAGE, MIXED], VISION)
    return failure.astype(np.int64)
