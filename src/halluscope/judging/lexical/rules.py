"""Rules about the words around a mention. A rule returns its name if it takes the mention back, or else ""."""

from collections.abc import Iterable
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
    phrase_start,
    readings,
)

HYPOTHESIS = Cue("hypothetical", "clause", keeps_definite=False)
PICTURE = Cue("depicted", "sentence", keeps_definite=True)


# ---- Another thing's name, or another meaning ----


def compound(one: Candidate) -> str:
    """Whether a mention is only part of another thing's name: "bus stop", "toy car", "cat-shaped"."""
    words, sentence, end = one.words, one.sentence, one.end
    owns = _owns(sentence, end - 1)
    if inside := sentence.compounds.get(end - 1) or sentence.compounds.get(one.place):
        first, past, rule = inside
        before = first < one.place and not _owns(sentence, first)
        following = at(words, past)  # "the TV shows a match" is no compound
        shows = following in GRAMMAR.definite or following in {"a", "an", "on", "against", "at", "in"}
        after = past > end and not (shows and words[past - 1].endswith(("s", "ing")))
        left = rule == "remains" and words[past - 1] not in COMPOUNDS.attached
        if before or (after and (left or not owns)):
            return rule
    if owns:
        return ""
    likeness = one.before in COMPOUNDS.before_any or (
        one.after in COMPOUNDS.after_any and at(words, end + 1) not in {"like", "with"}
    )
    hyphened = end in sentence.hyphened and one.after in COMPOUNDS.after_hyphen
    return "part of a compound" if likeness or hyphened else ""


def _owns(sentence: Sentence, place: int) -> bool:
    """Whether a possessive is an owner's: "the dog's bowl", but not "the men's room"."""
    return place in sentence.possessive and sentence.words[place] not in COMPOUNDS.possessive


def tells_what_kind(one: Candidate, other: Candidate) -> bool:
    """Whether a mention belongs to the next one: "baby elephant" (but not "a child skiing down")."""
    adjacent = one.end == other.place and other.before in COMPOUNDS.before_object
    word = other.words[other.place]
    return adjacent and not word.endswith("ing") and word not in GRAMMAR.after_noun


def shares_compound(one: Candidate, other: Candidate) -> bool:
    """Whether a mention shares the noun after the next one: "a knife and fork symbol", "a cat and dog show"."""
    joined = one.end == other.place - 1 and other.before in {"and", "or"}
    noun = other.after or ","
    return (
        joined
        and is_determiner(one.words[one.start])
        and noun[0].isalnum()
        and noun not in GRAMMAR.after_noun
    )


def other_reading(one: Candidate) -> str:
    """Whether a word that can be a noun is something else here: "an orange sign", "a remote area", "to tie"."""
    words, before, after = one.words, one.before, one.after
    if one.end - one.place > 1:
        return ""
    if _is_verb(one):
        return "another meaning"
    if words[one.place] not in READINGS.adjectives:
        return ""
    noun_ends = after in GRAMMAR.after_noun or after in GRAMMAR.participles or not after[:1].isalnum()
    determined = is_determiner(words[one.start])
    in_list = before in {",", "and", "or"} and one.previous is not None and one.previous.end >= one.place - 2
    then = at(words, one.end + 1)
    color = before in GRAMMAR.colors or (after in {"and", "or", ","} and then in GRAMMAR.colors)
    item = before in {"", "-", "|", "["} and after in {":", "|", "=", "→", "-"}
    return "" if item or (noun_ends and (determined or in_list) and not color) else "another meaning"


def _is_verb(one: Candidate) -> bool:
    """Whether a noun's form is a verb here: "can bear", "he trains", "the shirt bears the words"."""
    words, place, before, after = one.words, one.place, one.before, one.after
    word = words[place]
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
    counted = words[one.start] in GRAMMAR.indefinite - {"a", "an", "each", "every"}
    of_number = at(words, place + 2) in {"size", "few", "couple"}
    return after in READINGS.after_verb and not of_number and not counted


def takes_sense(mention: Candidate, around: set[str]) -> bool:
    """Choose the sense of an ambiguous word by the rest of the text: a "boxer" on a leash is a dog.

    It sets the mention's classes, and returns whether the text supports the sense given in the table.
    """
    if len(mention.own) > 1 or mention.own[0] not in readings("senses"):
        return False
    sense = readings("senses")[mention.own[0]][-1]
    there = not around.isdisjoint(sense["by"])
    mention.classes = tuple(cls for cls in mention.classes if (cls.lower() == sense["class"]) == there)
    return there


def meaning_elsewhere(word: str, around: set[str], names: frozenset[str]) -> str:
    """Whether the rest of the text gives a word another meaning: after "teddy bear", "the bear" is a teddy bear.

    A word that is a class's own name needs no support from the text.
    """
    taken = any(
        not around.isdisjoint(group["by"]) and around.isdisjoint(group.get("but", ()))
        for group in readings("unless").get(word, ())
    )
    needs = readings("only_with").get(word, ()) if word not in names else ()
    alone = needs and all(around.isdisjoint(group["by"]) for group in needs)
    return "another meaning" if taken or alone else ""


# ---- Wishes, guesses, and other things that are not there ----


def modal(one: Candidate) -> str:
    """Whether the text only says what an indefinite mention may do: "where people can sit".

    "People can be seen", however, says that they are there.
    """
    words, end = one.words, one.end
    if one.definite or not one.after:
        return ""
    if one.after not in GRAMMAR.modals:
        # "a clock above the mantelpiece would have helped"
        behind = words[end + 1 : end + 8] if one.after in CLAUSE.joins else []
        stops = (
            word
            for word in behind
            if word == "would" or word in CLAUSE.ends_clause or word in CLAUSE.not_in_list
        )
        return "hypothetical" if next(stops, "") == "would" else ""
    then = words[end + 1 : end + 4]
    there = "be" in then and (one.after == "can" or not GRAMMAR.seen.isdisjoint(then))
    return "" if there else "hypothetical"


def place_of(one: Candidate) -> str:
    """Whether the text gives only a thing's place or time: "where the clock ought to hang", "when the bus comes"."""
    words, before = one.words, at(one.words, one.start - 1)
    if before == "where":
        absent = not HEDGES.formerly.isdisjoint(words[one.end : one.end + 2])
    elif before in HEDGES.until or words[max(0, one.start - 2) : one.start] in (
        ["soon", "as"],
        ["the", "time"],
    ):
        absent = one.after in HEDGES.coming
    else:
        absent = before == "after" and one.after in HEDGES.departures
    return "hypothetical" if absent else ""


def identity(one: Candidate, cue: int, opened: int) -> bool:
    """Whether a hedge says what a visible thing is: "a large vehicle, most likely a bus", "what is probably a bus".

    A guess at what happens ("maybe a bus is coming") does not, and neither does a guess between several things.
    """
    words = one.words
    before = words[max(0, cue - 2) : cue]
    if before in (["what", "is"], ["what", "are"]):
        return True
    names = before != [] and before[-1] in HEDGES.before_identity and before[0] != "there"
    alone = phrase_start(words, opened, one.place) == opened and not words[opened].endswith("ing")
    return names and alone and (one.after or ",") in HEDGES.after_identity


def conditions(one: Candidate, opened: int) -> bool:
    """Whether a doubt is about something that is there: "if the dog runs any further", but not "if the dog comes".

    "Whether the dog is asleep" is such a doubt, but "whether the dog is in the picture" is not.
    """
    words, verb = one.words, one.after
    asked = words[opened : phrase_start(words, opened, one.place)] or words[max(0, opened - 1) : opened]
    if not HEDGES.doubts.issuperset(asked) or words[max(0, opened - 2)] == "as":
        return False
    if asked[-1:] != ["if"] and verb in {"is", "are", "was", "were", "has", "have"}:
        return HEDGES.presence.isdisjoint(words[one.end + 1 : one.end + 5])
    if asked[-1] in HEDGES.of_identity:
        return False  # "possibly their friends"
    return verb != "" and verb not in HEDGES.arrivals


def restates(one: Candidate) -> bool:
    """Whether a mention in quotation marks is the corrected wording: "for 'cat' read 'dog'"."""
    asks = {"for", "should", "please"}
    return one.before in {"read", "say"} and not asks.isdisjoint(
        one.words[max(0, one.place - 12) : one.place]
    )


def opens_hypothesis(words: list[str], place: int) -> bool:
    """Whether a clause begins with a verb before its subject, or is an order: "Had she an umbrella", "Bring a dog"."""
    following = at(words, place + 1)
    if words[place] in GRAMMAR.orders:
        return place == 0 and following in GRAMMAR.ordered
    return (place == 0 or words[place - 1] == ",") and following in GRAMMAR.subjects


def belongs_to_nobody(one: Candidate) -> str:
    """Whether an owner is only a kind of owner, or has left the things behind.

    "A chef's hat", "the gardener's gloves lie on a pot", but not "a chef's hand" nor "the chef's hat is tall".
    """
    words, sentence, end = one.words, one.sentence, one.end
    if end - 1 not in sentence.possessive:
        return ""
    thing = one.after or ","
    if thing in ABSENT.works and not one.definite:
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
    indefinite = not one.definite and owned & ABSENT.belongings
    return "absent owner" if left or indefinite or owned & ABSENT.places else ""


def _ends_phrase(word: str) -> bool:
    return word in GRAMMAR.after_noun or word in ABSENT.lying or not word[0].isalnum()


# ---- Pictures: objects that are only shown in one, and pictures that are the image itself ----


def shown_on(one: Candidate) -> str:
    """Whether a mention is a picture on something: "a dog on the poster", "a mug with a cat on it"."""
    words, place, end = one.words, one.place, one.end
    leads = DEPICTION.made, DEPICTION.of_signs, ("", "is", "are", "on", "in", "across")
    if not any(one.after in some for some in leads):
        return ""
    on_sign = words[end - 1] in _on_signs()
    signed = on_sign and (not one.after or one.after in DEPICTION.of_signs)  # "a sign with a cow"
    if signed and at(words, one.start - 1) in {"with", "has", "have"} and _is_sign(words, [one.start - 2]):
        return "depicted"
    end += at(words, end) in {"is", "are"}
    end += at(words, end) in DEPICTION.made
    if at(words, end) not in {"on", "in", "across"}:
        return ""
    surface = words[end + 1 : end + 4]
    if is_determiner(at(words, end + 1)) and (
        not DEPICTION.surfaces.isdisjoint(surface[1:]) or (on_sign and _is_sign(words, (end + 2, end + 3)))
    ):
        return "depicted"
    itself = at(words, end + 1) in {"it", "its", "them"} or (
        surface[:1] == ["the"] and not {"front", "back", "cover", "side"}.isdisjoint(surface[1:])
    )
    carried = itself and any(
        (words[i] in DEPICTION.prints or (on_sign and _is_sign(words, [i])))
        and words[i + 1] in {"with", "has", "have", "having"}
        for i in range(max(0, place - 9), place - 1)
    )
    return "depicted" if carried else ""


def shares_surface(one: Candidate, other: Candidate) -> bool:
    """Whether a mention is on the surface of the next one: "a cat and a dog on the poster"."""
    joined = one.end == other.start - 1 and one.words[other.start - 1] == "and"
    return joined and shown_on(other) != ""


def _is_sign(words: list[str], places: Iterable[int]) -> bool:
    """Whether the word at one of these places is a sign that may have a picture."""
    return any(at(words, i) in DEPICTION.signs and words[i - 1] != "stop" for i in places)


@cache
def _on_signs() -> Words:
    return Words(form for word in DEPICTION.on_signs for form in forms(word))


def pictured_beside(one: Candidate) -> str:
    """Whether a mention says what a picture before it shows: "the logo, a bicycle in neon", "the mural: two horses"."""
    mark = at(one.words, one.start - 1)
    if one.start < 2 or mark not in DEPICTION.tells:
        return ""
    before = one.words[max(0, one.start - 6) : one.start - 1]
    # "the logo of the shop, a dog"
    picture = before[before.index("of") - 1] if "of" in before[1:] else before[-1]
    of_image = picture in DEPICTION.surfaces or picture in DEPICTION.artworks
    return "depicted" if picture in DEPICTION.emblems or (of_image and mark != ",") else ""


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
