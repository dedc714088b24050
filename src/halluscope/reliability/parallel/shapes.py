"""Rephrases free-form questions by their shape; the rules are the shapes in `rephrasings.toml`.

A rule changes only the words that ask and their verb; all other words stay the same, including numbers and negations.
This module checks the text in each group of a pattern, so that no sentence is divided in the wrong place. A question
that fits no shape is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from halluscope.reliability.parallel.choice import chooser
from halluscope.reliability.parallel.negation import Refused
from halluscope.reliability.parallel.table import table

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

Says = Callable[[str], bool]


def _is_thing(text: str) -> bool:
    """Whether a text names one thing without a predicate: "the dog on the left"."""
    return bool(_DETERMINED.fullmatch(text)) and not _HOLDS.search(text) and not _ENDS.search(text)


CHECKS: Mapping[str, Says] = {
    "thing": _is_thing,
    "things": lambda text: not _HOLDS.search(text) and not re.match("(?:of|more|fewer|total)\\b", text, re.I),
    "still": lambda text: (
        not _MOVES.search(text) and not re.search(r"\b(?:at|on|in|to|from|of|for)$", text, re.I)
    ),
    "there": lambda text: not _STRANDED.search(text),
    "noun": lambda text: bool(_NOUN.fullmatch(text)),
}
"""The group of a pattern -> the check of its text."""

_DO = {"is": "does", "are": "do", "was": "did", "were": "did"}


def reshape(question: str, seed: int = 0) -> str:
    """Ask a question in other words.

    Args:
        question: one question; text after the question mark ("Answer in one word.") is unchanged.
        seed: chooses among the wordings; the same question and seed give the same text.

    Raises:
        Refused: for a text that is not a single question, or a question whose shape no rule knows.

    >>> reshape("How many dogs are there on the sofa?") in {
    ...     "What is the number of dogs on the sofa?", "What number of dogs are there on the sofa?"}
    True
    """
    asked, mark, after = question.strip().partition("?")
    if not mark or "?" in after or _SAYS_MORE.search(asked):
        raise Refused("it is not a single question")
    wordings = _wordings(_CONTRACTED.sub(r"\1 is", " ".join(asked.split()), count=1))
    others = [wording for wording in wordings if wording.lower() != asked.strip().lower()]
    if not others:
        raise Refused("no rule knows how to ask a question of its shape in other words")
    said = chooser(seed, question)(others)
    first = said[0].upper() if asked[0].isupper() else said[0]
    return f"{first}{said[1:]}?{after}"


def _wordings(asked: str) -> Sequence[str]:
    """Return the wordings of the first shape that fits."""
    for pattern, says in _shapes():
        for fields in _fits(pattern, asked):
            return [wording.format_map(fields) for wording in says]
    return ()


def _fits(pattern: re.Pattern[str], asked: str) -> Iterator[dict[str, str]]:
    found = pattern.fullmatch(asked)
    if found and all(
        CHECKS[name](text) for name, text in found.groupdict().items() if name in CHECKS and text
    ):
        yield _agreeing({name: text or "" for name, text in found.groupdict().items()})


def _agreeing(fields: dict[str, str]) -> dict[str, str]:
    """Return the groups of a pattern, with do and be in the right number and tense."""
    be = fields.get("be", "").lower()
    do = fields.get("do", "").lower() or _DO.get(be, "")
    several = fields.get("named", "").lower().endswith("s")
    past = be in ("was", "were") or do == "did"
    its = ("were" if several else "was") if past else ("are" if several else "is")
    return {**fields, "be": be, "do": do, "its": its}


@cache
def _shapes() -> list[tuple[re.Pattern[str], Sequence[str]]]:
    """Return the patterns of the table, with the wordings of each."""
    parts: Mapping[str, Any] = table()["parts"]
    return [(_pattern(shape["asks"], parts), shape["says"]) for shape in table()["shape"]]


def _pattern(asks: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    while any(f"{{{name}}}" in asks for name in parts):
        for name, part in parts.items():
            asks = asks.replace(f"{{{name}}}", part)
    return re.compile(asks, re.IGNORECASE)
