"""Does an answer contain the short right answer? Rules only; no model is asked.

That is less than a judgement: a claim beside the right answer is not seen, nor the same meaning in other words. What a
model thinks aloud, in <think> ... </think>, is not read. The rules:

- A right answer that is yes or no is compared with the yes or no that `judges.rules` reads.
- Of any other, every word that carries meaning must stand in the answer: a whole word, less its ending, in any order.
  If none does ("The", on a sign), every word.
- A word right after "no", "not" or "without" is another word than without it: "not red" does not contain red.
- Numbers are digits: "Two." is 2, "twenty-one" 21. Where none is right, "no", "none" and "nobody" are 0.
- Colours have one spelling (gray is grey), and so has the time of day (daytime is day).
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from halluscope.judges import rules

KEY = "contains-1"
"""Stands in a signature; the number goes up when a rule changes."""


@lru_cache(maxsize=10_000)
def contains(answer: str, truth: str, question: str = "") -> bool | None:
    """Whether an answer contains the right answer.

    Args:
        answer: a model's raw text.
        truth: the right answer, short.
        question: what was asked; helps to read a yes or no.

    Returns:
        None where the right answer is yes or no and the answer could be read as neither, and where the right answer
        has no word.

    >>> contains("I can see two gray cats.", "2."), contains("A gray cat.", "Grey."), contains("It isn't red.", "Red.")
    (True, True, False)
    >>> contains("The sky and the sea.", "Yes.") is None
    True
    """
    wanted, found = _words(truth), _words(answer)
    if wanted in (["yes"], ["no"]):
        said = rules.read(answer, question).answer
        return None if said is None else [said] == wanted
    if wanted in (["0"], ["none"], ["nobody"]):
        return not _NOTHING.isdisjoint(found)
    if meaning := _meaning(wanted):
        return meaning <= _meaning(found)
    return set(wanted) <= set(found) if wanted else None


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_NOTHING = frozenset(_list("0 no none nobody"))
_DENIES = frozenset(_list("no not without never neither nor"))
_EMPTY = frozenset(
    _list(
        "a an the this that these those there here it its he she they his her their some any just only about is are "
        "was were be been being has have had do does did of in on at to for from with by as during and or s"
    )
)
_UNITS = _list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = _list("twenty thirty forty fifty sixty seventy eighty ninety")
_NUMBERS = {
    **{name: number for number, name in enumerate(_UNITS)},
    **{name: 10 * number for number, name in enumerate(_TENS, 2)},
    "single": 1,
    "hundred": 100,
}
_SPELLINGS = {
    "gray": "grey",
    "golden": "gold",
    "blond": "blonde",
    "daytime": "day",
    "nighttime": "night",
    **{name: str(number) for name, number in _NUMBERS.items()},
}

_WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+")
_CHANGES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"n't\b|(?<=\bcan)not\b"), " not"),
    (re.compile(r"\bno one\b"), "nobody"),
    (re.compile(r"\b(?:the|this|that) ones?\b"), " "),
    (re.compile(r"\b(day|night)[ -]time\b"), r"\1"),
    (
        re.compile(rf"\b({'|'.join(_TENS)})[ -]({'|'.join(_UNITS[1:10])})\b"),
        lambda found: str(_NUMBERS[found[1]] + _NUMBERS[found[2]]),
    ),
]


def _words(text: str) -> list[str]:
    """The lowercased words of a text, in one spelling."""
    plain = unicodedata.normalize("NFKC", rules.spoken(text)[: rules.LONGEST]).casefold()
    plain = plain.replace("\u2019", "'")
    for pattern, by in _CHANGES:
        plain = pattern.sub(by, plain)
    return [_SPELLINGS.get(word, word) for word in _WORD.findall(plain)]


def _meaning(words: list[str]) -> set[str]:
    """The words that carry meaning, less their endings; marked where one before denies them."""
    kept = [word for word in words if word not in _EMPTY]
    return {
        f"not {rules.stem(word)}" if before in _DENIES else rules.stem(word)
        for before, word in zip(["", *kept], kept, strict=False)
        if word not in _DENIES
    }
