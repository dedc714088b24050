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

from halluscope.benchmarks.hqh.words import DEGREES, DENIES, EMPTY, NUMBERS, SPELLINGS, TENS, UNITS
from halluscope.judging import free_text

KEY = "contains-2"  # part of a signature; the number goes up when a rule changes

WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+")

ONE_TO_NINE = "|".join(UNITS[1:10])


def tens_and_units(match: re.Match[str]) -> str:
    """Return twenty-one as 21."""
    return str(NUMBERS[match[1]] + NUMBERS[match[2]])


def hundreds(match: re.Match[str]) -> str:
    """Return two hundred as 200."""
    return str(100 * NUMBERS[match[1]])


def number_of(match: re.Match[str]) -> str:
    """Return twelve as 12."""
    return str(NUMBERS[match[0]])


# What is replaced in a text in lower case, in this order, and by what
CHANGES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<=\d),(?=\d{3}\b)", ""),
    (r"n't\b|(?<=\bcan)not\b", " not"),
    (r"\bnot (?:only|just|merely)\b", " "),
    (r"\bnot a single\b", "no"),
    (r"\bno one\b", "nobody"),
    (r"\b(?:the|this|that) ones?\b", " "),
    (r"\b(day|night)[ -]time\b", r"\1"),
    (rf"\b({'|'.join(TENS)})[ -]({ONE_TO_NINE})\b", tens_and_units),
    (rf"\b({ONE_TO_NINE}) hundred\b", hundreds),
    (rf"\b(?:{'|'.join(NUMBERS)})\b", number_of),
)

PAUSE = r"[.,;:!?]+(?=[\s\"')]|$)"  # ends a denial
SENTENCE_END = r"(?<=[.!?])\s+|\n+"

# What is not asserted: the other side of a comparison, and what is left open
COMPARED = (
    r"\b(?:than|compared (?:to|with)|unlike)\b[^.,;:!?\n]*?(?=[.,;:!?\n]|\b(?:is|are|was|were|and|but)\b|$)"
)
DOUBTED = r"\b(?:whether|(?:tell|know|sure|certain|clear|say|determine|see) if)\b[^.,;:!?\n]*"

HOW_MANY = re.compile(r"\bhow many?\b|\bnumbers? of\b")  # upstream asks "How man kites ...?" too
NUMBER = r"\d+(?:[.,:]\d+)*"
COUNTED = rf"\b\d+to\d+\b|(?<![\w.,:])(?<!\bnot )(?:{NUMBER})(?!\w)"
RANGE = r"\b\d+ ?(?:-|\u2013|to|or) ?\d+\b|\bbetween \d+ and \d+\b"
A_RANGE = "1to2"  # what stands for any range: no number
PRONOUN = (
    r"\b(?:first|second|third|last|other|another|each|every|which) 1\b"
    r"|(?m:^[ ]*\d+[.)](?=\s\S))|\b1(?= (?:of|is|was|has|can|could|might|may|who|which|that)\b)"
)
NOTHING = re.compile(
    r"\b(?:0|none|nobody|nothing)\b|\bno (?!idea|doubt|way|clear|information)\w|^\W*no\W*$"
    r"|\bnot (?:\w+ ){0,3}any\b|\bthere (?:is|are|was|were) not\b"
)


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
    right = plain(truth)
    plain_question = plain(question)
    right_words = words_of(right)
    if not right_words:
        return None
    if right_words in (["yes"], ["no"]):
        reading = free_text.read(answer, question).answer
        if reading is None:
            return None
        return reading == right_words[0]

    assertion = asserted(plain(answer), plain_question, right)
    is_count = not question or HOW_MANY.search(plain_question) is not None
    meaning = meaning_of(right)
    of_its_own = meaning - meaning_of(plain_question)
    if of_its_own:
        meaning = of_its_own
    if right_words in (["none"], ["nobody"]) or (is_count and meaning == {"0"}):
        return denies_all(assertion)
    if is_count and len(meaning) == 1:
        (number,) = meaning
        if re.fullmatch(NUMBER, number):
            return numbers_of(assertion)[:1] == [number]
    if meaning:
        return meaning <= meaning_of(assertion)
    return set(right_words) <= set(words_of(assertion))


def plain(text: str) -> str:
    """Return a text in lower case, with numbers as digits and each denial as a separate word."""
    spoken = free_text.spoken(text)[: free_text.LONGEST]
    changed = unicodedata.normalize("NFKC", spoken).casefold().replace("\u2019", "'")
    for pattern, replacement in CHANGES:
        changed = re.sub(pattern, replacement, changed)
    return changed


def asserted(answer: str, question: str, right: str) -> str:
    """Return what a response itself asserts: without the question, comparisons, and what it leaves open."""
    question_words = words_of(question)
    sentences = []
    for sentence in re.split(SENTENCE_END, answer):
        if not question_words or words_of(sentence) != question_words:
            sentences.append(sentence)
    kept = re.sub(DOUBTED, " ", "\n".join(sentences))
    if re.search(COMPARED, right):
        return kept
    return re.sub(COMPARED, " ", kept)


def words_of(text: str) -> list[str]:
    """Return a plain text's words, each in one spelling."""
    return [SPELLINGS.get(word, word) for word in WORD.findall(text)]


def numbers_of(text: str) -> list[str]:
    """Return a plain text's numbers in order; pronouns and numbers of list items count only if there is no other."""
    ranged = re.sub(RANGE, A_RANGE, text)
    without_pronouns = re.sub(PRONOUN, " ", ranged)
    numbers: list[str] = re.findall(COUNTED, without_pronouns)
    if numbers:
        return numbers
    return re.findall(COUNTED, ranged)


def denies_all(text: str) -> bool:
    """Whether a plain text says that there is nothing, and names no number."""
    for number in numbers_of(text):
        if number != "0":
            return False
    return NOTHING.search(text) is not None


def meaning_of(text: str) -> set[str]:
    """Return the words that carry meaning, without endings; "not " precedes words that their clause denies."""
    meaning = set()
    for clause in re.split(PAUSE, text):
        is_denied = False
        for word in words_of(clause):
            if word in EMPTY:
                continue
            if word in DENIES:
                is_denied = True
                continue
            stem = free_text.stem(word)
            meaning.add(f"not {stem}" if is_denied else stem)
            if word not in DEGREES:
                is_denied = False
    return meaning
