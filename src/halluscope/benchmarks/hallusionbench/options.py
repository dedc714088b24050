"""The options of HallusionBench's metric."""

from dataclasses import dataclass
from typing import Any

from halluscope.benchmarks.hallusionbench import asking
from halluscope.benchmarks.hallusionbench.diagnosis import PAPER, SCRIPT
from halluscope.benchmarks.hallusionbench.layout import OFFICIAL, PROTOCOLS
from halluscope.benchmarks.hallusionbench.reading import OUR_RULE
from halluscope.judged import JudgedOptions
from halluscope.judging.options import judge_option
from halluscope.options import option

# How a yes is known: the values of the option `bias`
ANSWERS = "answers"  # read from responses
INFERRED = "official"  # from verdicts, as the authors' script does


@dataclass(frozen=True)
class HallusionBenchOptions(JudgedOptions):
    """The options of HallusionBench's metric."""

    judge: Any = judge_option(OUR_RULE.name, "rules (default), vlmevalkit")
    protocol: str = option(
        OFFICIAL,
        "whose counting rules to use (default: official)",
        about='"official" (all questions), "lmms-eval" or "vlmevalkit" (only questions with a visual)',
        choices=PROTOCOLS,
    )
    bias: str | None = option(
        None,
        "whether a yes is read from responses (answers) or inferred from verdicts (official); default: answers if "
        "rules read the responses, otherwise official",
        about='what counts as a yes in `pct_diff` and `fp_ratio`: "answers" applies equations 6 and 7 to the readable '
        'responses; "official" infers a yes from the verdicts, as the authors\' script does. The default is "answers" '
        'if rules judge correctness, else "official"',
        choices=(ANSWERS, INFERRED),
    )
    prompts: str | None = option(
        None,
        "whose wording of the prompts to use (default: ours, or authors with --reading official)",
        about="the wording of a language model's prompts: \"ours\" (the paper's prompt about correctness, and this "
        "project's about whether two responses agree) or \"authors\" (both as the authors' script sends them). The "
        'default is "ours", or "authors" with reading="official". Rules need no prompt',
        choices=tuple(asking.PROMPTS),
    )
    reading: str | None = option(
        None,
        "how a judge's reply is read: strict (default), or as the authors' script does, where a reply with \"correct\" "
        "in it counts",
        about='how a language model\'s replies are read: "strict", or "official", as the authors\' script does: a '
        'reply with "correct" in it counts, and none is unreadable. It needs the authors\' prompts',
        choices=(asking.STRICT, asking.OFFICIAL),
    )
    diagnosis: str | None = option(
        None,
        "whether a wrong response in VD that repeats a correct one about the original is mixed, as in the authors' "
        "script (default: script), or language hallucination, as in the paper's third principle (paper)",
        about="by whose rule a wrong response is explained that is the same as a correct one about the original image, "
        'in VD: "script" says mixed, as the authors\' script does and the paper\'s tables have it; "paper" says '
        "language hallucination, as the third principle of section 4.3.4",
        choices=(SCRIPT, PAPER),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reading == asking.OFFICIAL and self.prompts == asking.OURS:
            raise ValueError(
                "reading is 'official', which reads only replies to the authors' prompts, but prompts is 'ours'; "
                "expected prompts='authors', or reading='strict'."
            )

    @property
    def diagnoses(self) -> bool:
        """Whether it is said why responses fail, which needs the questions without a visual."""
        return self.protocol == OFFICIAL

    @property
    def reads_officially(self) -> bool:
        return self.reading == asking.OFFICIAL

    @property
    def prompts_asked(self) -> str:
        """Whose prompts a language model is asked."""
        if self.prompts is not None:
            return self.prompts
        if self.reads_officially:
            return asking.AUTHORS
        return asking.OURS

    @property
    def prompts_of_texts(self) -> str:
        """To whose prompts the texts reply that a user gives."""
        return self.prompts or asking.AUTHORS

    def key_of(self, prompts: str) -> list[str]:
        """Return how replies to prompts are read, as in a signature."""
        key = [asking.KEYS[prompts]]
        if self.reads_officially:
            key.append(asking.OFFICIAL)
        return key
