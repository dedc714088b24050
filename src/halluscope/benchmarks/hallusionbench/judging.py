"""Gets the verdicts on responses, and what follows from them.

Each response is judged correct, incorrect or uncertain. Where the diagnosis needs it, a judge also says whether the
response agrees with the response to the control question.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halluscope.benchmarks.hallusionbench import asking
from halluscope.benchmarks.hallusionbench.asking import CORRECTNESS, SAME
from halluscope.benchmarks.hallusionbench.counting import Verdicts
from halluscope.benchmarks.hallusionbench.diagnosis import (
    SCRIPT,
    UNCERTAIN,
    diagnose,
    is_right,
    needs_same,
)
from halluscope.benchmarks.hallusionbench.given import UNREAD
from halluscope.benchmarks.hallusionbench.judges import Judges
from halluscope.benchmarks.hallusionbench.layout import Scored
from halluscope.benchmarks.hallusionbench.options import ANSWERS, HallusionBenchOptions
from halluscope.benchmarks.hallusionbench.reading import (
    YES,
    correctness_of,
    sameness_of,
    warn_if_ours_differs,
)
from halluscope.stats.row_order import warn_if_shuffled
from halluscope.stats.tallies import Bools, Ints


@dataclass(frozen=True)
class Judgement:
    """The verdicts on all responses: [repeats, rows] each, where nothing else is said."""

    texts: Sequence[str]  # the responses, without thoughts
    correctness: Ints  # a verdict that cannot be read is uncertain
    is_unread: Bools
    right: Bools
    # whether they agree with the response to the control question; None without a diagnosis
    same: Bools | None
    failure: Ints | None  # codes of `FAILURES`; None without a diagnosis
    says_yes: Bools  # what the bias is about
    is_read: Bools
    key: Mapping[str, Any]  # who judged, and how, as in a signature
    by_model: bool  # whether a language model judged
    # the share of needed verdicts that cannot be read; None if all were given as numbers
    unread: float | None
    uncertain: float | None  # the share of responses that were read as uncertain; None if that was given
    # the number of a row -> the reply in which no correctness can be read, in the first repeat; "" where there is none
    unread_replies: Mapping[int, str]

    @property
    def repeats(self) -> int:
        return len(self.correctness)

    def each(self) -> Iterator[Verdicts]:
        """Yield the verdicts of each repeat."""
        for repeat in range(self.repeats):
            failure = None
            if self.failure is not None:
                failure = self.failure[repeat]
            yield Verdicts(self.right[repeat], failure, self.says_yes[repeat], self.is_read[repeat])


@dataclass(frozen=True)
class OfKind:
    """The verdicts of one kind, about correctness or about sameness."""

    # [repeats, rows], `UNREAD` where a verdict cannot be read; what is not needed may be anything
    codes: Ints
    # the number of a row -> the reply in which no verdict can be read, as in `Judgement`
    unread_replies: Mapping[int, str] = field(default_factory=dict)

    def unread_among(self, needed: Bools) -> Bools:
        """Return of each needed verdict whether it cannot be read: [needed]."""
        is_needed, is_unread = np.broadcast_arrays(needed, self.codes == UNREAD)
        among: Bools = is_unread[is_needed]
        return among


def judge(texts: Sequence[str], scored: Scored, options: HallusionBenchOptions) -> Judgement:
    """Check that responses to the questions that are scored can be judged, and judge them."""
    judges = Judges(scored, options)
    judges.check()
    return Judging(texts, scored, options, judges).judge()


class Judging:
    """Gets the verdicts on responses."""

    def __init__(
        self, texts: Sequence[str], scored: Scored, options: HallusionBenchOptions, judges: Judges
    ) -> None:
        self.texts = texts
        self.scored = scored
        self.layout = scored.layout
        self.options = options
        self.judges = judges
        self.answers: Ints | None = None  # what a rule reads in the responses, if one does: [rows]
        if judges.reads_responses:
            self.answers = self.read_answers()

    def read_answers(self) -> Ints:
        reader = self.judges.reader
        answers = reader.read(self.texts, self.scored.questions)
        warn_if_ours_differs(reader, answers, self.texts, self.scored.questions, self.layout)
        warn_if_shuffled((answers == YES)[:, np.newaxis], self.layout.yes[:, np.newaxis])
        return answers

    def judge(self) -> Judgement:
        all_needed = np.ones((1, len(self.scored)), dtype=bool)
        of_correctness = self.verdicts(CORRECTNESS, all_needed)
        codes = of_correctness.codes
        unread = []  # of the needed verdicts that are read from texts, whether they cannot be
        if self.judges.are_read(CORRECTNESS):
            unread.append(of_correctness.unread_among(all_needed))

        same = None
        if self.options.diagnoses:
            needed = needs_same(self.layout, or_uncertain(codes))
            of_sameness = self.verdicts(SAME, needed)
            if self.judges.are_read(SAME):
                unread.append(of_sameness.unread_among(needed))
            # one of both may be judged once, and the other repeatedly
            codes, same = np.broadcast_arrays(codes, of_sameness.codes == 1)

        correctness = or_uncertain(codes)
        right = is_right(self.layout, correctness)
        failure = None
        if same is not None:
            failure = diagnose(self.layout, correctness, same, self.options.diagnosis or SCRIPT)
        if self.judges.bias == ANSWERS and self.answers is not None:
            says_yes = np.broadcast_to(self.answers == YES, codes.shape)
            is_read = np.broadcast_to(self.answers != UNREAD, codes.shape)
        else:  # the authors' script infers a yes: right where yes is right, or not right where no is right
            says_yes = right == self.layout.yes
            is_read = np.ones_like(says_yes)
        uncertain = None
        if self.judges.are_read(CORRECTNESS):
            uncertain = float((codes == UNCERTAIN).mean())
        return Judgement(
            texts=self.texts,
            correctness=correctness,
            is_unread=codes == UNREAD,
            right=right,
            same=same,
            failure=failure,
            says_yes=says_yes,
            is_read=is_read,
            key=self.judges.key(repeats=len(codes)),
            by_model=self.judges.by_model,
            unread=share_of(unread),
            uncertain=uncertain,
            unread_replies=of_correctness.unread_replies,
        )

    def verdicts(self, kind: str, needed: Bools) -> OfKind:
        """Return the verdicts of a kind, of which those that are needed [repeats, rows] are asked for."""
        if kind in self.scored.given:
            return OfKind(self.scored.given[kind].codes)
        if self.judges.by_model or self.answers is None:
            return self.ask(kind, needed)
        if kind == CORRECTNESS:
            return OfKind(correctness_of(self.answers, self.layout)[np.newaxis])
        return OfKind(sameness_of(self.answers, self.layout)[np.newaxis])

    def ask(self, kind: str, needed: Bools) -> OfKind:
        """Ask a language model about each row whose verdict is needed in any repeat; others have the code 0."""
        rows = np.flatnonzero(needed.any(axis=0)).tolist()
        if not rows:
            return OfKind(np.zeros((1, len(self.scored)), dtype=np.int64))
        reading = self.options.reading or asking.STRICT
        prompts = []
        for row in rows:
            fields = self.fields(kind, row)
            prompts.append(asking.ask(kind, fields, self.options.prompts_asked, reading))
        collected = self.options.collect(prompts)
        codes = np.zeros((len(collected.verdicts), len(self.scored)), dtype=np.int64)
        for repeat, words in enumerate(collected.verdicts):
            for row, word in zip(rows, words, strict=True):
                codes[repeat, row] = UNREAD if word is None else asking.CODES[kind][word]
        return OfKind(codes, dict(zip(rows, collected.unread[0], strict=True)))

    def fields(self, kind: str, row: int) -> dict[str, str]:
        """Return what a prompt for a kind of verdict says about a response."""
        question = self.scored.questions[row]
        fields = {"question": question.question, "answer": self.texts[row]}
        if kind == SAME:
            fields["control"] = self.texts[self.layout.control[row]]
            return fields
        fields["reference"] = question.gt_answer_details
        if not question.gt_answer_details:
            fields["reference"] = "Yes." if question.yes else "No."
        return fields


def or_uncertain(codes: Ints) -> Ints:
    """Return verdicts on correctness, uncertain where they cannot be read."""
    return np.where(codes == UNREAD, UNCERTAIN, codes)


def share_of(flags: Sequence[Bools]) -> float | None:
    """Return the share that is true, 0 of no values; None if there are no lists of values."""
    if not flags:
        return None
    values = np.concatenate(flags)
    if not len(values):
        return 0.0
    return float(values.mean())
