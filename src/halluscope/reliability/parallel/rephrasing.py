"""Says prompts and free-form questions in other words, by the table `rephrasings.toml` (HQM, section III.A).

A question is rephrased by its shape: a rule changes only the words that ask and their verb; all other words stay the
same, including numbers and negations. This module checks the text in each group of a shape's pattern, so that no
sentence is divided in the wrong place. A question that fits no shape is refused.
"""

import hashlib
import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from string import ascii_uppercase
from typing import Any

from halluscope.reliability.parallel.negation import Refused, chooser

_DETERMINED = re.compile(
    r"(?:(?:the|this|that|these|those|an?|his|her|its|their|one|two|three|four|five|both|all|each) .+"
    r"|it|he|she|they|we|you|this|that|these|those)",
    re.IGNORECASE,
)
# A thing that contains or ends in one of these words holds a predicate: the question was divided in the wrong place.
_HOLDS = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|that|which|who|whose|when|while|if"
    r"|because|than|or|made|not|no|never|nor)\b|[,;:]|\b\w{2,}ing\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:of|in|on|at|to|for|from|with|by|\w{3,}ed|written|worn|shown|called"
    r"|the (?:\w+est|(?:most|least) .+|same|main|dominant|predominant|primary|only))$",
    re.IGNORECASE,
)
_STRANDED = re.compile(r"\b(?:of|in|on|at|to|for|from|with|by|called|made|\w{2,}ing)$", re.IGNORECASE)
_MOVES = re.compile(
    r"\b(?:going|looking|heading|facing|headed|pointing|pointed|coming|moving|walking|running|flying|driving|riding"
    r"|leading|travell?ing|turned|turning|aimed|aiming)\b",
    re.IGNORECASE,
)
_FUNCTION = (
    "is|are|was|were|be|has|have|does|do|did|can|could|will|would|should|may|might|must|the|an?|this|that|these|those"
    "|his|her|its|their|my|your|they|he|she|it|we|you|i|on|in|at|to|of|by|for|with|from|else|not|no|and|or|if"
    "|time|happens|happened|makes|takes|hits|appears|seems|looks|about"
)
_WORD = rf"(?!(?:{_FUNCTION})\b)[\w'-]+"
_NOUN = re.compile(
    rf"{_WORD}(?: {_WORD}){{0,3}}(?: of (?:(?:the|this|that|these|his|her) )?{_WORD}(?: {_WORD}){{0,2}})?",
    re.IGNORECASE,
)
_CONTRACTED = re.compile(r"(what|where|who|how|when|why)['\u2019]s\b", re.IGNORECASE)
_SAYS_MORE = re.compile(
    r"[.!:;]\s|\n|\b(?:and|or|but|then),? (?:what|which|who|where|when|why|how|is|are|does|do)\b",
    re.IGNORECASE,
)

_REFERS = re.compile(
    r"\b(?:all|none|both|neither|either|any) of the (?:above|below)\b|\b[A-H]\)? (?:and|or|nor) \(?[A-H]\b",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"\s*[(\[]?(?:[A-Z][.):\]]|\d{1,2}[.):\]]\s)", re.IGNORECASE)


# The group of a pattern -> the check of its text.
CHECKS: Mapping[str, Callable[[str], bool]] = {
    # one thing without a predicate: "the dog on the left"
    "thing": lambda text: (
        bool(_DETERMINED.fullmatch(text)) and not _HOLDS.search(text) and not _ENDS.search(text)
    ),
    "things": lambda text: not _HOLDS.search(text) and not re.match("(?:of|more|fewer|total)\\b", text, re.I),
    "still": lambda text: (
        not _MOVES.search(text) and not re.search(r"\b(?:at|on|in|to|from|of|for)$", text, re.I)
    ),
    "there": lambda text: not _STRANDED.search(text),
    "noun": lambda text: bool(_NOUN.fullmatch(text)),
}
_DO = {"is": "does", "are": "do", "was": "did", "were": "did"}


def digest() -> str:
    """Return 8 hexadecimal digits of the sha256 of the table."""
    return hashlib.sha256(_text().encode()).hexdigest()[:8]


@cache
def table() -> dict[str, Any]:
    """Return the table: groups of equivalent prompts, frames, and the shapes of questions."""
    return tomllib.loads(_text())


def _text() -> str:
    return resources.files(__package__).joinpath("rephrasings.toml").read_text(encoding="utf-8")


def rephrase(prompt: str, seed: int = 0) -> str:
    """Say a prompt of the table as another prompt of its group, and a question as its shape allows.

    >>> rephrase("What is behind the dog?") in ("What can be seen behind the dog?", "What is there behind the dog?")
    True
    """
    for group in table()["same"]:
        others = [other for other in group["prompts"] if _plain(other) != _plain(prompt)]
        if len(others) < len(group["prompts"]):
            return chooser(seed, prompt)(others)
    if "?" not in prompt:
        raise Refused("it is neither a question nor an instruction in the table of rephrasings")
    return reshape(prompt, seed)


def frame(question: str, seed: int = 0) -> str:
    """Put other words around a question, if it has none, so that its options still fit.

    >>> "Which animal is it?" in frame("Which animal is it?")
    True
    """
    try:
        return rephrase(question, seed)
    except Refused:
        if not question.strip().endswith("?"):
            raise
    frames = table()["frames"]["question"]
    return chooser(seed, question)(frames).replace("{question}", question.strip())


def _plain(prompt: str) -> str:
    return " ".join(prompt.lower().split()).rstrip(".")


def reshape(question: str, seed: int = 0) -> str:
    """Ask a question in other words; text after the question mark ("Answer in one word.") is unchanged.

    >>> reshape("How many dogs are there on the sofa?") in {
    ...     "What is the number of dogs on the sofa?", "What number of dogs are there on the sofa?"}
    True
    """
    asked, mark, after = question.strip().partition("?")
    if not mark or "?" in after or _SAYS_MORE.search(asked):
        raise Refused("it is not a single question")
    wordings: list[str] = []
    full = _CONTRACTED.sub(r"\1 is", " ".join(asked.split()), count=1)
    for pattern, says in _shapes():
        match = pattern.fullmatch(full)
        groups = {name: text or "" for name, text in match.groupdict().items()} if match else {}
        if match and all(CHECKS[name](groups[name]) for name in CHECKS if groups.get(name)):
            wordings = [wording.format_map(_agreeing(groups)) for wording in says]
            break
    others = [wording for wording in wordings if wording.lower() != asked.strip().lower()]
    if not others:
        raise Refused("no rule knows how to ask a question of its shape in other words")
    wording = chooser(seed, question)(others)
    first = wording[0].upper() if asked[0].isupper() else wording[0]
    return f"{first}{wording[1:]}?{after}"


def _agreeing(groups: dict[str, str]) -> dict[str, str]:
    """Return the groups of a pattern, with do and be in the right number and tense."""
    be = groups.get("be", "").lower()
    do = groups.get("do", "").lower() or _DO.get(be, "")
    several = groups.get("named", "").lower().endswith("s")
    past = be in ("was", "were") or do == "did"
    its = ("were" if several else "was") if past else ("are" if several else "is")
    return {**groups, "be": be, "do": do, "its": its}


@cache
def _shapes() -> list[tuple[re.Pattern[str], Sequence[str]]]:
    shapes = []
    parts: Mapping[str, str] = table()["parts"]
    for shape in table()["shape"]:
        asks: str = shape["asks"]
        while any(f"{{{name}}}" in asks for name in parts):
            for name, part in parts.items():
                asks = asks.replace(f"{{{name}}}", part)
        shapes.append((re.compile(asks, re.IGNORECASE), shape["says"]))
    return shapes


def shuffle(options: Sequence[str], answer: str | int, seed: int = 0) -> tuple[list[str], str | int]:
    """Put the options of a multiple-choice question into another order, which options and seed choose.

    The answer (a letter, an option's text, or its index) comes back in the same form.
    """
    if len(options) < 2 or not all(isinstance(option, str) for option in options):
        raise Refused("it has fewer than two options, or an option that is not a text")
    if len({option.strip().lower() for option in options}) < len(options):
        raise Refused("two of its options are equal")
    if any(_REFERS.search(option) for option in options):
        raise Refused("an option refers to other options")
    if any(_LETTERED.match(option) for option in options):
        raise Refused("an option opens with its letter, which would move with it")
    right = _index(options, answer)
    generator = random.Random(f"{seed}|{'|'.join(options)}")
    before = list(range(len(options)))
    order = before
    while order == before:
        order = sorted(before, key=lambda _: generator.random())
    shuffled = [options[index] for index in order]
    if isinstance(answer, int):
        return shuffled, order.index(right)
    if answer in options:
        return shuffled, answer
    letter = ascii_uppercase[order.index(right)]
    return shuffled, letter.lower() if answer.islower() else letter


def _index(options: Sequence[str], answer: str | int) -> int:
    """Return the index of the right option. An answer that equals an option is that option, even if it is a letter."""
    if isinstance(answer, str) and answer in options:
        return options.index(answer)
    index = answer
    if isinstance(answer, str):
        index = ascii_uppercase.find(answer.upper()) if len(answer) == 1 else -1
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(options):
        raise Refused("its answer is not one of its options")
    if isinstance(answer, str) and len(options) > len(ascii_uppercase):
        raise Refused("it has more options than there are letters")
    return index
