"""Whether a sentence that ends in a question mark asks: "The man rides a horse, doesn't he?" states something."""

import itertools

from halluscope.judging.lexical.clauses import is_finite_verb
from halluscope.judging.lexical.tables import QUESTIONS, at, is_determiner, phrases_of

# A sentence in the order of a statement that is as long as this states what it says, whatever its mark
LONG = 8

# Marks that begin an aside, or a tag at the end
DASHES = frozenset({"-", "—", "–"})


def asked_from(words: list[str]) -> int:
    """Return where the question begins in a sentence with a question mark; its length if it only states something."""
    unknowable = phrases_of("questions", "unknowable")
    if any(unknowable.at(words, index) for index in range(len(words))):
        return 0  # "A cat or a cushion lies there, who can tell?"
    for index in range(len(words)):
        if _opens_question(words, index):
            if at(words, index - 1) == "or":
                return 0  # "There is a boat on the lake, or is it a log?"
            return 0 if index < 3 else index
        if _begins_tag(words, index):
            return len(words) if index > 1 else 0
    if len(words) < LONG or words[0] in QUESTIONS.fragments or _offers_alternative(words):
        return 0
    states = any(is_finite_verb(words, index) for index in range(len(words)))
    return len(words) if states else 0


def _opens_question(words: list[str], index: int) -> bool:
    """Whether a question begins at a place: "is there", "what", and "how" after a colon."""
    word = words[index]
    before = at(words, index - 1)
    if index and before not in QUESTIONS.before_question:
        return False
    if word in QUESTIONS.auxiliaries:
        return index == 0 or at(words, index + 1) in QUESTIONS.subjects
    if word in QUESTIONS.interrogatives:
        is_joined = before in {",", "and"} or before in DASHES
        return not is_joined or word in {"how", "what", "why"}
    return False


def _begins_tag(words: list[str], index: int) -> bool:
    """Whether a mark begins a tag at the sentence's end: ", isn't it", ", right"."""
    is_mark = words[index] == "," or words[index] in DASHES
    return is_mark and _is_tag(words, index + 1)


def _is_tag(words: list[str], start: int) -> bool:
    """Whether the words from a place on are a tag such as "isn't it"."""
    length = len(words) - start
    if length == 1:
        return words[start] in QUESTIONS.tags
    if length == 3 and words[-1] not in {"not", "say", "think", "agree"}:
        return False
    if length not in (2, 3):
        return False
    return words[start] in QUESTIONS.auxiliaries and words[start + 1] in QUESTIONS.tag_subjects


def _offers_alternative(words: list[str]) -> bool:
    """Whether an "or" offers another thing: "The animal on the sofa is a cat or a dog?"."""
    openers = QUESTIONS.auxiliaries | QUESTIONS.alternatives
    for word, following in itertools.pairwise(words):
        if word == "or" and (is_determiner(following) or following in openers):
            return True
    return False
