"""Who gives the verdicts on responses: the user, a rule that reads yes and no, or a language model.

Each response is judged correct, incorrect or uncertain. Where the diagnosis needs it, a judge also says whether the
response agrees with the response to the control question.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from halluscope.benchmarks.hallusionbench.layout import Scored
from halluscope.benchmarks.hallusionbench.options import ANSWERS, INFERRED, HallusionBenchOptions
from halluscope.benchmarks.hallusionbench.reading import (
    OUR_RULE,
    RULES,
    YES,
    Rule,
    correctness_of,
    sameness_of,
    warn_if_ours_differs,
)
from halluscope.judging.options import ASKING
from halluscope.judging.verdicts import NOBODY
from halluscope.options import check_effect, usual_values
from halluscope.stats.correlation import warn_if_shuffled
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


class Judging:
    """Gives the verdicts on responses to the questions that are scored."""

    def __init__(self, texts: Sequence[str], scored: Scored, options: HallusionBenchOptions) -> None:
        self.texts = texts
        self.scored = scored
        self.layout = scored.layout
        self.options = options
        self.needed = [CORRECTNESS]
        if options.diagnoses:
            self.needed.append(SAME)
        # the kinds of verdicts that a judge gives
        self.asks = [kind for kind in self.needed if kind not in scored.given]
        self.rule = None  # of the judge, if it asks no model
        if options.named(RULES):
            self.rule = RULES[options.judge]
        self.by_model = bool(self.asks) and self.rule is None
        self.given_as_texts = [kind for kind, given in scored.given.items() if given.are_texts]
        self.unread_replies: dict[int, str] = {}  # as a judgement has them
        self.is_missing: list[Bools] = []  # of each kind, which of the needed verdicts could not be read

    @property
    def reader(self) -> Rule:
        """The rule that reads responses, if one does: the judge, or ours for a bias beside a language model."""
        return self.rule or OUR_RULE

    @property
    def bias(self) -> str:
        """How a yes is known."""
        if self.options.bias is not None:
            return self.options.bias
        if self.rule is not None and CORRECTNESS in self.asks:
            return ANSWERS
        return INFERRED

    def judge(self) -> Judgement:
        self.check()
        answers = self.read_answers()
        rows = len(self.scored)

        codes = self.codes(CORRECTNESS, answers, needed=np.ones((1, rows), dtype=bool))
        is_unread = codes == UNREAD
        correctness = np.where(is_unread, UNCERTAIN, codes)
        right = is_right(self.layout, correctness)
        same = None
        failure = None
        if self.options.diagnoses:
            needed = needs_same(self.layout, correctness)
            same = self.codes(SAME, answers, needed) == 1
            failure = diagnose(self.layout, correctness, same, self.options.diagnosis or SCRIPT)

        if self.bias == ANSWERS and answers is not None:
            says_yes = answers == YES
            is_read = answers != UNREAD
        else:  # the authors' script infers a yes: right where yes is right, or not right where no is right
            says_yes = right == self.layout.yes
            is_read = np.ones_like(says_yes)

        repeats = len(correctness)
        if same is not None:
            repeats = max(repeats, len(same))
        shape = (repeats, rows)
        return Judgement(
            texts=self.texts,
            correctness=np.broadcast_to(correctness, shape),
            is_unread=np.broadcast_to(is_unread, shape),
            right=np.broadcast_to(right, shape),
            same=None if same is None else np.broadcast_to(same, shape),
            failure=None if failure is None else np.broadcast_to(failure, shape),
            says_yes=np.broadcast_to(says_yes, shape),
            is_read=np.broadcast_to(is_read, shape),
            key=self.key(repeats),
            by_model=self.by_model,
            unread=self.share_missing(),
            uncertain=self.share_uncertain(codes),
            unread_replies=self.unread_replies,
        )

    # Checks, before a model is asked

    def check(self) -> None:
        """Refuse what cannot be judged, and options that cannot matter."""
        if self.options.diagnoses:
            self.check_controls()
        self.check_judge()
        self.check_effects()

    def check_controls(self) -> None:
        """Check that each question has its control question."""
        rows = self.scored.without_control()
        if rows:
            title = self.scored.questions[rows[0]].title
            raise ValueError(
                f"references[{rows[0]}] is the question {title}, but its control question (figure 0) is missing (rows "
                f"without one: {len(rows)}); expected whole control pairs. Score all rows of the dataset, or leave out "
                "the questions without a visual: --protocol lmms-eval or vlmevalkit (in Python protocol)."
            )

    def check_judge(self) -> None:
        """Check that the judge can be asked, and that options of asking matter."""
        usual = usual_values(type(self.options))
        usual["judge_seed"] = self.options.seed
        if not self.asks:
            why = "the verdicts are given, so nothing is judged"
            check_effect(vars(self.options), ASKING, why, usual)
            if not self.options.named([NOBODY]) and not self.options.named(RULES):
                check_effect(vars(self.options), ["judge"], why, usual)
        elif self.rule is not None:
            why = f"{self.options.judge!r} gives the same verdicts each time and asks no model"
            check_effect(vars(self.options), ASKING, why, usual)
        else:
            self.options.prepare(list(RULES))
            self.check_questions()

    def check_questions(self) -> None:
        """Check that a language model can be told what was asked."""
        without = [question for question in self.scored if not question.question.strip()]
        if without:
            raise ValueError(
                f"{without[0].title} has no text in 'question' (rows without one: {len(without)}); a language model "
                "needs the question. Pass the dataset's whole rows, or judge by 'rules'."
            )

    def check_effects(self) -> None:
        """Refuse options about replies where none is read, an unused rule, and a diagnosis that is not made."""
        options = vars(self.options)
        usual = usual_values(type(self.options))
        if not self.by_model and not self.given_as_texts:
            why = "the verdicts are given as numbers, so no reply is read"
            if self.asks:
                why = f"{self.options.judge!r} asks no model"
            check_effect(options, ["prompts", "reading"], why)
        if self.rule is not None and not self.asks and self.options.bias != ANSWERS:
            why = "the verdicts are given, and no yes is read from responses (bias='answers')"
            check_effect(options, ["judge"], why, usual)
        if not self.options.diagnoses:
            why = (
                f"the protocol {self.options.protocol!r} leaves out the questions without a visual, so it diagnoses "
                "nothing"
            )
            check_effect(options, ["diagnosis"], why, {"diagnosis": SCRIPT})

    # Verdicts

    def read_answers(self) -> Ints | None:
        """Return what a rule reads in the responses, [1, rows]; None if no rule needs to read them."""
        if self.rule is None and self.bias != ANSWERS:
            return None
        answers = self.reader.read(self.texts, self.scored.questions)
        warn_if_ours_differs(self.reader, answers, self.texts, self.scored.questions, self.layout)
        warn_if_shuffled((answers == YES)[:, np.newaxis], self.layout.yes[:, np.newaxis])
        return answers[np.newaxis]

    def codes(self, kind: str, answers: Ints | None, needed: Bools) -> Ints:
        """Return verdicts [repeats, rows], `UNREAD` where one is missing; what is not needed may be anything."""
        if kind in self.scored.given:
            codes = self.scored.given[kind].codes
        elif self.rule is None or answers is None:
            codes = self.ask(kind, needed)
        elif kind == CORRECTNESS:
            codes = correctness_of(answers[0], self.layout)[np.newaxis]
        else:
            codes = sameness_of(answers[0], self.layout)[np.newaxis]
        if kind in self.asks or kind in self.given_as_texts:
            is_needed, is_unread = np.broadcast_arrays(needed, codes == UNREAD)
            self.is_missing.append(is_unread[is_needed])
        return codes

    def ask(self, kind: str, needed: Bools) -> Ints:
        """Ask a language model about the rows that need a verdict; return codes [repeats, rows], 0 for the others."""
        rows = np.flatnonzero(needed.any(axis=0)).tolist()
        if not rows:
            return np.zeros((1, len(self.scored)), dtype=np.int64)
        prompts = []
        for row in rows:
            fields = self.fields(kind, row)
            prompts.append(
                asking.ask(kind, fields, self.options.prompts_asked, self.options.reading or asking.STRICT)
            )
        collected = self.options.collect(prompts)
        if kind == CORRECTNESS:
            self.unread_replies = dict(zip(rows, collected.unread[0], strict=True))
        codes = np.zeros((len(collected.verdicts), len(self.scored)), dtype=np.int64)
        for repeat, of_repeat in enumerate(collected.verdicts):
            for row, word in zip(rows, of_repeat, strict=True):
                codes[repeat, row] = UNREAD if word is None else asking.CODES[kind][word]
        return codes

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

    # What a result says of them

    def key(self, repeats: int) -> dict[str, Any]:
        """Return who judged, and how, as in a signature."""
        judge: Any = self.reader.key
        drawn: Mapping[str, str] = {}
        if self.by_model:
            judge = [self.options.chat.key]
            judge += self.options.key_of(self.options.prompts_asked)
            drawn = self.options.drawn
        key: dict[str, Any] = {"protocol": self.options.protocol}
        for kind in (CORRECTNESS, SAME):
            given = self.scored.given.get(kind)
            key[kind] = judge if given is None else given.key
        if not self.options.diagnoses:
            key[SAME] = "no"
        key["repeats"] = repeats
        key.update(drawn)
        key["bias"] = self.bias
        if self.bias == ANSWERS:
            key["bias"] = [ANSWERS, self.reader.key]
        if self.options.diagnoses and self.options.diagnosis not in (None, SCRIPT):
            key["diagnosis"] = self.options.diagnosis
        return key

    def share_missing(self) -> float | None:
        """Return the share of needed verdicts that cannot be read; None if all were given as numbers."""
        if not self.is_missing:
            return None
        missing = np.concatenate(self.is_missing)
        if not len(missing):
            return 0.0
        return float(missing.mean())

    def share_uncertain(self, codes: Ints) -> float | None:
        """Return the share of responses that were read as uncertain; None if that was given."""
        if CORRECTNESS in self.asks or CORRECTNESS in self.given_as_texts:
            return float((codes == UNCERTAIN).mean())
        return None
