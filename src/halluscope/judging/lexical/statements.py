"""Whether a sentence that ends in a question mark asks: "The man rides a horse, doesn't he?" states something."""

import itertools

from halluscope.judging.lexical.clauses import is_finite_verb
from halluscope.judging.lexical.tables import QUESTIONS, at, is_determiner, phrases_of

# A sentence in the order of a statement that is as long as this states what it says, whatever its mark
LONG = 8


def asked_from(words: list[str]) -> int:
    """Return where the question begins in a sentence with a question mark; its length if it only states something."""
    if any(phrases_of("questions", "unknowable").at(words, index) for index in range(len(words))):
        return 0  # "A cat or a cushion lies there, who can tell?"
    for index in range(len(words)):
        if _opens_question(words, index):
            if at(words, index - 1) == "or":
                return 0  # "There is a boat on the lake, or is it a log?"
            return 0 if index < 3 else index
        if _is_tag(words, index):
            return len(words) if index > 1 else 0
    if len(words) < LONG or words[0] in QUESTIONS.fragments:
        return 0
    for word, following in itertools.pairwise(words):
        alternative = is_determiner(following) or following in QUESTIONS.auxiliaries | QUESTIONS.alternatives
        if word == "or" and alternative:
            return 0  # "The animal on the sofa is a cat or a dog?"
    has_verb = any(is_finite_verb(words, index) for index in range(len(words)))
    return len(words) if has_verb else 0


def _opens_question(words: list[str], index: int) -> bool:
    """Whether a question begins at a place: "is there", "what", and "how" after a colon."""
    before, word, following = at(words, index - 1), words[index], at(words, index + 1)
    if index and before not in QUESTIONS.before_question:
        return False
    if _is_tag_at(words, index):
        return False
    if word in QUESTIONS.auxiliaries:
        return index == 0 or following in QUESTIONS.subjects
    if word in QUESTIONS.interrogatives:
        return before not in {",", "and", "-", "—", "–"} or word in {"how", "what", "why"}
    return False


def _is_tag(words: list[str], index: int) -> bool:
    """Whether a comma begins a tag at the sentence's end: ", isn't it", ", right"."""
    return words[index] in {",", "-", "—", "–"} and _is_tag_at(words, index + 1)


def _is_tag_at(words: list[str], index: int) -> bool:
    tag = words[index:]
    if len(tag) == 1:
        return tag[0] in QUESTIONS.tags
    is_short = len(tag) == 2 or (len(tag) == 3 and tag[2] in {"not", "say", "think", "agree"})
    return is_short and tag[0] in QUESTIONS.auxiliaries and tag[1] in QUESTIONS.tag_subjects
