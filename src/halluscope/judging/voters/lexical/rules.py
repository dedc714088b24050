"""Rules about the words around a mention. A rule returns its name if it takes the mention back, or else ""."""

from collections.abc import Mapping

from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.scopes import phrase_start
from halluscope.judging.voters.lexical.sentences import Sentence, Spans, within
from halluscope.judging.voters.lexical.tables import Cue, grammar, readings, words_of

HYPOTHESIS = Cue("hypothetical", "clause", keeps_definite=False)

Places = Mapping[int, tuple[int, int, str]]
"""Maps the place of a word that is only part of a compound to the compound's first place, its end, and its rule."""


def compound(sentence: Sentence, place: int, end: int, compounds: Places) -> str:
    """Whether a mention is only part of another thing's name: "bus stop", "toy car", "cat-shaped"."""
    owns = _owns(sentence, end - 1)
    if inside := compounds.get(end - 1) or compounds.get(place):
        first, past, rule = inside
        before = first < place and not _owns(sentence, first)
        after = past > end and not _is_predicate(sentence.words, past)
        left = rule == "remains" and sentence.words[past - 1] not in words_of("compounds", "attached")
        if before or (after and (left or not owns)):
            return rule
    if owns:
        return ""
    word_before = sentence.words[place - 1] if place else ""
    word_after = sentence.words[end] if end < len(sentence.words) else ""
    likeness = word_before in grammar().before_any or (
        word_after in grammar().after_any and sentence.words[end + 1 : end + 2] not in (["like"], ["with"])
    )
    hyphened = end in sentence.hyphened and word_after in grammar().after_hyphen
    return "part of a compound" if likeness or hyphened else ""


def _owns(sentence: Sentence, place: int) -> bool:
    """Whether a possessive is an owner's: "the dog's bowl", but not "the men's room"."""
    return place in sentence.possessive and sentence.words[place] not in grammar().possessive


def _is_predicate(words: list[str], past: int) -> bool:
    """Whether a compound's last word is a verb with an object: "the TV shows a match"."""
    following = words[past] if past < len(words) else ""
    determined = following in grammar().definite or following in {"a", "an", "on", "against", "at", "in"}
    return determined and words[past - 1].endswith(("s", "ing"))


def tells_what_kind(mention: Found, words: list[str], place: int) -> bool:
    """Whether a mention belongs to the one at `place`: "baby elephant" (but not "a child skiing down")."""
    adjacent = mention.place_after == place and words[place - 1] in grammar().before_object
    return adjacent and not words[place].endswith("ing") and words[place] not in grammar().after_noun


def shares_compound(mention: Found, place: int, end: int) -> bool:
    """Whether a mention shares the noun after the one at `place`: "a knife and fork symbol", "a cat and dog show"."""
    words = mention.sentence.words
    joined = mention.place_after == place - 1 and words[place - 1] in {"and", "or"}
    determined = words[phrase_start(words, 0, mention.place)] in grammar().indefinite | grammar().definite
    noun = (words[end : end + 1] or [","])[0]
    return joined and determined and noun[0].isalnum() and noun not in grammar().after_noun


def other_reading(words: list[str], place: int, end: int, found: list[Found]) -> str:
    """Whether a word that can be a noun is something else here: "an orange sign", "a remote area", "to tie"."""
    if end - place > 1:
        return ""
    if _is_verb(words, place):
        return "another meaning"
    if words[place] not in readings().adjectives:
        return ""
    before = words[place - 1] if place else ""
    after, then = [*words[end : end + 2], "", ""][:2]
    noun_ends = after in grammar().after_noun or after in grammar().participles or not after[:1].isalnum()
    determiner = words[phrase_start(words, 0, place)]
    determined = determiner in grammar().definite or determiner in grammar().indefinite
    in_list = before in {",", "and", "or"} and bool(found) and found[-1].place_after >= place - 2
    color = before in grammar().colors or (after in {"and", "or", ","} and then in grammar().colors)
    item = before in {"", "-", "|", "["} and after in {":", "|", "=", "→", "-"}
    return "" if item or (noun_ends and (determined or in_list) and not color) else "another meaning"


def _is_verb(words: list[str], place: int) -> bool:
    """Whether a noun's form is a verb here: "can bear", "he trains", "the shirt bears the words"."""
    word = words[place]
    before = words[place - 1] if place else ""
    if word in readings().verbs:
        preposition = place > 1 and words[place - 2] in readings().before_preposition
        bare = word in readings().after_plural or words[place + 1 : place + 2] in (
            ["the"],
            ["a"],
            ["an"],
            ["their"],
        )
        after_plural = bare and _is_plural(before)
        return after_plural or (before in readings().before_verb and not (before == "to" and preposition))
    if not word.endswith("s") or readings().verbs.isdisjoint((word[:-1], word.removesuffix("es"))):
        return False
    if before in readings().subjects:
        return True
    after, then = [*words[place + 1 : place + 3], "", ""][:2]
    counted = words[phrase_start(words, 0, place)] in grammar().indefinite - {"a", "an", "each", "every"}
    return after in readings().after_verb and then not in {"size", "few", "couple"} and not counted


def _is_plural(word: str) -> bool:
    return word in {"children", "people", "men", "women", "feet"} or (
        len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    )


def modal(words: list[str], end: int, definite: bool) -> str:
    """Whether the text only says what an indefinite mention may do: "where people can sit".

    "People can be seen", however, says that they are there.
    """
    if definite or end == len(words):
        return ""
    if words[end] not in grammar().modals:
        return "hypothetical" if _would_have(words, end) else ""
    then = words[end + 1 : end + 4]
    there = "be" in then and (words[end] == "can" or any(word in grammar().seen for word in then))
    return "" if there else "hypothetical"


def place_of(words: list[str], start: int, end: int) -> str:
    """Whether the text gives only a thing's place or time: "where the clock ought to hang", "when the bus comes"."""
    before = words[start - 1] if start else ""
    if before == "where":
        told = not words_of("hedges", "formerly").isdisjoint(words[end : end + 2])
    elif before in words_of("hedges", "until") or words[max(0, start - 2) : start] in (
        ["soon", "as"],
        ["the", "time"],
    ):
        told = not words_of("hedges", "coming").isdisjoint(words[end : end + 1])
    else:
        told = before == "after" and not words_of("hedges", "departures").isdisjoint(words[end : end + 1])
    return "hypothetical" if told else ""


def _would_have(words: list[str], end: int) -> bool:
    """Whether the words after a noun lead to a wish: "a clock above the mantelpiece would have helped"."""
    if words[end] not in words_of("clause", "joins"):
        return False
    for word in words[end + 1 : end + 8]:
        if word == "would":
            return True
        if word in grammar().ends_clause or word in words_of("clause", "not_in_list"):
            return False
    return False


def identity(words: list[str], cue: int, opened: int, place: int, end: int) -> bool:
    """Whether a hedge says what a visible thing is: "a large vehicle, most likely a bus", "what is probably a bus".

    A guess at what happens ("maybe a bus is coming") does not, and neither does a guess between several things.
    """
    before = words[max(0, cue - 2) : cue]
    if before in (["what", "is"], ["what", "are"]):
        return True
    names = before[-1:] and before[-1] in words_of("hedges", "before_identity") and before[0] != "there"
    alone = phrase_start(words, opened, place) == opened and not words[opened].endswith("ing")
    return (
        bool(names) and alone and (words[end : end + 1] or [","])[0] in words_of("hedges", "after_identity")
    )


def conditions(words: list[str], opened: int, place: int, end: int) -> bool:
    """Whether a doubt is about something that is there: "if the dog runs any further", but not "if the dog comes".

    "Whether the dog is asleep" is such a doubt, but "whether the dog is in the picture" is not.
    """
    asked = words[opened : phrase_start(words, opened, place)] or words[max(0, opened - 1) : opened]
    if not words_of("hedges", "doubts").issuperset(asked) or words[max(0, opened - 2)] == "as":
        return False
    verb = (words[end : end + 1] or [""])[0]
    if asked[-1:] != ["if"] and verb in {"is", "are", "was", "were", "has", "have"}:
        return words_of("hedges", "presence").isdisjoint(words[end + 1 : end + 5])
    if asked[-1] in words_of("hedges", "of_identity"):
        return False  # "possibly their friends"
    return verb not in words_of("hedges", "arrivals") | {""}


def put_right(sentence: Sentence, place: int, spans: Spans) -> bool:
    """Whether a mention in quotation marks is the corrected wording: "for 'cat' read 'dog'"."""
    restates = (
        place and sentence.words[place - 1] in {"read", "say"} and within(sentence.starts[place], spans)
    )
    return bool(restates) and not {"for", "should", "please"}.isdisjoint(
        sentence.words[max(0, place - 12) : place]
    )


def opens_hypothesis(words: list[str], place: int) -> bool:
    """Whether a clause begins with a verb before its subject, or is an order: "Had she an umbrella", "Bring a dog"."""
    opens = place == 0 or words[place - 1] == ","
    following = words[place + 1] if place + 1 < len(words) else ""
    if words[place] in grammar().orders:
        return place == 0 and following in grammar().ordered
    return opens and following in grammar().subjects


def takes_sense(mention: Found, around: set[str]) -> bool:
    """Choose the sense of an ambiguous word by the rest of the text: a "boxer" on a leash is a dog.

    It sets the mention's classes, and returns whether the text supports the sense given in the table.
    """
    if len(mention.words) > 1 or mention.words[0] not in readings().senses:
        return False
    own, by = readings().senses[mention.words[0]]
    there = not by.isdisjoint(around)
    mention.classes = tuple(cls for cls in mention.classes if (cls.lower() == own) == there)
    return there


def meaning_elsewhere(mention: list[str], around: set[str], names: frozenset[str]) -> str:
    """Whether the rest of the text gives a word another meaning: after "teddy bear", "the bear" is a teddy bear.

    A word that is a class's own name needs no support from the text.
    """
    word = " ".join(mention)
    taken = any(by & around and not but & around for by, but in readings().unless.get(word, ()))
    alone = word not in names and word in readings().only_with and not readings().only_with[word] & around
    return "another meaning" if taken or alone else ""
