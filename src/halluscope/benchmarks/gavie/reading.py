"""How a judge is asked to rate a response, and how its reply is read.

The authors read replies to their prompt by eye, so there is no rule of theirs to follow. prompts/authors.txt is theirs
(FuxiaoLiu/LRV-Instruction, Evaluation/evaluate.py, BSD-3-Clause, (c) its authors) without the parts about a second
response: their script puts the responses of several LVLMs into one prompt, so that each score depends on the others;
here each response has a prompt of its own.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.gavie.data import Region
from halluscope.files.writing import json_text
from halluscope.judging import guard
from halluscope.judging.prompts import Refusal
from halluscope.judging.verdict_prompts import Fields, JsonPrompt, Verdict, WordPrompt, beside
from halluscope.sanitize import encodable, short_repr

MOST = 10

HEADINGS = ("relevancy", "accuracy")

SCORED = re.compile(r"\bscore of (?:the )?answer ?1\b[\s*_`:]{1,12}(\d+(?:\.\d+)?)(.{0,12})", re.IGNORECASE)
# A score of a second response, or a later one
OTHER_ANSWERS = re.compile(r"\bscore of (?:the )?answer ?(?!1\b)\d", re.IGNORECASE)
# What follows digits that are not a score by themselves, or on another scale: 7/100, 4 out of 5, 7-8, 7 to 8, 7,5
GOES_ON = re.compile(
    r",\d|\s*(?:/(?!\s*10\b)|(?:out )?of (?!10\b)\d|(?:[-\u2013\u2192]|->)\s*\d|to\b|or\b|\d)"
)

# A score in a response, in whatever words
HOLDS_SCORE = re.compile(r"\b(?:score of (?:the )?answer ?1?|relevancy|accuracy)\b[^.]{0,40}?\d")

NO_SCORES = "a reply must have the headings Relevancy and Accuracy once, each with one score from 0 to 10"


def scores_of(reply: str) -> dict[str, list[str]]:
    """Return the scores under each heading of a reply, "" for one that is no single number; {} if a heading repeats.

    Scores before the first heading stand under "".
    """
    scores: dict[str, list[str]] = {}
    heading = ""
    for line in reply.splitlines():
        words = line.strip(" \t*_`#>-:").lower()
        if words in HEADINGS:
            if words in scores:
                return {}
            heading = words
            scores[heading] = []
            continue
        scored = SCORED.search(line)
        if scored:
            is_number = not GOES_ON.match(scored[2])
            scores.setdefault(heading, []).append(scored[1] if is_number else "")
    return scores


def refusal_of_words(reply: str, response: str) -> Refusal | None:
    """Return why a reply to the authors' prompt is not read; None if it is."""
    if HOLDS_SCORE.search(guard.plain(response)):
        return guard.HELD
    scores = scores_of(reply)
    if scores.keys() != set(HEADINGS):
        return Refusal(NO_SCORES)
    for name, numbers in scores.items():
        if len(numbers) != 1 or not numbers[0] or float(numbers[0]) > MOST:
            return Refusal(NO_SCORES, f"under {name} it has {short_repr(', '.join(numbers), 40)}")
    return None


def read_words(reply: str, response: str = "") -> Verdict | None:
    """Return the verdict of a reply to the authors' prompt, None unless it has both headings once, each with one score.

    If the response itself holds a score in these words, no reply is read: the judge may have copied it.

    >>> reply = ["Relevancy:", "score of the answer1: 9", "reason: a", "**Accuracy:**", "score of the answer1: 2.5/10"]
    >>> read_words("\\n".join(reply), "A cat.").numbers, read_words("\\n".join(reply[:3]), "") is None
    ({'relevancy': 9.0, 'accuracy': 2.5}, True)
    """
    if refusal_of_words(reply, response) is not None:
        return None
    scores = scores_of(reply)
    numbers = {"relevancy": float(scores["relevancy"][0]), "accuracy": float(scores["accuracy"][0])}
    return Verdict(numbers, {"reason": encodable(reply)})


def warn_of_several_answers(verdicts: Sequence[Verdict | None]) -> None:
    """Warn of replies to the authors' prompt about several responses at once: only the first one's scores are read."""
    several = 0
    for verdict in verdicts:
        if verdict is not None and OTHER_ANSWERS.search(verdict.notes["reason"]):
            several += 1
    if several:
        warnings.warn(
            f"{several:,} of the {len(verdicts):,} replies score several answers; the scores of answer1 are taken. If "
            "the responses are another answer, give its scores as numbers.",
            stacklevel=5,
        )


def read_object(parts: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a reply to our prompt."""
    numbers = {"relevancy": float(parts["relevancy"]), "accuracy": float(parts["accuracy"])}
    return Verdict(numbers, {"reason": encodable(parts["reason"])})


class OurPrompt(JsonPrompt):
    """The prompt in this project's words, with a region on each line."""

    def texts(self, fields: Fields, response: str) -> dict[str, str]:
        lines = []
        for region in fields["regions"]:
            lines.append(f"{json_text(region.phrase)} {place_of(region, region.height)}")
        texts = super().texts({"question": fields["question"]}, response)
        texts["regions"] = "\n".join(lines)
        return texts


class AuthorsPrompt(WordPrompt):
    """The authors' prompt, which prints a region's width also as its height, as their script does."""

    def texts(self, fields: Fields, response: str) -> dict[str, str]:
        lines = []
        for region in fields["regions"]:
            lines.append(f"{encodable(region.phrase)} {place_of(region, region.width)}")
        texts = super().texts({"question": fields["question"]}, response)
        texts["regions"] = "\n".join(lines)
        return texts


def place_of(region: Region, height: int) -> str:
    return f"X:{region.x} Y:{region.y} Width:{region.width} Height:{height}"


SCORE = {"type": "integer", "enum": list(range(MOST + 1))}

OURS = OurPrompt(
    "gavie-prompt-2",
    beside(__file__, "ours.txt"),
    reply={"reason": {"type": "string"}, "relevancy": SCORE, "accuracy": SCORE},
    stated_in=("relevancy", "accuracy"),
    verdict=read_object,
)

AUTHORS = AuthorsPrompt("authors-4", beside(__file__, "authors.txt"), read_words, refusal_of_words)

PROMPTS = {"ours": OURS, "authors": AUTHORS}  # by the values of the option `prompts`
