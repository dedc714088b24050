"""Whether a response says yes, no, or that it cannot tell, by the rules of the judges that ask no model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from halluscope.benchmarks.hallusionbench.data import Question
from halluscope.benchmarks.hallusionbench.diagnosis import UNCERTAIN
from halluscope.benchmarks.hallusionbench.given import UNREAD
from halluscope.benchmarks.hallusionbench.layout import Layout
from halluscope.judging import free_text
from halluscope.responses import parsers
from halluscope.responses.read_otherwise import Readings, warn_if_read_otherwise
from halluscope.stats.tallies import Ints

# What a response says, as a code; uncertain has the code of the verdict
NO = 0
YES = 1
CODES = {free_text.NO: NO, free_text.YES: YES, free_text.UNCERTAIN: UNCERTAIN, None: UNREAD}


class Rule(ABC):
    """Reads responses."""

    name: str  # of the judge
    key: str  # its name in a signature, with its version

    @abstractmethod
    def word(self, text: str, question: str) -> str | None:
        """Return "yes", "no" or "uncertain"; None for a response that cannot be read."""

    def read(self, texts: Sequence[str], questions: Sequence[Question]) -> Ints:
        """Return what responses say: codes [rows]."""
        words = []
        for text, question in zip(texts, questions, strict=True):
            words.append(self.word(text, question.question))
        return np.array([CODES[word] for word in words])


class OurRule(Rule):
    """This project's rule."""

    name = "rules"
    key = free_text.KEY

    def word(self, text: str, question: str) -> str | None:
        return free_text.read(text, question).answer


class VLMEvalKitRule(Rule):
    """The rule of VLMEvalKit without its judge."""

    name = "vlmevalkit"
    key = "vlmevalkit"

    def word(self, text: str, question: str) -> str | None:
        return parsers.word_of(parsers.vlmevalkit(text))


OUR_RULE = OurRule()
RULES: dict[str, Rule] = {OUR_RULE.name: OUR_RULE, VLMEvalKitRule.name: VLMEvalKitRule()}


def correctness_of(answers: Ints, layout: Layout) -> Ints:
    """Return the verdicts on answers, which are compared with the right ones."""
    is_yes_or_no = (answers == NO) | (answers == YES)
    return np.where(is_yes_or_no, answers == layout.yes, answers)


def sameness_of(answers: Ints, layout: Layout) -> Ints:
    """Return whether answers are those to the control question; `UNREAD` if either cannot be read."""
    control = answers[layout.control]
    is_unread = (answers == UNREAD) | (control == UNREAD)
    return np.where(is_unread, UNREAD, answers == control)


def warn_if_ours_differs(
    rule: Rule, answers: Ints, texts: Sequence[str], questions: Sequence[Question], layout: Layout
) -> None:
    """Warn if a published rule reads many responses otherwise than ours does."""
    if rule is OUR_RULE:
        return
    by_ours = OUR_RULE.read(texts, questions)
    by_ours[by_ours == UNCERTAIN] = UNREAD
    right = np.where(layout.yes, YES, NO)
    readings = Readings(
        texts,
        rule.name,
        answers,
        by_ours,
        right,
        word_of=word_of,
        strict=OUR_RULE.name,
        option="judge",
    )
    warn_if_read_otherwise(readings)


def word_of(code: int) -> str | None:
    """Return yes or no; None for any other code."""
    return {NO: free_text.NO, YES: free_text.YES}.get(code)
