"""Rules about the words around a mention, of which most say whether they take it back."""

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from itertools import islice

from halluscope.judging.lexical.clauses import FARTHEST, is_finite_verb
from halluscope.judging.lexical.sentences import Candidate, Sentence
from halluscope.judging.lexical.tables import (
    ABSENT,
    AFTER,
    CLAUSE,
    COMPOUNDS,
    CORRECTIONS,
    DEPICTION,
    GRAMMAR,
    HEDGES,
    LISTS,
    READINGS,
    Cue,
    Words,
    at,
    forms,
    is_determiner,
    phrase_start,
    phrases_of,
    tables,
    words_before,
)

HYPOTHESIS = Cue("hypothetical", "clause", keeps_definite=False)
PICTURE = Cue("depicted", "sentence", keeps_definite=True)


# ---- Another thing's name, or another meaning ----


def compound(mention: Candidate) -> str:
    """Whether a mention is only part of another thing's name: "bus stop", "toy car", "cat-shaped"."""
    words, sentence, end = mention.words, mention.sentence, mention.end
    owns = _owns(sentence, end - 1)
    if inside := sentence.compounds.get(end - 1) or sentence.compounds.get(mention.index):
        first, past, rule = inside
        before = first < mention.index and not _owns(sentence, first)
        # "the TV shows a match" is no compound
        shows = at(words, past) in GRAMMAR.definite | {"a", "an", "on", "against", "at", "in"}
        after = past > end and not (shows and words[past - 1].endswith(("s", "ing")))
        left = rule == "remains" and words[past - 1] not in COMPOUNDS.attached
        if before or (after and (left or not owns)):
            return rule
    likeness = (
        mention.before in COMPOUNDS.before_any
        or (mention.after in COMPOUNDS.after_any and at(words, end + 1) not in {"like", "with"})
        or (end in sentence.hyphened and mention.after in COMPOUNDS.after_hyphen)
    )
    return "part of a compound" if likeness and not owns else ""


def _owns(sentence: Sentence, index: int) -> bool:
    """Whether a possessive is an owner's: "the dog's bowl", but not "the men's room"."""
    return index in sentence.possessive and sentence.words[index] not in COMPOUNDS.possessive


def tells_what_kind(mention: Candidate, following: Candidate) -> bool:
    """Whether a mention belongs to the next one: "baby elephant" (but not "a child skiing down")."""
    adjacent = mention.end == following.index and following.before in COMPOUNDS.before_object
    return adjacent and not mention.after.endswith("ing") and mention.after not in GRAMMAR.after_noun


def shares_compound(mention: Candidate, following: Candidate) -> bool:
    """Whether a mention shares the noun after the next one: "a knife and fork symbol", "a cat and dog show"."""
    joined = mention.end == following.index - 1 and following.before in {"and", "or"}
    shares = following.after[:1].isalnum() and following.after not in GRAMMAR.after_noun
    return joined and shares and is_determiner(mention.words[mention.start])


def other_reading(mention: Candidate) -> bool:
    """Whether a word that can be a noun is something else here: "an orange sign", "a remote area", "to tie"."""
    words, before, after = mention.words, mention.before, mention.after
    if mention.end - mention.index > 1:
        return False
    if _is_verb(mention):
        return True
    if words[mention.index] not in READINGS.adjectives:
        return False
    noun_ends = after in GRAMMAR.after_noun or after in GRAMMAR.participles or not after[:1].isalnum()
    previous = mention.previous
    in_list = before in {",", "and", "or"} and previous is not None and previous.end >= mention.index - 2
    then = at(words, mention.end + 1)
    color = before in GRAMMAR.colors or (after in {"and", "or", ","} and then in GRAMMAR.colors)
    item = before in {"", "-", "|", "["} and after in {":", "|", "=", "→", "-"}
    is_noun = noun_ends and (in_list or is_determiner(words[mention.start])) and not color
    return not (item or is_noun)


def _is_verb(mention: Candidate) -> bool:
    """Whether a noun's form is a verb here: "can bear", "he trains", "the shirt bears the words"."""
    words, index, before, after = mention.words, mention.index, mention.before, mention.after
    word = words[index]
    if word in READINGS.verbs:
        is_plural = before in {"children", "people", "men", "women", "feet"} or (
            len(before) > 3 and before.endswith("s") and not before.endswith(("ss", "us", "is"))
        )
        if is_plural and (word in READINGS.after_plural or after in {"the", "a", "an", "their"}):
            return True
        is_infinitive = before != "to" or at(words, index - 2) not in READINGS.before_preposition
        return before in READINGS.before_verb and is_infinitive
    if not word.endswith("s") or READINGS.verbs.isdisjoint((word[:-1], word.removesuffix("es"))):
        return False
    if before in READINGS.subjects:
        return True
    counted = words[mention.start] in GRAMMAR.indefinite - {"a", "an", "each", "every"}
    of_number = at(words, index + 2) in {"size", "few", "couple"}
    return after in READINGS.after_verb and not of_number and not counted


# ---- Wishes, guesses, and other things that are not there ----


def modal(mention: Candidate) -> bool:
    """Whether the text only says what an indefinite mention may do: "where people can sit".

    "People can be seen", however, says that they are there.
    """
    after, behind = mention.after, mention.words[mention.end + 1 : mention.end + 8]
    is_absent = False
    if after in GRAMMAR.modals:
        then = behind[:3]
        is_there = not GRAMMAR.being.isdisjoint(then)  # "can also been seen" is meant as "be"
        if after == "can" and then and then[0] in GRAMMAR.seen:
            is_there = True  # "can seen"
        is_absent = not is_there or (after != "can" and GRAMMAR.seen.isdisjoint(then))
    elif after in CLAUSE.joins:
        # "a clock above the mantelpiece would have helped"
        stops = CLAUSE.ends_clause | CLAUSE.not_in_list | {"would"}
        is_absent = next((word for word in behind if word in stops), "") == "would"
    elif after in HEDGES.habits and mention.start == mention.index == 0:
        is_absent = True  # "Cows usually graze here"
    is_known = mention.definite or mention.own in {"he", "she"}
    return is_absent and not is_known


def place_of(mention: Candidate) -> bool:
    """Whether the text gives only a thing's place or time: "where the clock ought to hang", "when the bus comes"."""
    words, before = mention.words, at(mention.words, mention.start - 1)
    if before == "where":
        return not HEDGES.formerly.isdisjoint(words[mention.end : mention.end + 2])
    if before in HEDGES.until or words_before(words, mention.start, 2) in (["soon", "as"], ["the", "time"]):
        return mention.after in HEDGES.coming
    return before == "after" and mention.after in HEDGES.departures


def identity(mention: Candidate, cue: int) -> bool:
    """Whether a hedge says what a visible thing is: "a large vehicle, most likely a bus", "what is probably a bus".

    A guess at what happens ("maybe a bus is coming") does not, and neither does a guess between several things.
    """
    before = words_before(mention.words, cue, 2)
    if before in (["what", "is"], ["what", "are"]):
        return True
    names = before != [] and before[-1] in HEDGES.before_identity and before[0] != "there"
    alone = mention.begin == mention.opened and not mention.words[mention.begin].endswith("ing")
    return names and alone and (mention.after or ",") in HEDGES.after_identity


def conditions(mention: Candidate) -> bool:
    """Whether a doubt is about something that is there: "if the dog runs any further", but not "if the dog comes".

    "Whether the dog is asleep" is such a doubt, but "whether the dog is in the picture" is not.
    """
    words, opened, verb = mention.words, mention.opened, mention.after
    asked = words[opened : mention.begin] or words_before(words, opened, 1)
    if not HEDGES.doubts.issuperset(asked) or words[max(0, opened - 2)] == "as":
        return False
    if asked[-1:] != ["if"] and verb in {"is", "are", "was", "were", "has", "have"}:
        return HEDGES.presence.isdisjoint(words[mention.end + 1 : mention.end + 5])
    if asked[-1] in HEDGES.of_identity:
        return False  # "possibly their friends"
    return verb != "" and verb not in HEDGES.arrivals


def is_quoted(mention: Candidate) -> bool:
    """Whether a mention is in quotation marks."""
    return mention.index in mention.sentence.quoted


def restates(mention: Candidate) -> bool:
    """Whether a mention in quotation marks is the corrected wording: "for 'cat' read 'dog'"."""
    if not is_quoted(mention) or mention.before not in {"read", "say"}:
        return False
    return not {"for", "should", "please"}.isdisjoint(words_before(mention.words, mention.index, 12))


def opens_hypothesis(words: list[str], index: int) -> bool:
    """Whether a clause begins with a verb before its subject, or is an order: "Had she an umbrella", "Bring a dog"."""
    following = at(words, index + 1)
    if words[index] in GRAMMAR.orders:
        return index == 0 and following in GRAMMAR.ordered
    return (index == 0 or words[index - 1] == ",") and following in GRAMMAR.subjects


def belongs_to_nobody(mention: Candidate) -> bool:
    """Whether an owner is only a kind of owner, or has left the things behind.

    "A chef's hat", "the gardener's gloves lie on a pot", but not "a chef's hand" nor "the chef's hat is tall".
    """
    words, sentence, end = mention.words, mention.sentence, mention.end
    if end - 1 not in sentence.possessive:
        return False
    thing, owner = mention.after or ",", words[end - 1]
    if thing in ABSENT.works and not mention.definite:
        return True
    if owner in ABSENT.anybody:
        return False
    if owner in ABSENT.shops and _ends_phrase(thing):
        return True  # "closed, like the barber's"
    following = range(end, min(end + 5, len(words)))
    ends = (i for i in following if _ends_phrase(words[i]) and i not in sentence.hyphened)
    noun = next(ends, following.stop)
    owned = {*words[end:noun], *(word.removesuffix("s") for word in words[end:noun])}
    if not owned or not _may_own(mention):
        return False
    left = not ABSENT.lying.isdisjoint(words[noun : noun + 3]) and "out" not in words[noun : noun + 4]
    indefinite = not mention.definite and owned & ABSENT.belongings
    is_absent = left or indefinite or owned & ABSENT.places
    return bool(is_absent and not owned & ABSENT.body)


def _may_own(mention: Candidate) -> bool:
    """Whether a mention is of somebody who owns things: a person or an animal, but not "the table's top"."""
    owner = mention.words[mention.end - 1]
    return "person" in map(str.lower, mention.classes) or owner in tables()["compounds"]["groups"]["animals"]


def _ends_phrase(word: str) -> bool:
    return word in GRAMMAR.after_noun or word in ABSENT.lying or not word[0].isalnum()


# ---- Lists, tables and data ----


def is_listed_absent(mention: Candidate) -> bool:
    """Whether a list says that an object is not there."""
    if mention.sentence.asked and mention.words[mention.end :] == [",", "no"]:
        return False  # "It is a train, no?"
    return mention.sentence.is_list and (_is_crossed(mention) or _is_denied(mention))


def _is_crossed(mention: Candidate) -> bool:
    """Whether a list counts an object as 0, strikes it out, or has a cross: "0 dogs", "❌ cat"."""
    words, index, after = mention.words, mention.index, mention.after
    counted = mention.before in {"0", "zero", "0x", "x0"} and at(words, index - 2) not in LISTS.marks
    if counted or after == "~~" or bisect_left(mention.sentence.strikes, index) % 2:
        return True
    if words[0] in LISTS.checks or words[0] in LISTS.crosses:  # the marks come before the items
        boxes = mention.sentence.boxes
        return words[boxes[bisect_left(boxes, index) - 1]] in LISTS.crosses
    if words[0] == "[" and words[max(0, index - 2) : index] == ["[", "]"]:
        return True
    return after in LISTS.crosses or words[:2] == ["[", "]"] or words[:3] == ["-", "[", "]"]


def _is_denied(mention: Candidate) -> bool:
    """Whether a value such as "none" or 0 follows an object: "Bus: none", "- Dog: 0", "| scissors | 0 |"."""
    words = mention.words
    begun = after = mention.end + (mention.after in LISTS.counts)
    while at(words, after) in LISTS.marks:
        after += 1
    if after in {begun, len(words)}:
        return _bare_value(words[mention.end : mention.end + 12])
    opens = mention.after == ":" and all(
        word in LISTS.marks or len(word) == 1 for word in islice(words, mention.index)
    )
    if value := phrases_of("lists", "absent").at(words, after):
        past, phrase = at(words, value[0]), value[1]
        if phrase == "no" and mention.after in {"-", "–", "—"} and past == ",":
            return False  # "a bus - no, a tram" corrects
        return not past[:1].isalnum() or past == "and" or (opens and phrase in {"no", "none", "not"})
    return opens and phrases_of("lists", "denied").at(words, after) is not None


def _bare_value(rest: list[str]) -> bool:
    """Whether nothing but a value follows an object: "Dogs 0", "dog,0" or a dash in a table."""
    if rest in ([":", "[", "]"], ["[", "]"], ["(", ")"]):
        return True
    first, second, third = (*rest[:3], "", "", "")[:3]
    if first == "," and second in {"no", "none"} and third in {"", ";"}:
        return True  # "spoons, yes; forks, no"
    if first in {",", "|"}:
        dashes = first == "|" and {"|", "-", "–", "—"}.issuperset(rest) and len(rest) > 2
        return rest[1:] == ["0"] or dashes
    return first in LISTS.bare and second in {"", ",", ";", "|", ")"}


# ---- Pictures: objects that are only shown in one, and pictures that are the image itself ----


def shown_on(mention: Candidate) -> bool:
    """Whether a mention is a picture on something: "a dog on the poster", "a mug with a cat on it"."""
    words, index, end = mention.words, mention.index, mention.end
    on_sign = words[end - 1] in _on_signs()
    signed = on_sign and (not mention.after or mention.after in DEPICTION.of_signs)  # "a sign with a cow"
    start = mention.start
    if signed and at(words, start - 1) in {"with", "has", "have"} and _is_sign(words, [start - 2]):
        return True
    end += at(words, end) in {"is", "are"}
    if at(words, end) == "can" and at(words, end + 1) == "be":
        end += 2
    end += at(words, end) in DEPICTION.made
    if at(words, end) not in {"on", "in", "across"}:
        return False
    surface = words[end + 1 : end + 4]
    if is_determiner(at(words, end + 1)) and (
        not DEPICTION.surfaces.isdisjoint(surface[1:]) or (on_sign and _is_sign(words, (end + 2, end + 3)))
    ):
        return True
    itself = at(words, end + 1) in {"it", "its", "them"} or (
        surface[:1] == ["the"] and not {"front", "back", "cover", "side"}.isdisjoint(surface[1:])
    )
    return itself and any(
        (words[i] in DEPICTION.prints or (on_sign and _is_sign(words, [i])))
        and words[i + 1] in {"with", "has", "have", "having"}
        for i in range(max(0, index - 9), index - 1)
    )


def is_called_likeness(mention: Candidate) -> bool:
    """Whether a mention is said to be a likeness: "the bear is a statue", not "it is a statue of a bear"."""
    words = mention.words
    before = at(words, mention.start - 1)
    opens = before in {"", ",", "and", "that"} or before in CLAUSE.ends_clause
    if mention.after not in {"is", "are"} or not opens:
        return False
    likeness = mention.end + 1
    while is_determiner(at(words, likeness)) or at(words, likeness) in DEPICTION.before_likeness:
        likeness += 1
    if words[likeness - 1] == mention.after and not at(words, likeness).endswith("s"):
        return False  # "the skier is carving"
    return at(words, likeness) in DEPICTION.likenesses and at(words, likeness + 1) != "of"


def shares_surface(mention: Candidate, following: Candidate) -> bool:
    """Whether a mention is on the surface of the next one: "a cat and a dog on the poster"."""
    joined = mention.end == following.start - 1 and mention.after == "and"
    return joined and shown_on(following)


def _is_sign(words: list[str], indices: Iterable[int]) -> bool:
    """Whether the word at one of these places is a sign that may have a picture."""
    return any(at(words, i) in DEPICTION.signs and words[i - 1] != "stop" for i in indices)


@cache
def _on_signs() -> Words:
    return Words(form for word in DEPICTION.on_signs for form in forms(word))


def pictured_beside(mention: Candidate) -> bool:
    """Whether a mention says what a picture before it shows: "the logo, a bicycle in neon", "the mural: two horses"."""
    mark = at(mention.words, mention.start - 1)
    before = words_before(mention.words, mention.start, 6)[:-1]
    if not before or mark not in DEPICTION.tells:
        return False
    # "the logo of the shop, a dog"
    picture = before[before.index("of") - 1] if "of" in before[1:] else before[-1]
    of_image = picture in DEPICTION.surfaces or picture in DEPICTION.artworks
    return picture in DEPICTION.emblems or (of_image and mark != ",")


def cue_applies(cue: Cue, words: list[str], index: int) -> bool:
    """Whether a cue applies here; a cue such as "shows" needs a picture before it: "the poster shows a dog"."""
    if words[index] == "strike" and index and words[index - 1] not in CORRECTIONS.before_strike:
        return False  # "poised to strike the ball"
    if cue.after == AFTER.everything and words[index] == "but" and not _excepts(words, index):
        return False
    if words[index] == "like" and not _is_simile(words, index):
        return False
    if words[index] in HEDGES.of_identity and _doubts_degree(words, index):
        return False
    if cue.after == DEPICTION.carriers and at(words, index - 1) in DEPICTION.told:
        return True
    if not cue.after:
        return cue.rule != "depicted" or not _is_the_image(words, index)
    last = next((i for i in range(index - 1, max(0, index - cue.near) - 1, -1) if words[i] in cue.after), -1)
    if last < 0 or at(words, phrase_start(words, 0, last) - 1) in DEPICTION.beside:
        return False
    this = words[0] == "this" and (last <= 2 or (last < 8 and "of" not in words[:index]))
    if this and last <= 2 and words[last] in DEPICTION.photographs:
        return False  # "This snapshot of a street shows ..."
    whole = (index == 2 and words[0] == "the") or this
    is_subject = last == index - 1 or (this and last <= 2)
    return not (whole and is_subject and words[last] in DEPICTION.artworks)


def _excepts(words: list[str], index: int) -> bool:
    """Whether "but" excepts something: "every tool but scissors", unlike "all dogs run but cats sleep"."""
    if at(words, index + 1) in {"the", "a", "an", "this", "that"}:
        return True
    if at(words, index + 1) in CLAUSE.opens_own_clause or not at(words, index + 1)[:1].isalnum():
        return False
    after = index + 1
    while after < min(len(words), index + FARTHEST) and words[after].isalnum():
        after += 1
    first = max(0, index - FARTHEST)
    whole = max((place for place in range(first, index) if words[place] in AFTER.everything), default=first)
    verbs = (is_finite_verb(words, place) for place in range(whole, after))
    return not any(verbs)


def _is_simile(words: list[str], index: int) -> bool:
    """Whether "like" compares what something does: "arched like a bird", unlike "utensils like a fork"."""
    before = at(words, index - 1)
    if before.endswith(("ed", "ing")):
        return before not in HEDGES.not_verbs and not is_determiner(at(words, index - 2))
    return index > 0 and is_finite_verb(words, index - 1) and before not in CLAUSE.auxiliaries


def _doubts_degree(words: list[str], index: int) -> bool:
    """Whether a hedge is about a degree: "possibly the largest dog", "maybe ten metres from the bus"."""
    if at(words, index + 1) == "the":
        superlative = at(words, index + 2)
        return superlative in {"most", "least", "only"} or superlative.endswith("est")
    return at(words, index + 2) in HEDGES.units


def _is_the_image(words: list[str], index: int) -> bool:
    """Whether a photo is the image itself, or is being taken: "a black and white photo of a dog"."""
    # whether only words as in "This is a black and white ..." come before
    framed = index <= 12 and DEPICTION.frame.issuperset(words[:index])
    if _is_what_the_image_shows(words, index):
        return DEPICTION.placed.isdisjoint(words)
    if words[index] in DEPICTION.artworks:
        named = words[:2] in (["this", "is"], ["it", "is"]) or words[1:3] == ["image", "is"]
        on = (i for i in range(index, len(words)) if words[i] == "on")
        return named and framed and not any(_is_sign(words, (i + 2, i + 3)) for i in on)
    if words[index] not in DEPICTION.photographs:
        return False
    if not DEPICTION.taking.isdisjoint(words_before(words, index, 3)):
        return True
    opens = framed or (index < 4 and words[0] not in GRAMMAR.definite)
    return opens and DEPICTION.placed.isdisjoint(words)


def _is_what_the_image_shows(words: list[str], index: int) -> bool:
    """Whether a photo is what the image is said to show: "The image captures a candid snapshot of a train"."""
    if words[index] not in DEPICTION.photographs:
        return False
    for verb in range(index - 1, max(0, index - 6), -1):
        if words[verb] in DEPICTION.showing:
            subject = words[:verb]
            carriers = DEPICTION.carriers - DEPICTION.whole  # "The TV in the center of the image displays"
            return not DEPICTION.whole.isdisjoint(subject) and carriers.isdisjoint(subject)
        if words[verb] in GRAMMAR.after_noun - {"and"}:
            return False
    return False


def opens_picture(words: list[str]) -> int:
    """Return where a sentence goes on after a picture: "On the poster, a dog ..."; 0 if it does not begin with one.

    "Painted on the bus is a dog" begins with a picture too.
    """
    if words[0] in DEPICTION.made and at(words, 1) in DEPICTION.onto:
        verbs = {"is", "are", "was", "were", ","}
        return next((i + 1 for i, word in enumerate(words[:16]) if i > 1 and word in verbs), 0)
    is_screen = words[0] == "on" and at(words, 1) in DEPICTION.screens  # "On TV, ..."
    if words[0] not in {"on", "in", "across"} or not (is_screen or is_determiner(at(words, 1))):
        return 0
    surface = next((i for i in range(1 if is_screen else 2, 5) if at(words, i) in DEPICTION.surfaces), 0)
    if words[:2] == ["in", "this"] and at(words, surface) in DEPICTION.artworks:
        return 0  # "In this illustration, a bear ..."
    while surface and at(words, surface + 1) in DEPICTION.surfaces:
        surface += 1
    if not surface and at(words, 3) in DEPICTION.screens and at(words, 4) == "there":
        surface = 3  # "On the computer monitor there is"
    following = at(words, surface + 1) if surface else ""
    if following == "," or following in GRAMMAR.indefinite:
        return surface + 1 + (following == ",")
    if following in {"is", "are", "there"} and _shows(words, surface):
        return surface + 2
    return 0


def _shows(words: list[str], surface: int) -> bool:
    """Whether "On the poster is" or "On the screen there is" begins a picture; a TV may have a real thing on it."""
    if words[surface] not in DEPICTION.screens:
        return True
    return not _on_signs().isdisjoint(words[surface + 2 : surface + 8])
