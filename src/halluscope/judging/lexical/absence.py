"""Ways to say that something is not there other than by a phrase around it: inversions, counts of zero, "neither"."""

import itertools

from halluscope.judging.lexical.clauses import is_finite_verb
from halluscope.judging.lexical.sentences import Candidate
from halluscope.judging.lexical.tables import ABSENT, GRAMMAR, Cue, at, is_determiner, last_of, words_before

ABSENCE = Cue("negated", "clause", keeps_definite=False)
COPULAS = frozenset({"is", "are", "was", "were"})

# How far a verb may be from what it is about
NEAR = 10


def opens_absence(words: list[str]) -> int:
    """Return where a sentence goes on after words such as "Missing from the table are"; 0 if it does not begin so."""
    missing = 0
    while at(words, missing) in ABSENT.before_missing:
        missing += 1
    if at(words, missing) == "not" and at(words, missing + 1) in ABSENT.presence:
        missing += 1  # "Not visible in the picture are"
    elif at(words, missing) not in ABSENT.missing:
        return 0
    following = at(words, missing + 1)
    if following not in ABSENT.after_missing and following not in COPULAS:
        return 0
    for index in range(missing + 1, min(len(words), missing + NEAR)):
        if words[index] in COPULAS or words[index] == ":":
            return index + 1
        if words[index] == ",":
            return 0
    return 0


def is_exception(words: list[str], index: int) -> bool:
    """Whether what "except" at a place names is not there: "all the fruits except bananas".

    In "all the dogs are brown except the puppy" it is there: only its colour is another.
    """
    whole = last_of(words, GRAMMAR.every, max(0, index - 12), index)
    if whole < 0:
        return False
    for verb in range(whole + 1, index):
        if is_finite_verb(words, verb):
            following = words[verb + 1 : index]
            return not following or not ABSENT.where.isdisjoint(following[:4])
    return True


def is_counted_zero(mention: Candidate) -> bool:
    """Whether a sentence says that the number of an object is zero: "The number of dogs in the picture is zero"."""
    before = words_before(mention.words, mention.index, 5)
    if "of" not in before or ABSENT.counts.isdisjoint(before):
        return False
    following = mention.following(NEAR)
    pairs = itertools.pairwise(following)
    return any(verb in ABSENT.counted and value in ABSENT.zeros for verb, value in pairs)


def is_what_lacks(mention: Candidate) -> bool:
    """Whether an object is what something lacks: "A clock is the only thing that the room lacks"."""
    following = mention.following(NEAR + 4)
    if at(following, 0) not in COPULAS:
        return False
    if at(following, 1) not in {"the", "one", "something"}:
        return False
    thing = 1
    while is_determiner(at(following, thing)) or at(following, thing) == "only":
        thing += 1
    if at(following, thing) not in ABSENT.things:
        return False
    return not ABSENT.lacks.isdisjoint(following[thing + 1 :])


def is_denied_presence(mention: Candidate) -> bool:
    """Whether a denial of something known is a denial that it is there: "Neither the cat nor the dog is visible"."""
    words = mention.words
    is_aside = words_before(words, mention.start, 2) == [",", "not"]
    if is_aside and not mention.after[:1].isalnum():
        return has_presence(words[: mention.start])  # "Only the rider is visible, not the horse"
    if ABSENT.both_denied.isdisjoint(words[: mention.start]):
        return False
    for index in range(mention.end, min(len(words), mention.end + NEAR)):
        if words[index] in COPULAS or words[index] == "be":
            return has_presence(words[index + 1 : index + 5])
    return False


def has_presence(words: list[str]) -> bool:
    """Whether words say that something is in the image: "visible", "in the picture"."""
    if not ABSENT.presence.isdisjoint(words):
        return True
    for preposition, place in zip(words, words[2:], strict=False):
        if preposition in {"in", "within"} and place in ABSENT.images:
            return True
    return False
