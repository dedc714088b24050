"""What the words around a mention do to it. Each rule gives its name, or "" where it does not apply."""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cache

from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.scopes import phrase_start
from halluscope.judging.voters.lexical.sentences import Sentence, Spans, within
from halluscope.judging.voters.lexical.tables import Cue, Words, grammar, phrases_of, readings, words_of

HYPOTHESIS = Cue("hypothetical", "clause", keeps_definite=False)
PICTURE = Cue("depicted", "sentence", keeps_definite=True)

Places = Mapping[int, tuple[int, int, str]]
"""Place of a word -> the compound that it is no object in: its first word, past its last, and the rule."""


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
    """Whether a possessive is an owner's: "the dog's bowl", but "the men's room"."""
    return place in sentence.possessive and sentence.words[place] not in grammar().possessive


def _is_predicate(words: list[str], past: int) -> bool:
    """Whether a compound's last word is a verb with an object: "the TV shows a match"."""
    following = words[past] if past < len(words) else ""
    determined = following in grammar().definite or following in {"a", "an", "on", "against", "at", "in"}
    return determined and words[past - 1].endswith(("s", "ing"))


def tells_what_kind(mention: Found, words: list[str], place: int) -> bool:
    """Whether a mention belongs to the one at `place`: "baby elephant" (but not "a child skiing down")."""
    adjacent = mention.place_after == place and mention.words[-1] in grammar().before_object
    return adjacent and not words[place].endswith("ing") and words[place] not in grammar().after_noun


def shares_compound(mention: Found, place: int, end: int) -> bool:
    """Whether a mention shares the noun behind the one at `place`: "a knife and fork symbol", "a cat and dog show"."""
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
    return "" if noun_ends and (determined or in_list) and not color else "another meaning"


def _is_verb(words: list[str], place: int) -> bool:
    """Whether a noun's form is a verb here: "can bear", "he trains", "the shirt bears the words"."""
    word = words[place]
    before = words[place - 1] if place else ""
    if word in readings().verbs:
        preposition = place > 1 and words[place - 2] in readings().before_preposition
        after_plural = word in readings().after_plural and _is_plural(before)
        return after_plural or (before in readings().before_verb and not (before == "to" and preposition))
    if word[:-1] not in readings().verbs or not word.endswith("s"):
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
    """Whether an indefinite mention only may do something: "where people can sit" (but not "people can be seen")."""
    verb = words[end] if words[end : end + 1] and words[end] in grammar().modals else ""
    then = words[end + 1 : end + 4]
    there = "be" in then and (verb == "can" or any(word in grammar().seen for word in then))
    return "hypothetical" if not definite and (verb and not there or _would_have(words, end)) else ""


def place_of(words: list[str], start: int, end: int) -> str:
    """Whether only the place or time of a thing is told: "where the clock ought to hang", "when the bus comes"."""
    before = words[start - 1] if start else ""
    if before == "where":
        told = not words_of("hedges", "formerly").isdisjoint(words[end : end + 2])
    elif before in words_of("hedges", "until") or words[max(0, start - 2) : start] in (["soon", "as"], ["the", "time"]):
        told = not words_of("hedges", "coming").isdisjoint(words[end : end + 1])
    else:
        told = before == "after" and not words_of("hedges", "departures").isdisjoint(words[end : end + 1])
    return "hypothetical" if told else ""


def _would_have(words: list[str], end: int) -> bool:
    """Whether what stands behind a noun ends in a wish: "a clock above the mantelpiece would have helped"."""
    if words[end : end + 1] == [] or words[end] not in words_of("clause", "joins"):
        return False
    for word in words[end + 1 : end + 8]:
        if word == "would":
            return True
        if word in grammar().ends_clause or word in words_of("clause", "not_in_list"):
            return False
    return False


def identity(words: list[str], cue: int, opened: int, place: int, end: int) -> bool:
    """Whether a hedge says what a visible thing is: "a large vehicle, most likely a bus", "what is probably a bus".

    Not so a guess at what goes on ("maybe a bus is coming"), nor one between several things.
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
    """Whether a doubt is about a thing that is there: "if the dog runs any further", but not "if the dog comes".

    So is "whether the dog is asleep", but not "whether the dog is in the picture".
    """
    asked = words[opened : phrase_start(words, opened, place)] or words[max(0, opened - 1) : opened]
    if not words_of("hedges", "doubts").issuperset(asked) or words[max(0, opened - 2)] == "as":
        return False
    verb = (words[end : end + 1] or [""])[0]
    if asked[-1:] != ["if"] and verb in {"is", "are", "was", "were", "has", "have"}:
        return words_of("hedges", "presence").isdisjoint(words[end + 1 : end + 5])
    return verb not in words_of("hedges", "arrivals") | {""}


def is_list(words: list[str]) -> bool:
    """Whether a sentence has any mark or value of lists."""
    return not _signs_of_lists().isdisjoint(words)


@cache
def _signs_of_lists() -> Words:
    return Words({"~~"}).union(*(words_of("lists", name) for name in ("marks", "checks", "crosses", "bare")))


def absent_in_list(sentence: Sentence, place: int, end: int) -> str:
    """Whether a list says that there is none: "Bus: none", "- Dog: 0", "| scissors | 0 |", "❌ cat", "0 dogs"."""
    words = sentence.words
    marks, absent = words_of("lists", "marks"), phrases_of("lists", "absent")
    counted = place > 0 and words[place - 1] in {"0", "zero"} and (place < 2 or words[place - 2] not in marks)
    struck = words[end : end + 1] == ["~~"] or bisect_left(sentence.strikes, place) % 2
    crossed = (
        words[end : end + 1] and words[end] in words_of("lists", "crosses") and not _checked_before(words)
    )
    if counted or struck or crossed or _crossed_out(words, place):
        return "listed as absent"
    after = end + (words[end : end + 1] != [] and words[end] in words_of("lists", "counts"))
    begun = after
    while after < len(words) and words[after] in marks:
        after += 1
    if after in {begun, len(words)}:
        return "listed as absent" if _bare_value(words, end) else ""
    if value := absent.at(words, after):
        past = value[0]
        if value[1] == "no" and words[end] in {"-", "–", "—"} and words[past : past + 1] == [","]:
            return ""  # "a bus - no, a tram" corrects
        ends = past == len(words) or not words[past][0].isalnum() or words[past] == "and"
        alone = words[end] == ":" and _opens_item(words, place) and value[1] in {"no", "none", "not"}
        return "listed as absent" if ends or alone else ""
    denied = phrases_of("lists", "denied").at(words, after)
    return "listed as absent" if denied and words[end] == ":" and _opens_item(words, place) else ""


def _bare_value(words: list[str], end: int) -> bool:
    """Whether nothing but a value follows: "Dogs 0", "dog,0" or a dash in a table."""
    rest = words[end : end + 12]
    if rest == [":", "[", "]"]:
        return True
    if rest[:1] == [","] or rest[:1] == ["|"]:
        return rest[1:] == ["0"] or (rest[0] == "|" and {"-", "–", "—"}.issuperset(set(rest) - {"|"}) and len(rest) > 2)
    ends = rest[1:2] == [] or rest[1] in {",", ";", "|", ")"}
    return rest[:1] != [] and rest[0] in words_of("lists", "bare") and ends


def _opens_item(words: list[str], place: int) -> bool:
    return all(word in words_of("lists", "marks") or len(word) == 1 for word in words[:place])


def _crossed_out(words: list[str], place: int) -> bool:
    """Whether the list's marks stand before its items, and the one before this item denies it."""
    checks, crosses = words_of("lists", "checks"), words_of("lists", "crosses")
    if _checked_before(words):
        mark = next((word for word in reversed(words[:place]) if word in checks | crosses), "")
        return mark in crosses
    return words[:2] == ["[", "]"] or words[:3] == ["-", "[", "]"]


def _checked_before(words: list[str]) -> bool:
    return words[0] in words_of("lists", "checks") or words[0] in words_of("lists", "crosses")


def shown_on(words: list[str], place: int, end: int) -> str:
    """Whether a mention is a picture on something: "a dog on the poster", "a mug with a cat on it"."""
    end += words[end : end + 1] in (["is"], ["are"])
    end += words[end : end + 1] != [] and words[end] in words_of("depiction", "made")
    if words[end : end + 1] not in (["on"], ["in"], ["across"]):
        return ""
    surface = words[end + 1 : end + 4]
    determined = surface[:1] and (surface[0] in grammar().definite or surface[0] in grammar().indefinite)
    if determined and words_of("depiction", "surfaces").intersection(surface[1:]):
        return "depicted"
    carried = any(
        words[i] in words_of("depiction", "prints") and words[i + 1] in {"with", "has", "have", "having"}
        for i in range(max(0, place - 9), place - 1)
    )
    itself = surface[:1] and surface[0] in {"it", "its", "them"}
    face = surface[:1] == ["the"] and {"front", "back", "cover", "side"}.intersection(surface[1:])
    return "depicted" if carried and (itself or face) else ""


def pictured_beside(words: list[str], start: int) -> str:
    """Whether a mention says what a picture before it shows: "the logo, a bicycle in neon", "the mural: two horses"."""
    if start < 2 or words[start - 1] not in words_of("depiction", "tells"):
        return ""
    pictures = words_of("depiction", "emblems")
    if words[start - 1] == "," and "of" in words[max(0, start - 5) : start - 2]:
        whose = start - 2 - words[start - 2 :: -1].index("of")  # "the logo of the shop, a bicycle"
        return "depicted" if whose and words[whose - 1] in pictures else ""
    if words[start - 1] != ",":
        pictures |= words_of("depiction", "surfaces") | words_of("depiction", "artworks")
    return "depicted" if words[start - 2] in pictures else ""


def belongs_to_nobody(sentence: Sentence, place: int, end: int, definite: bool) -> str:
    """Whether an owner is only a kind of owner, or has left what lies there.

    "A chef's hat", "the gardener's gloves lie on a pot", but not "a chef's hand" nor "the chef's hat is tall".
    """
    words = sentence.words
    if end - 1 not in sentence.possessive:
        return ""
    owned = (words[end : end + 1] or [","])[0]
    if owned in words_of("absent", "works") and not definite:
        return "absent owner"
    if words[end - 1] in words_of("absent", "anybody"):
        return ""
    if words[end - 1] in words_of("absent", "shops") and _ends_phrase(owned):
        return "absent owner"  # "closed, like the barber's"
    following = range(end, min(end + 5, len(words)))
    noun = next((i for i in following if _ends_phrase(words[i]) and i not in sentence.hyphened), following.stop)
    owned = {*words[end:noun], *(word.removesuffix("s") for word in words[end:noun])}
    if owned & words_of("absent", "body"):
        return ""
    left = not words_of("absent", "lying").isdisjoint(words[noun : noun + 3])
    indefinite = not definite and owned & words_of("absent", "belongings")
    return "absent owner" if left or indefinite or owned & words_of("absent", "places") else ""


def _ends_phrase(word: str) -> bool:
    return word in grammar().after_noun or word in words_of("absent", "lying") or not word[0].isalnum()


def put_right(sentence: Sentence, place: int, spans: Spans) -> bool:
    """Whether a mention in quotation marks is what has to be read: "for 'cat' read 'dog'"."""
    restates = place and sentence.words[place - 1] in {"read", "say"} and within(sentence.starts[place], spans)
    return bool(restates) and not {"for", "should"}.isdisjoint(sentence.words[:place])


def opens_hypothesis(words: list[str], place: int) -> bool:
    """Whether a clause begins with a verb before its subject, or is an order: "Had she an umbrella", "Bring one"."""
    opens = place == 0 or words[place - 1] == ","
    following = words[place + 1] if place + 1 < len(words) else ""
    if words[place] in grammar().orders:
        return place == 0 and following in grammar().ordered
    return opens and following in grammar().subjects


def cue_applies(cue: Cue, words: list[str], place: int) -> bool:
    """Whether a cue that tells of pictures has one before it: "the poster shows a dog"."""
    if not cue.after:
        return cue.rule != "depicted" or not _is_the_image(words, place)
    before = [i for i in range(max(0, place - cue.near), place) if words[i] in cue.after]
    if not before:
        return False
    start = phrase_start(words, 0, before[-1])
    if start and words[start - 1] in words_of("depiction", "beside"):
        return False
    whole = words[: place - 1] == ["the"] or (words[0] == "this" and before[-1] < 8 and "of" not in words[:place])
    itself = before[-1] == place - 1 and words[place - 1] in words_of("depiction", "artworks")
    return not (itself and whole)


def _is_the_image(words: list[str], place: int) -> bool:
    """Whether a photo is the image itself, or is being taken: "a black and white photo of a dog"."""
    named = words[:2] in (["this", "is"], ["it", "is"]) or words[1:3] == ["image", "is"]
    if words[place] in words_of("depiction", "artworks"):
        return named and _framed(words, place)
    if words[place] not in words_of("depiction", "photographs"):
        return False
    if words_of("depiction", "taking").intersection(words[max(0, place - 3) : place]):
        return True
    opens = _framed(words, place) or (place < 4 and words[0] not in grammar().definite)
    return opens and not words_of("depiction", "placed").intersection(words)


def _framed(words: list[str], place: int) -> bool:
    """Whether nothing but "This is a black and white ..." stands before."""
    return place <= 12 and words_of("depiction", "frame").issuperset(words[:place])


def opens_picture(words: list[str]) -> int:
    """Where a sentence goes on that begins with a picture: "On the poster, a dog ..."; 0 where it does not.

    "Painted on the bus is a dog" begins with one too.
    """
    if words[0] in words_of("depiction", "made") and words[1:2] and words[1] in words_of("depiction", "onto"):
        return next((i + 1 for i in range(2, min(16, len(words))) if words[i] in {"is", "are", "was", "were", ","}), 0)
    determined = words[1:2] != [] and (words[1] in grammar().definite or words[1] in grammar().indefinite)
    if words[0] not in {"on", "in", "across"} or not determined:
        return 0
    surface = next((i for i in range(2, min(5, len(words))) if words[i] in words_of("depiction", "surfaces")), 0)
    following = words[surface + 1] if surface and surface + 1 < len(words) else ""
    return surface + 1 + (following == ",") if following == "," or following in grammar().indefinite else 0


def take_back_subject(words: list[str], found: list[Found], place: int, cue: Cue) -> None:
    """Mark the subject of the clause that the cue ends: "Dogs and cats are not visible", "a dog, which is gone"."""
    if place and words[place - 1] in {"which", "that", "who"}:
        take_back_before(words, found, place - 1 - (words[place - 2 : place - 1] == [","]), cue)
        return
    if head := _head(words, found, place):
        _take_back([head], cue)
    else:
        _take_back_adjacent(words, found, place, cue)


def _head(words: list[str], found: list[Found], place: int) -> Found | None:
    """The first noun of a subject with more nouns: "the people on the bus are not visible"."""
    barriers = words_of("clause", "not_in_list") - {"with"} | {","}
    after = next((i for i in range(place - 1, -1, -1) if words[i] in barriers), -1)
    if found and after == found[0].place_after and words[after] in words_of("clause", "heads"):
        after = -1  # "The vase that stands on the piano is missing"
    for mention in found:
        if mention.place_after <= after:
            continue
        start, end = phrase_start(words, 0, mention.place), mention.place_after
        opens = start == 0 or words[start - 1] in grammar().ends_clause or words[start - 1] == ","
        joined = end < place and (words[end] in words_of("clause", "heads") or words[end].endswith("ing"))
        of_another = "of" in words[start : mention.place] or end - 1 in mention.sentence.possessive
        if opens and joined and not of_another:
            return mention
    return None


def _take_back_adjacent(words: list[str], found: list[Found], place: int, cue: Cue) -> None:
    """Mark the mentions that end right before the cue, if they open its clause."""
    end = place
    while end and words[end - 1] in words_of("clause", "behind_subject"):
        end -= 1
    subject = []
    for mention in reversed(found):
        if mention.place_after != end:
            break
        start = phrase_start(words, 0, mention.place)
        if "of" in words[start : mention.place] and not words_of("clause", "quantities").intersection(
            words[start : mention.place]
        ):
            return
        subject.append(mention)
        if (
            start == 0
            or words[start - 1] in grammar().ends_clause
            or words[start - 1] in grammar().before_subject
        ):
            break
        if words[start - 1] not in {"and", "or", ","}:
            return
        end = start - 1
    _take_back(subject, cue)


def take_back_before(words: list[str], found: list[Found], place: int, cue: Cue) -> None:
    """Mark the mentions that end right before the cue, wherever they stand: "a sign with a horse painted on it"."""
    end = place
    nearest = []
    if found and cue.rule == "corrected" and words[place] in {",", "("} and found[-1].place_after != place:
        # "A chair stands there, or rather a stump"
        _take_back([one for one in found[-1:] if not one.definite and place - one.place_after <= 5], cue)
        return
    for mention in reversed(found):
        if mention.place_after != end:
            break
        nearest.append(mention)
        start = phrase_start(words, 0, mention.place)
        if cue.rule == "corrected" or start == 0 or words[start - 1] not in {"and", "or"}:
            break
        end = start - 1
    _take_back(nearest, cue)


def _take_back(mentions: list[Found], cue: Cue) -> None:
    for mention in mentions:
        if not (mention.definite and cue.keeps_definite):
            mention.rule = mention.rule or cue.rule


def takes_sense(mention: Found, around: set[str]) -> bool:
    """Whether the rest of the text gives a word of several senses its own one: a "boxer" on a leash is a dog."""
    if len(mention.words) > 1 or mention.words[0] not in readings().senses:
        return False
    own, by = readings().senses[mention.words[0]]
    there = not by.isdisjoint(around)
    mention.classes = tuple(cls for cls in mention.classes if (cls.lower() == own) == there)
    return there


def meaning_elsewhere(mention: list[str], around: set[str], names: frozenset[str]) -> str:
    """Whether the rest of the text gives a word another meaning: after "teddy bear", "the bear" is one.

    A word that is a class's own name needs no support by the text.
    """
    word = mention[0] if len(mention) == 1 else ""
    taken = any(by & around and not but & around for by, but in readings().unless.get(word, ()))
    alone = word not in names and word in readings().only_with and not readings().only_with[word] & around
    return "another meaning" if taken or alone else ""
