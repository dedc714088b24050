"""Who gives the verdicts on responses: the user, a rule that reads yes and no, or a language model."""

from collections.abc import Mapping
from typing import Any

from halluscope.benchmarks.hallusionbench.asking import CORRECTNESS, SAME
from halluscope.benchmarks.hallusionbench.diagnosis import SCRIPT
from halluscope.benchmarks.hallusionbench.layout import Scored
from halluscope.benchmarks.hallusionbench.options import ANSWERS, INFERRED, HallusionBenchOptions
from halluscope.benchmarks.hallusionbench.reading import OUR_RULE, RULES, Rule
from halluscope.judging.options import ASKING
from halluscope.judging.verdicts import NOBODY
from halluscope.options import check_effect, usual_values


class Judges:
    """Who gives each kind of verdict on the questions that are scored, and which options matter to that."""

    def __init__(self, scored: Scored, options: HallusionBenchOptions) -> None:
        self.scored = scored
        self.options = options
        self.rule: Rule | None = None  # the judge, if it asks no model
        if options.named(RULES):
            self.rule = RULES[options.judge]
        needed = [CORRECTNESS]
        if options.diagnoses:
            needed.append(SAME)
        self.asked = [kind for kind in needed if kind not in scored.given]  # what the judge gives
        self.by_model = bool(self.asked) and self.rule is None

    @property
    def bias(self) -> str:
        """How a yes is known."""
        if self.options.bias is not None:
            return self.options.bias
        if self.rule is not None and CORRECTNESS in self.asked:
            return ANSWERS
        return INFERRED

    @property
    def reader(self) -> Rule:
        """The rule that reads responses, if one does: the judge, or ours for a bias beside a language model."""
        return self.rule or OUR_RULE

    @property
    def reads_responses(self) -> bool:
        """Whether a rule reads responses, for verdicts or for the bias."""
        return self.bias == ANSWERS or (self.rule is not None and bool(self.asked))

    def are_read(self, kind: str) -> bool:
        """Whether verdicts of a kind are read from texts; otherwise the user gives them as numbers."""
        given = self.scored.given.get(kind)
        return given is None or given.are_texts

    def key(self, repeats: int) -> dict[str, Any]:
        """Return who judged, and how, as in a signature."""
        judge: Any = self.reader.key
        drawn: Mapping[str, str] = {}
        if self.by_model:
            judge = [self.options.chat.key]
            judge += self.options.key_of(self.options.prompts_asked)
            drawn = self.options.drawn
        key: dict[str, Any] = {"protocol": self.options.protocol, CORRECTNESS: judge, SAME: judge}
        for kind, given in self.scored.given.items():
            key[kind] = given.key
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
        if not self.asked:
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
        are_given_as_texts = any(given.are_texts for given in self.scored.given.values())
        if not self.by_model and not are_given_as_texts:
            why = "the verdicts are given as numbers, so no reply is read"
            if self.asked:
                why = f"{self.options.judge!r} asks no model"
            check_effect(options, ["prompts", "reading"], why)
        if self.rule is not None and not self.asked and self.options.bias != ANSWERS:
            why = "the verdicts are given, and no yes is read from responses (bias='answers')"
            check_effect(options, ["judge"], why, usual)
        if not self.options.diagnoses:
            why = (
                f"the protocol {self.options.protocol!r} leaves out the questions without a visual, so it diagnoses "
                "nothing"
            )
            check_effect(options, ["diagnosis"], why, {"diagnosis": SCRIPT})
