"""How a judge is asked about a response, and how its reply is read.

The two steps are those of section IV.B; the words of prompts/ours.txt are this project's. As in the paper, the judge
sees no image, only its caption and annotated regions. Whether the main answer is right, and whether a claim contradicts
the image, is the judge's word alone, but it cannot invent claims: each must be in the response, and counts once.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from halluscope.benchmarks.hqh.claims import quoted
from halluscope.judging.prompts import Refusal, json_object
from halluscope.judging.verdict_prompts import JsonPrompt, Verdict, beside, plain
from halluscope.sanitize import short_repr

# The values of the option `claims`: which of a judge's extra claims count
QUOTED = "quoted"  # those that stand in the response word for word
EVERY = "all"
CLAIMS = (QUOTED, EVERY)

EQUAL = "extra_claims must be the number of texts in evidence"


@dataclass(frozen=True)
class ClaimsPrompt(JsonPrompt):
    """A prompt to whose reply a judge adds the claims that it counts, each quoted from the response."""

    claims: str = QUOTED

    @property
    def key(self) -> str:  # type: ignore[override]
        if self.claims == QUOTED:
            return super().key
        return f"{super().key}-{self.claims}"

    def refusal(self, reply: str, response: str = "") -> Refusal | None:
        refusal = super().refusal(reply)
        if refusal is not None:
            return refusal
        parts = json_object(reply)
        assert parts is not None  # such a reply is refused above
        count = len(parts["evidence"])
        if parts["extra_claims"] != count:
            stated = short_repr(parts["extra_claims"])
            return Refusal(EQUAL, f"extra_claims is {stated}, and evidence has {count:,}")
        return None

    def read(self, reply: str, response: str = "") -> Verdict | None:
        verdict = super().read(reply)
        if verdict is None:
            return None
        named = verdict.notes["evidence"]
        evidence = named
        if self.claims == QUOTED:
            evidence = list(quoted(named, response))
        numbers = dict(verdict.numbers)
        numbers["extra_claims"] = float(len(evidence))
        return Verdict(numbers, {"evidence": evidence, "dropped": len(named) - len(evidence)})


def read_object(parts: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a reply, with all claims that the judge names."""
    is_correct = parts["verdict"] == "correct"
    numbers = {"correct": float(is_correct), "extra_claims": float(parts["extra_claims"])}
    return Verdict(numbers, {"evidence": plain(parts["evidence"])})


PROMPT = ClaimsPrompt(
    "hqh-prompt-3",
    beside(__file__, "ours.txt"),
    reply={
        "verdict": {"type": "string", "enum": ["correct", "incorrect"]},
        "extra_claims": {"type": "integer"},
        "evidence": {"type": "array", "items": {"type": "string"}},
    },
    stated_in=("verdict", "extra_claims"),
    verdict=read_object,
    blank_ok=False,
)


def prompt_of(claims: str) -> ClaimsPrompt:
    """Return the prompt, with the claims that count of a reply to it."""
    return replace(PROMPT, claims=claims)


def warn_of_dropped(verdicts: Sequence[Verdict | None]) -> None:
    """Warn of claims that a judge counts but that are not in the response, or are counted twice."""
    counted = 0
    dropped = 0
    for verdict in verdicts:
        if verdict is not None:
            counted += len(verdict.notes["evidence"])
            dropped += verdict.notes["dropped"]
    if dropped:
        warnings.warn(
            f"{dropped:,} of the {counted + dropped:,} extra claims that the judge quotes are not in the response, or "
            'are quoted twice; they do not count. With --claims all (in Python claims="all") all that it names count.',
            stacklevel=5,
        )
