"""Rules about the words around a mention. A rule returns its name if it takes the mention back, or else ""."""

from collections.abc import Iterable, Mapping
from functools import cache

from halluscope.judging.lexical.sentences import Candidate, Sentence
from halluscope.judging.lexical.tables import (
    ABSENT,
    CLAUSE,
    COMPOUNDS,
    DEPICTION,
    GRAMMAR,
    HEDGES,
    READINGS,
    Cue,
    Words,
    at,
    forms,
    is_determiner,
    only_with,
    phrase_start,
    senses,
    unless,
)

HYPOTHESIS = Cue("hypothetical", "clause", keeps_definite=False)
PICTURE = Cue("depicted", "sentence", keeps_definite=True)

# Maps the place of a word that is only part of a compound to the compound's first place, its end, and its rule
Places = Mapping[int, tuple[int, int, str]]


# ---- Another thing's name, or another meaning ----


def compound(sentence: Sentence, place: int, end: int, compounds: Places) -> str:
    """Whether a mention is only part of another thing's name: "bus stop", "toy car", "cat-shaped"."""
    words = sentence.words
    owns = _owns(sentence, end - 1)
    if inside := compounds.get(end - 1) or compounds.get(place):
        first, past, rule = inside
        before = first < place and not _owns(sentence, first)
        after = past > end and not _is_predicate(words, past)
        left = rule == "remains" and words[past - 1] not in COMPOUNDS.attached
        if before or (after and (left or not owns)):
            return rule
    if owns:
        return ""
    following = at(words, end)
    likeness = at(words, place - 1) in COMPOUNDS.before_any or (
        following in COMPOUNDS.after_any and at(words, end + 1) not in {"like", "with"}
    )
    hyphened = end in sentence.hyphened and following in COMPOUNDS.after_hyphen
    return "part of a compound" if likeness or hyphened else ""


def _owns(sentence: Sentence, place: int) -> bool:
    """Whether a possessive is an owner's: "the dog's bowl", but not "the men's room"."""
    return place in sentence.possessive and sentence.words[place] not in COMPOUNDS.possessive


def _is_predicate(words: list[str], past: int) -> bool:
    """Whether a compound's last word is a verb with an object: "the TV shows a match"."""
    following = at(words, past)
    determined = following in GRAMMAR.definite or following in {"a", "an", "on", "against", "at", "in"}
    return determined and words[past - 1].endswith(("s", "ing"))


def tells_what_kind(mention: Candidate, words: list[str], place: int) -> bool:
    """Whether a mention belongs to the one at `place`: "baby elephant" (but not "a child skiing down")."""
    adjacent = mention.end == place and words[place - 1] in COMPOUNDS.before_object
    return adjacent and not words[place].endswith("ing") and words[place] not in GRAMMAR.after_noun


def shares_compound(mention: Candidate, place: int, end: int) -> bool:
    """Whether a mention shares the noun after the one at `place`: "a knife and fork symbol", "a cat and dog show"."""
    words = mention.sentence.words
    joined = mention.end == place - 1 and words[place - 1] in {"and", "or"}
    noun = at(words, end) or ","
    return (
        joined
        and is_determiner(words[phrase_start(words, 0, mention.place)])
        and noun[0].isalnum()
        and noun not in GRAMMAR.after_noun
    )


def other_reading(words: list[str], place: int, end: int, found: list[Candidate]) -> str:
    """Whether a word that can be a noun is something else here: "an orange sign", "a remote area", "to tie"."""
    if end - place > 1:
        return ""
    if _is_verb(words, place):
        return "another meaning"
    if words[place] not in READINGS.adjectives:
        return ""
    before, after, then = at(words, place - 1), at(words, end), at(words, end + 1)
    noun_ends = after in GRAMMAR.after_noun or after in GRAMMAR.participles or not after[:1].isalnum()
    determined = is_determiner(words[phrase_start(words, 0, place)])
    in_list = before in {",", "and", "or"} and bool(found) and found[-1].end >= place - 2
    color = before in GRAMMAR.colors or (after in {"and", "or", ","} and then in GRAMMAR.colors)
    item = before in {"", "-", "|", "["} and after in {":", "|", "=", "→", "-"}
    return "" if item or (noun_ends and (determined or in_list) and not color) else "another meaning"


def _is_verb(words: list[str], place: int) -> bool:
    """Whether a noun's form is a verb here: "can bear", "he trains", "the shirt bears the words"."""
    word, before, after = words[place], at(words, place - 1), at(words, place + 1)
    if word in READINGS.verbs:
        if (word in READINGS.after_plural or after in {"the", "a", "an", "their"}) and (
            before in {"children", "people", "men", "women", "feet"}
            or (len(before) > 3 and before.endswith("s") and not before.endswith(("ss", "us", "is")))
        ):
            return True
        preposition = at(words, place - 2) in READINGS.before_preposition
        return before in READINGS.before_verb and not (before == "to" and preposition)
    if not word.endswith("s") or READINGS.verbs.isdisjoint((word[:-1], word.removesuffix("es"))):
        return False
    if before in READINGS.subjects:
        return True
    counted = words[phrase_start(words, 0, place)] in GRAMMAR.indefinite - {"a", "an", "each", "every"}
    of_number = at(words, place + 2) in {"size", "few", "couple"}
    return after in READINGS.after_verb and not of_number and not counted


def takes_sense(mention: Candidate, around: set[str]) -> bool:
    """Choose the sense of an ambiguous word by the rest of the text: a "boxer" on a leash is a dog.

    It sets the mention's classes, and returns whether the text supports the sense given in the table.
    """
    if mention.end - mention.place > 1 or mention.words[0] not in senses():
        return False
    own, by = senses()[mention.words[0]]
    there = not by.isdisjoint(around)
    mention.classes = tuple(cls for cls in mention.classes if (cls.lower() == own) == there)
    return there


def meaning_elsewhere(word: str, around: set[str], names: frozenset[str]) -> str:
    """Whether the rest of the text gives a word another meaning: after "teddy bear", "the bear" is a teddy bear.

    A word that is a class's own name needs no support from the text.
    """
    taken = any(by & around and not but & around for by, but in unless().get(word, ()))
    alone = word not in names and word in only_with() and not only_with()[word] & around
    return "another meaning" if taken or alone else ""


# ---- Wishes, guesses, and other things that are not there ----


def modal(words: list[str], end: int, definite: bool) -> str:
    """Whether the text only says what an indefinite mention may do: "where people can sit".

    "People can be seen", however, says that they are there.
    """
    if definite or end == len(words):
        return ""
    if words[end] not in GRAMMAR.modals:
        return "hypothetical" if _would_have(words, end) else ""
    then = words[end + 1 : end + 4]
    there = "be" in then and (words[end] == "can" or not GRAMMAR.seen.isdisjoint(then))
    return "" if there else "hypothetical"


def _would_have(words: list[str], end: int) -> bool:
    """Whether the words after a noun lead to a wish: "a clock above the mantelpiece would have helped"."""
    if words[end] not in CLAUSE.joins:
        return False
    for word in words[end + 1 : end + 8]:
        if word == "would":
            return True
        if word in CLAUSE.ends_clause or word in CLAUSE.not_in_list:
            return False
    return False


def place_of(words: list[str], start: int, end: int) -> str:
    """Whether the text gives only a thing's place or time: "where the clock ought to hang", "when the bus comes"."""
    before = at(words, start - 1)
    if before == "where":
        absent = not HEDGES.formerly.isdisjoint(words[end : end + 2])
    elif before in HEDGES.until or words[max(0, start - 2) : start] in (["soon", "as"], ["the", "time"]):
        absent = at(words, end) in HEDGES.coming
    else:
        absent = before == "after" and at(words, end) in HEDGES.departures
    return "hypothetical" if absent else ""


def identity(words: list[str], cue: int, opened: int, place: int, end: int) -> bool:
    """Whether a hedge says what a visible thing is: "a large vehicle, most likely a bus", "what is probably a bus".

    A guess at what happens ("maybe a bus is coming") does not, and neither does a guess between several things.
    """
    before = words[max(0, cue - 2) : cue]
    if before in (["what", "is"], ["what", "are"]):
        return True
    names = before != [] and before[-1] in HEDGES.before_identity and before[0] != "there"
    alone = phrase_start(words, opened, place) == opened and not words[opened].endswith("ing")
    return names and alone and (at(words, end) or ",") in HEDGES.after_identity


def conditions(words: list[str], opened: int, place: int, end: int) -> bool:
    """Whether a doubt is about something that is there: "if the dog runs any further", but not "if the dog comes".

    "Whether the dog is asleep" is such a doubt, but "whether the dog is in the picture" is not.
    """
    asked = words[opened : phrase_start(words, opened, place)] or words[max(0, opened - 1) : opened]
    if not HEDGES.doubts.issuperset(asked) or words[max(0, opened - 2)] == "as":
        return False
    verb = at(words, end)
    if asked[-1:] != ["if"] and verb in {"is", "are", "was", "were", "has", "have"}:
        return HEDGES.presence.isdisjoint(words[end + 1 : end + 5])
    if asked[-1] in HEDGES.of_identity:
        return False  # "possibly their friends"
    return verb != "" and verb not in HEDGES.arrivals


def restates(words: list[str], place: int) -> bool:
    """Whether a mention in quotation marks is the corrected wording: "for 'cat' read 'dog'"."""
    asks = {"for", "should", "please"}
    return at(words, place - 1) in {"read", "say"} and not asks.isdisjoint(words[max(0, place - 12) : place])


def opens_hypothesis(words: list[str], place: int) -> bool:
    """Whether a clause begins with a verb before its subject, or is an order: "Had she an umbrella", "Bring a dog"."""
    following = at(words, place + 1)
    if words[place] in GRAMMAR.orders:
        return place == 0 and following in GRAMMAR.ordered
    return (place == 0 or words[place - 1] == ",") and following in GRAMMAR.subjects


def belongs_to_nobody(sentence: Sentence, place: int, end: int, definite: bool) -> str:
    """Whether an owner is only a kind of owner, or has left the things behind.

    "A chef's hat", "the gardener's gloves lie on a pot", but not "a chef's hand" nor "the chef's hat is tall".
    """
    words = sentence.words
    if end - 1 not in sentence.possessive:
        return ""
    thing = at(words, end) or ","
    if thing in ABSENT.works and not definite:
        return "absent owner"
    if words[end - 1] in ABSENT.anybody:
        return ""
    if words[end - 1] in ABSENT.shops and _ends_phrase(thing):
        return "absent owner"  # "closed, like the barber's"
    following = range(end, min(end + 5, len(words)))
    noun = next(
        (i for i in following if _ends_phrase(words[i]) and i not in sentence.hyphened), following.stop
    )
    owned = {*words[end:noun], *(word.removesuffix("s") for word in words[end:noun])}
    if owned & ABSENT.body:
        return ""
    left = not ABSENT.lying.isdisjoint(words[noun : noun + 3])
    indefinite = not definite and owned & ABSENT.belongings
    return "absent owner" if left or indefinite or owned & ABSENT.places else ""


def _ends_phrase(word: str) -> bool:
    return word in GRAMMAR.after_noun or word in ABSENT.lying or not word[0].isalnum()


# ---- Pictures: objects that are only shown in one, and pictures that are the image itself ----


def shown_on(words: list[str], place: int, end: int) -> str:
    """Whether a mention is a picture on something: "a dog on the poster", "a mug with a cat on it"."""
    following = at(words, end)
    if following and following not in _before_surfaces():
        return ""
    on_sign = words[end - 1] in _on_signs()
    if on_sign and (not following or following in DEPICTION.of_signs):
        start = phrase_start(words, 0, place)  # "a sign with a cow"
        if at(words, start - 1) in {"with", "has", "have"} and _is_sign(words, range(start - 2, start - 1)):
            return "depicted"
    end += at(words, end) in {"is", "are"}
    end += at(words, end) in DEPICTION.made
    if at(words, end) not in {"on", "in", "across"}:
        return ""
    surface = words[end + 1 : end + 4]
    if is_determiner(at(words, end + 1)) and (
        not DEPICTION.surfaces.isdisjoint(surface[1:])
        or (on_sign and _is_sign(words, range(end + 2, end + 4)))
    ):
        return "depicted"
    carried = any(
        (words[i] in DEPICTION.prints or (on_sign and _is_sign(words, [i])))
        and words[i + 1] in {"with", "has", "have", "having"}
        for i in range(max(0, place - 9), place - 1)
    )
    itself = surface[:1] and surface[0] in {"it", "its", "them"}
    face = surface[:1] == ["the"] and {"front", "back", "cover", "side"}.intersection(surface[1:])
    return "depicted" if carried and (itself or face) else ""


def shares_surface(mention: Candidate, start: int, place: int, end: int) -> bool:
    """Whether a mention is on the surface of the one at `place`: "a cat and a dog on the poster"."""
    words = mention.sentence.words
    joined = mention.end == start - 1 and words[start - 1] == "and"
    return joined and shown_on(words, place, end) != ""


def _is_sign(words: list[str], places: Iterable[int]) -> bool:
    """Whether the word at one of these places is a sign that may have a picture."""
    return any(at(words, i) in DEPICTION.signs and words[i - 1] != "stop" for i in places)


@cache
def _before_surfaces() -> Words:
    """Return the words after a mention that may lead to what it is pictured on."""
    return DEPICTION.made | DEPICTION.of_signs | {"is", "are", "on", "in", "across"}


@cache
def _on_signs() -> Words:
    return Words(form for word in DEPICTION.on_signs for form in forms(word))


def pictured_beside(words: list[str], start: int) -> str:
    """Whether a mention says what a picture before it shows: "the logo, a bicycle in neon", "the mural: two horses"."""
    if start < 2 or words[start - 1] not in DEPICTION.tells:
        return ""
    before = words[max(0, start - 6) : start - 1]
    # "the logo of the shop, a dog"
    picture = before[before.index("of") - 1] if "of" in before[1:] else before[-1]
    is_one = picture in DEPICTION.emblems or (
        words[start - 1] != "," and (picture in DEPICTION.surfaces or picture in DEPICTION.artworks)
    )
    return "depicted" if is_one else ""


def cue_applies(cue: Cue, words: list[str], place: int) -> bool:
    """Whether a cue applies here; a cue such as "shows" needs a picture before it: "the poster shows a dog"."""
    if not cue.after:
        return cue.rule != "depicted" or not _is_the_image(words, place)
    last = next((i for i in range(place - 1, max(0, place - cue.near) - 1, -1) if words[i] in cue.after), -1)
    if last < 0 or at(words, phrase_start(words, 0, last) - 1) in DEPICTION.beside:
        return False
    whole = words[: place - 1] == ["the"] or (words[0] == "this" and last < 8 and "of" not in words[:place])
    return not (whole and last == place - 1 and words[last] in DEPICTION.artworks)


def _is_the_image(words: list[str], place: int) -> bool:
    """Whether a photo is the image itself, or is being taken: "a black and white photo of a dog"."""
    if words[place] in DEPICTION.artworks:
        named = words[:2] in (["this", "is"], ["it", "is"]) or words[1:3] == ["image", "is"]
        on = (i for i in range(place, len(words)) if words[i] == "on")
        return named and _framed(words, place) and not any(_is_sign(words, (i + 2, i + 3)) for i in on)
    if words[place] not in DEPICTION.photographs:
        return False
    if not DEPICTION.taking.isdisjoint(words[max(0, place - 3) : place]):
        return True
    opens = _framed(words, place) or (place < 4 and words[0] not in GRAMMAR.definite)
    return opens and DEPICTION.placed.isdisjoint(words)


def _framed(words: list[str], place: int) -> bool:
    """Whether only words as in "This is a black and white ..." come before the word at `place`."""
    return place <= 12 and DEPICTION.frame.issuperset(words[:place])


def opens_picture(words: list[str]) -> int:
    """Return where a sentence goes on after a picture: "On the poster, a dog ..."; 0 if it does not begin with one.

    "Painted on the bus is a dog" begins with a picture too.
    """
    if words[0] in DEPICTION.made and at(words, 1) in DEPICTION.onto:
        verbs = {"is", "are", "was", "were", ","}
        return next((i + 1 for i, word in enumerate(words[:16]) if i > 1 and word in verbs), 0)
    if words[0] not in {"on", "in", "across"} or not is_determiner(at(words, 1)):
        return 0
    surface = next((i for i in range(2, 5) if at(words, i) in DEPICTION.surfaces), 0)
    following = at(words, surface + 1) if surface else ""
    goes_on = following == "," or following in GRAMMAR.indefinite
    return surface + 1 + (following == ",") if goes_on else 0
