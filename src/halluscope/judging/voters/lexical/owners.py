"""Rules for people who are named only as the owners of things."""

from halluscope.judging.voters.lexical.sentences import Sentence
from halluscope.judging.voters.lexical.tables import grammar, words_of


def belongs_to_nobody(sentence: Sentence, place: int, end: int, definite: bool) -> str:
    """Whether an owner is only a kind of owner, or has left the things behind.

    "A chef's hat", "the gardener's gloves lie on a pot", but not "a chef's hand" nor "the chef's hat is tall".
    """
    words = sentence.words
    if end - 1 not in sentence.possessive:
        return ""
    thing = (words[end : end + 1] or [","])[0]
    if thing in words_of("absent", "works") and not definite:
        return "absent owner"
    if words[end - 1] in words_of("absent", "anybody"):
        return ""
    if words[end - 1] in words_of("absent", "shops") and _ends_phrase(thing):
        return "absent owner"  # "closed, like the barber's"
    following = range(end, min(end + 5, len(words)))
    noun = next(
        (i for i in following if _ends_phrase(words[i]) and i not in sentence.hyphened), following.stop
    )
    owned = {*words[end:noun], *(word.removesuffix("s") for word in words[end:noun])}
    if owned & words_of("absent", "body"):
        return ""
    left = not words_of("absent", "lying").isdisjoint(words[noun : noun + 3])
    indefinite = not definite and owned & words_of("absent", "belongings")
    return "absent owner" if left or indefinite or owned & words_of("absent", "places") else ""


def _ends_phrase(word: str) -> bool:
    return word in grammar().after_noun or word in words_of("absent", "lying") or not word[0].isalnum()
