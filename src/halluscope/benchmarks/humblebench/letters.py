"""Reads a response as the letter of a choice: the rules return the letter's number, or `UNREAD`."""

import re

from halluscope.benchmarks.humblebench.data import LETTERS
from halluscope.judging.marked_answer import answer_in
from halluscope.responses.parsers import STRICT, Parser

UNREAD = len(LETTERS)  # of a response that a rule cannot read

OFFICIAL = "official"

LETTER = "[ABCDE]"

_WORD = re.compile(r"\b\w+\b")
_MARKED = re.compile(rf"\W*{LETTER}(?:\W*$|\s*[.:),])", re.IGNORECASE)
_ALONE = re.compile(rf"\W*({LETTER})\W*")
# Other signs, such as a colon, may follow in any number: two repeats of spaces in a row would take minutes
_ANSWER_IS = r"(?:(?:the )?(?:final |correct )?(?:answer|option|choice)(?: is)?)?\W*"
_FIRST = re.compile(rf"{_ANSWER_IS}({LETTER})\b(?!'\w)", re.IGNORECASE)
_NONE_OF_THEM = re.compile(rf"{_ANSWER_IS}none of the above\b", re.IGNORECASE)  # what E says in each question
_NOT_E = re.compile(r"\b[BCD]\b")
_ANOTHER = re.compile(r"\b[BCDE]\b")  # A is a word too
_AFTER_AN_ARTICLE = re.compile(r"\s+(?!(?:is|because|since|as)\b)\w")


def official(text: str) -> int:
    """Read the only letter of a choice among a response's words, in upper or lower case: "A dog" is A.

    >>> official("the answer is c."), official("A or B"), official("None of them")
    (2, 5, 5)
    """
    words = set(_WORD.findall(text.lower()))
    letters = [letter for letter in LETTERS if letter.lower() in words]
    if len(letters) != 1:
        return UNREAD
    return LETTERS.index(letters[0])


def strict(text: str) -> int:
    """Read the letter that a response gives as its answer; none if another letter follows, or a noun after "a".

    It is the letter that the response marks (`halluscope.judging.marked_answer`), has on a line of its own at the
    beginning or the end, or begins with. "None of the above", which E says, is E.

    >>> strict("The answer is C."), strict("A dog"), strict("A is right"), strict("Let me think.\\nB")
    (2, 5, 0, 1)
    >>> strict("None of the above.")
    4
    """
    answer = answer_in(text, _begins_with_letter, _MARKED)
    letter = _line_of_its_own(answer) or _first_letter(answer)
    if letter is None:
        return UNREAD
    return LETTERS.index(letter)


RULES: dict[str, Parser] = {OFFICIAL: official, STRICT: strict}


def _begins_with_letter(text: str) -> bool:
    return _first_letter(text) is not None


def _line_of_its_own(text: str) -> str | None:
    """Return the letter that stands alone in the first or the last line with words; None if two letters stand alone."""
    lines = [line for line in text.split("\n") if re.search(r"\w", line)]
    alone = [_ALONE.fullmatch(line) for line in lines]
    letters = {line[1] for line in alone if line}
    if len(letters) == 1 and (alone[0] or alone[-1]):
        return letters.pop()
    return None


def _first_letter(text: str) -> str | None:
    """Return the letter that a text begins with as its answer."""
    text = text.strip()
    if _NONE_OF_THEM.match(text) and not _NOT_E.search(text):
        return "E"
    begins = _FIRST.match(text)
    if begins is None:
        return None
    rest = text[begins.end() :]
    if _ANOTHER.search(rest):
        return None
    letter = begins[1].upper()
    if letter == "A" and _AFTER_AN_ARTICLE.match(rest):
        return None
    return letter
