"""Finds what a response contains: the short right answer, and the claims that a judge quotes. No model is asked.

What a model thinks aloud, in <think> ... </think>, is not read. The rules:

- A right answer of yes or no is compared with the yes or no that `halluscope.judging.free_text` reads.
- A right answer to "How many ...?" that is only a number is compared with the response's first number. A range ("4-5")
  is not a number. Two kinds of number count only if the response has no other: the "one" in "the first one", "one of
  them" and "one is", and the number of a list item.
- If the right answer is "none" or "nobody", or is 0 and the question "How many ...?", the response must deny something
  ("no dogs", "none", "don't see any"), and must contain no other number.
- For any other right answer, each of its words that carries meaning and is not in the question must occur in the
  response: as a whole word, without its ending, in any order. If no such word is left, each of its words must occur.
- Not read are a sentence that repeats the question; what follows "than", "compared to" and "unlike"; and what follows
  "whether" and "I cannot tell if".
- A word right after "no", "not" or "without" is a different word: "not red" and "not very red" do not contain red, but
  "No, it is red" and "not only red" do. A denial ends at a comma or a full stop.
- Numbers become digits: "Two." is 2. Colours have one spelling, and so do times of day (daytime and daylight are day).

Limits: the rules see neither an extra claim next to the right answer, nor the same meaning in other words. If a
response compares two things, both count as said unless "than" or a similar word stands between them. "One of the three
is red" counts as three.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from halluscope.judging import free_text
from halluscope.sanitize import encodable
from halluscope.vocabularies import read_toml

KEY = "contains-2"
"""Part of a signature; the number goes up when a rule changes."""


@lru_cache(maxsize=10_000)
def contains(answer: str, truth: str, question: str = "") -> bool | None:
    """Whether a response contains the right answer.

    Args:
        answer: the LVLM's raw response.
        truth: the short right answer.
        question: the question. Its words in a response prove nothing. It also says whether a number is a count; without
            a question, every number is a count.

    Returns:
        True or False; None if the right answer is yes or no and the response reads as neither, or if the right answer
        has no words.

    >>> contains("I can see two gray cats.", "2."), contains("A gray cat.", "Grey."), contains("It isn't red.", "Red.")
    (True, True, False)
    >>> contains("The sky and the sea.", "Yes.") is None
    True
    """
    right, asked, said = _plain(truth), _plain(question), _plain(answer)
    wanted = _words(right)
    if wanted in (["yes"], ["no"]):
        reading = free_text.read(answer, question).answer
        return None if reading is None else [reading] == wanted
    if not wanted:
        return None
    said = _asserted(said, asked, right)
    meaning = _meaning(right)
    meaning = meaning - _meaning(asked) or meaning
    counted = not question or re.search(_COUNTS, asked) is not None
    if wanted in (["none"], ["nobody"]) or (counted and meaning == {"0"}):
        return set(_numbers(said)) <= {"0"} and bool(re.search(_NOTHING, said))
    if counted and len(meaning) == 1 and re.fullmatch(_NUMBER, next(iter(meaning))):
        return _numbers(said)[:1] == [*meaning]
    return meaning <= _meaning(said) if meaning else set(wanted) <= set(_words(said))


_TABLE = read_toml(__file__, "benchmark.toml")["words"]
_DENIES, _DEGREES, _EMPTY = (frozenset(_TABLE[name]) for name in ("denies", "degrees", "empty"))
_UNITS, _TENS, _SPELLINGS = (_TABLE[name] for name in ("units", "tens", "spellings"))
_NUMBERS = {
    **{name: number for number, name in enumerate(_UNITS)},
    **{name: 10 * number for number, name in enumerate(_TENS, 2)},
    "single": 1,
    "hundred": 100,
}

_WORD = r"\d+(?:[.,:]\d+)+|[^\W_]+"
_CHANGES: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"(?<=\d),(?=\d{3}\b)", ""),
    (r"n't\b|(?<=\bcan)not\b", " not"),
    (r"\bnot (?:only|just|merely)\b", " "),
    (r"\bnot a single\b", "no"),
    (r"\bno one\b", "nobody"),
    (r"\b(?:the|this|that) ones?\b", " "),
    (r"\b(day|night)[ -]time\b", r"\1"),
    (
        rf"\b({'|'.join(_TENS)})[ -]({'|'.join(_UNITS[1:10])})\b",
        lambda found: str(_NUMBERS[found[1]] + _NUMBERS[found[2]]),
    ),
    (
        rf"\b({'|'.join(_UNITS[1:10])}) hundred\b",
        lambda found: str(100 * _NUMBERS[found[1]]),
    ),
    (rf"\b(?:{'|'.join(_NUMBERS)})\b", lambda found: str(_NUMBERS[found[0]])),
]

_PAUSE = r"[.,;:!?]+(?=[\s\"')]|$)"
_SENTENCE = r"(?<=[.!?])\s+|\n+"
_COMPARED = (
    r"\b(?:than|compared (?:to|with)|unlike)\b[^.,;:!?\n]*?(?=[.,;:!?\n]|\b(?:is|are|was|were|and|but)\b|$)"
)
_DOUBTED = r"\b(?:whether|(?:tell|know|sure|certain|clear|say|determine|see) if)\b[^.,;:!?\n]*"

_COUNTS = re.compile(r"\bhow many?\b|\bnumbers? of\b")  # upstream asks "How man kites ...?" too
_NUMBER = r"\d+(?:[.,:]\d+)*"
_COUNTED = rf"\b\d+to\d+\b|(?<![\w.,:])(?<!\bnot )(?:{_NUMBER})(?!\w)"
_RANGE = r"\b\d+ ?(?:-|\u2013|to|or) ?\d+\b|\bbetween \d+ and \d+\b"
_PRONOUN = (
    r"\b(?:first|second|third|last|other|another|each|every|which) 1\b"
    r"|(?m:^[ ]*\d+[.)](?=\s\S))|\b1(?= (?:of|is|was|has|can|could|might|may|who|which|that)\b)"
)
_NOTHING = (
    r"\b(?:0|none|nobody|nothing)\b|\bno (?!idea|doubt|way|clear|information)\w|^\W*no\W*$"
    r"|\bnot (?:\w+ ){0,3}any\b|\bthere (?:is|are|was|were) not\b"
)


def _plain(text: str) -> str:
    """Return a text in lower case, with numbers as digits and each denial as a separate word."""
    plain = unicodedata.normalize("NFKC", free_text.spoken(text)[: free_text.LONGEST]).casefold()
    plain = plain.replace("\u2019", "'")
    for pattern, by in _CHANGES:
        plain = re.sub(pattern, by, plain)
    return plain


def _asserted(said: str, asked: str, right: str) -> str:
    """Return what a response itself asserts: without the question, comparisons, and what it leaves open."""
    question = _words(asked)
    sentences = [part for part in re.split(_SENTENCE, said) if not question or _words(part) != question]
    kept = re.sub(_DOUBTED, " ", "\n".join(sentences))
    return kept if re.search(_COMPARED, right) else re.sub(_COMPARED, " ", kept)


def _words(plain: str) -> list[str]:
    return [_SPELLINGS.get(word, word) for word in re.findall(_WORD, plain)]


def _numbers(plain: str) -> list[str]:
    """Return the numbers in order; any range becomes "1to2".

    Pronouns and list numbers count only if there is no other number.
    """
    ranged = re.sub(_RANGE, "1to2", plain)
    found = re.findall(_COUNTED, re.sub(_PRONOUN, " ", ranged))
    return found or re.findall(_COUNTED, ranged)


def _meaning(plain: str) -> set[str]:
    """Return the words that carry meaning, without endings; "not " precedes words that their clause denies."""
    found = set()
    for clause in re.split(_PAUSE, plain):
        kept = [word for word in _words(clause) if word not in _EMPTY]
        before = ""
        for word in kept:
            if word not in _DENIES:
                found.add(f"not {free_text.stem(word)}" if before in _DENIES else free_text.stem(word))
            if not (word in _DEGREES and before in _DENIES):
                before = word
    return found


# Quoted claims


def quoted(claims: list[str], answer: str) -> tuple[str, ...]:
    """Return the claims that are in a response, each once; case, punctuation and white space do not matter.

    If a claim leaves out a part with "...", the parts around it must occur in this order. A claim inside another claim
    does not count again, nor does an article alone.
    """
    text, spans = _bare(answer), dict[str, tuple[int, int]]()
    for claim in claims:
        parts = [*map(_bare, re.split(_LEFT_OUT, claim))]
        if (found := _spans(parts, text)) and not {*" ".join(parts).split()} <= {"a", "an", "the"}:
            spans[claim] = found[0][0], found[-1][1]
    outer: dict[tuple[int, int], str] = {}
    # the longest first
    for claim, (start, end) in sorted(spans.items(), key=lambda one: one[1][0] - one[1][1]):
        if not any(first <= start and end <= last for first, last in outer):
            outer[start, end] = claim
    return tuple(encodable(claim) for claim in spans if claim in outer.values())


def places(claim: str, answer: str) -> list[tuple[int, int]]:
    """Return where a claim occurs in a response word for word: the start and end of each part, or [] if it does not.

    >>> places("A red car ... fast", "A dog; a red  car drives fast."), places("two cats", "A cat.")
    ([(7, 17), (25, 29)], [])
    """
    return _spans(re.split(_LEFT_OUT, claim), answer)


_LEFT_OUT = r"\.{3}|\u2026"

# or a digit, except in scripts that put no space between words
_LETTER = r"[^\W_\u2e80-\u9fff\uac00-\ud7af]"


def _spans(parts: list[str], text: str) -> list[tuple[int, int]]:
    """Return where parts of a claim occur in a text, as whole words and in order; [] if they do not."""
    found: list[tuple[int, int]] = []
    for part in parts:
        if words := r"[\W_]+".join(map(re.escape, re.findall(r"[^\W_]+", part))):
            # the case of the words alone does not matter: ignoring that of all letters takes long to compile
            pattern = re.compile(rf"(?<!{_LETTER})(?i:{words})(?!{_LETTER})")
            if not (place := pattern.search(text, found[-1][1] if found else 0)):
                return []
            found.append(place.span())
    return found


def _bare(text: str) -> str:
    """Return a text in lower case, with each run of signs that are no letters or digits replaced by one space."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
