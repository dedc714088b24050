"""Rules about the words around a mention, of which most say whether they take it back."""

from bisect import bisect_left
from functools import cache

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
    PART_OF_COMPOUND,
    READINGS,
    Cue,
    Words,
    at,
    forms,
    has_plural_ending,
    is_determiner,
    last_of,
    phrase_start,
    phrases_of,
    tables,
    words_before,
)

HYPOTHESIS = Cue("hypothetical", "clause", keeps_definite=False)
PICTURE = Cue("depicted", "sentence", keeps_definite=True)

BOX = frozenset({"["})
EMPTY_BOX = ["[", "]"]

HAVING = frozenset({"with", "has", "have"})


# ---- Another thing's name, or another meaning ----


def compound(mention: Candidate) -> str:
    """Return the rule by which a mention is only part of another thing's name: "bus stop", "toy car", "cat-shaped"."""
    sentence = mention.sentence
    end = mention.end
    owns = _owns(sentence, end - 1)
    inside = sentence.compounds.get(end - 1) or sentence.compounds.get(mention.index)
    if inside is not None:
        if inside.start < mention.index and not _owns(sentence, inside.start):
            return inside.rule
        last = mention.words[inside.end - 1]
        is_left = inside.rule == "remains" and last not in COMPOUNDS.attached
        if _goes_past(inside.end, mention) and (is_left or not owns):
            return inside.rule
    if not owns and _is_in_any_compound(mention):
        return PART_OF_COMPOUND
    return ""


def _is_in_any_compound(mention: Candidate) -> bool:
    """Whether a word beside a mention makes something else of it, whatever the mention is: "toy dog", "bus-like"."""
    if mention.before in COMPOUNDS.before_any:
        return True
    if mention.after in COMPOUNDS.after_any:
        then = at(mention.words, mention.end + 1)
        if then not in {"like", "with"}:
            return True
    return mention.end in mention.sentence.hyphened and mention.after in COMPOUNDS.after_hyphen


def _goes_past(compound_end: int, mention: Candidate) -> bool:
    """Whether a compound goes on after a mention in it; "the TV shows a match" is no compound."""
    if compound_end <= mention.end:
        return False
    following = at(mention.words, compound_end)
    has_object = following in GRAMMAR.definite or following in {"a", "an", "on", "against", "at", "in"}
    last = mention.words[compound_end - 1]
    return not (has_object and last.endswith(("s", "ing")))


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
    if not joined or not is_determiner(mention.words[mention.start]):
        return False
    return following.after[:1].isalnum() and following.after not in GRAMMAR.after_noun


def other_reading(mention: Candidate) -> bool:
    """Whether a word that can be a noun is something else here: "an orange sign", "a remote area", "to tie"."""
    if mention.end - mention.index > 1:
        return False
    if _is_verb(mention):
        return True
    if mention.words[mention.index] not in READINGS.adjectives:
        return False
    before = mention.before
    after = mention.after
    if before in {"", "-", "|", "["} and after in {":", "|", "=", "→", "-"}:
        return False  # an item of a list
    return not _is_noun(mention)


def _is_noun(mention: Candidate) -> bool:
    """Whether a word that can be an adjective is a noun: "an orange in a bowl", "a banana, orange, and apple"."""
    before = mention.before
    after = mention.after
    then = at(mention.words, mention.end + 1)
    ends = after in GRAMMAR.after_noun or after in GRAMMAR.participles or not after[:1].isalnum()
    if not ends and not _acts(mention):
        return False
    if before in GRAMMAR.colors or (after in {"and", "or", ","} and then in GRAMMAR.colors):
        return False
    if is_determiner(mention.words[mention.start]):
        return True
    previous = mention.previous
    return before in {",", "and", "or"} and previous is not None and previous.end >= mention.index - 2


def _acts(mention: Candidate) -> bool:
    """Whether a verb says what somebody does or wears: "an individual dressed in black", "a male rides a bike"."""
    if mention.own not in READINGS.people:
        return False
    if is_finite_verb(mention.words, mention.end):
        return True
    verb = mention.after
    if not verb.endswith(("ed", "ing")) or verb in READINGS.not_participles:
        return False
    # not "an individual framed picture", nor "individual framed and signed pictures"
    then = at(mention.words, mention.end + 1)
    if then in {"and", "or"}:
        return False
    return is_determiner(then) or then in GRAMMAR.after_noun or then == "mid"  # "captured mid-air"


def _is_verb(mention: Candidate) -> bool:
    """Whether a noun's form is a verb here: "can bear", "he trains", "the shirt bears the words"."""
    word = mention.words[mention.index]
    if word in READINGS.verbs:
        return _is_plain_verb(word, mention)
    if not word.endswith("s"):
        return False
    if word[:-1] in READINGS.verbs or word.removesuffix("es") in READINGS.verbs:
        return _is_verb_of_one(mention)
    return False


def _is_plain_verb(word: str, mention: Candidate) -> bool:
    """Whether a noun is a verb without an ending here: "can bear", "to bear", "people train a dog"."""
    takes_object = word in READINGS.after_plural or mention.after in {"the", "a", "an", "their"}
    if takes_object and _is_plural_subject(mention.before):
        return True
    if mention.before == "to" and at(mention.words, mention.index - 2) in READINGS.before_preposition:
        return False  # "next to train tracks"
    return mention.before in READINGS.before_verb


def _is_verb_of_one(mention: Candidate) -> bool:
    """Whether a noun in "-s" is a verb here: "he trains", "the shirt bears the words"; not "two bears the size of"."""
    if mention.before in READINGS.subjects:
        return True
    then = at(mention.words, mention.index + 2)
    if mention.after not in READINGS.after_verb or then in {"size", "few", "couple"}:
        return False
    first = mention.words[mention.start]
    is_of_several = first in GRAMMAR.indefinite and first not in {"a", "an", "each", "every"}
    return not is_of_several


def _is_plural_subject(word: str) -> bool:
    return word in {"children", "people", "men", "women", "feet"} or has_plural_ending(word)


# ---- Wishes, guesses, and other things that are not there ----


def modal(mention: Candidate) -> bool:
    """Whether the text only says what an indefinite mention may do: "where people can sit".

    "People can be seen", however, says that they are there.
    """
    if mention.definite or mention.own in {"he", "she"}:
        return False
    after = mention.after
    following = mention.following(8)[1:]
    if after in GRAMMAR.modals:
        return not _can_be_seen(after, following[:3])
    if after in CLAUSE.joins:
        # "a clock above the mantelpiece would have helped"
        for word in following:
            if word == "would":
                return True
            if word in CLAUSE.ends_clause or word in CLAUSE.not_in_list:
                return False
        return False
    # "Cows usually graze here"
    return after in HEDGES.habits and mention.start == mention.index == 0


def _can_be_seen(verb: str, following: list[str]) -> bool:
    """Whether words after a modal verb say that a thing is there; "can seen" and "can also been seen" are meant so."""
    if verb == "can" and at(following, 0) in GRAMMAR.seen:
        return True
    if GRAMMAR.being.isdisjoint(following):
        return False
    return verb == "can" or not GRAMMAR.seen.isdisjoint(following)


def place_of(mention: Candidate) -> bool:
    """Whether the text gives only a thing's place or time: "where the clock ought to hang", "when the bus comes"."""
    words = mention.words
    before = mention.before_phrase
    if before == "where":
        return not HEDGES.formerly.isdisjoint(mention.following(2))
    two_before = words_before(words, mention.start, 2)
    if before in HEDGES.until or two_before in (["soon", "as"], ["the", "time"]):
        return mention.after in HEDGES.coming
    return before == "after" and mention.after in HEDGES.departures


def identity(mention: Candidate, cue: int) -> bool:
    """Whether a hedge says what a visible thing is: "a large vehicle, most likely a bus", "what is probably a bus".

    A guess at what happens ("maybe a bus is coming") does not, and neither does a guess between several things.
    """
    before = words_before(mention.words, cue, 2)
    if before in (["what", "is"], ["what", "are"]):
        return True
    if not before or before[-1] not in HEDGES.before_identity or before[0] == "there":
        return False
    is_alone = mention.begin == mention.opened and not mention.words[mention.begin].endswith("ing")
    return is_alone and (mention.after or ",") in HEDGES.after_identity


def conditions(mention: Candidate) -> bool:
    """Whether a doubt is about something that is there: "if the dog runs any further", but not "if the dog comes".

    "Whether the dog is asleep" is such a doubt, but "whether the dog is in the picture" is not.
    """
    words = mention.words
    opened = mention.opened
    verb = mention.after
    doubt = words[opened : mention.begin] or words_before(words, opened, 1)
    if not HEDGES.doubts.issuperset(doubt) or words[max(0, opened - 2)] == "as":
        return False
    if doubt[-1:] != ["if"] and verb in {"is", "are", "was", "were", "has", "have"}:
        return HEDGES.presence.isdisjoint(mention.following(5)[1:])
    if doubt[-1] in HEDGES.of_identity:
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
    opens_clause = index == 0 or words[index - 1] == ","
    return opens_clause and following in GRAMMAR.subjects


def belongs_to_nobody(mention: Candidate) -> bool:
    """Whether an owner is only a kind of owner, or has left the things behind.

    "A chef's hat", "the gardener's gloves lie on a pot", but not "a chef's hand" nor "the chef's hat is tall".
    """
    words = mention.words
    end = mention.end
    if end - 1 not in mention.sentence.possessive:
        return False
    thing = mention.after or ","
    owner = words[end - 1]
    if thing in ABSENT.works and not mention.definite:
        return True
    if owner in ABSENT.anybody:
        return False
    if owner in ABSENT.shops and _ends_phrase(thing):
        return True  # "closed, like the barber's"
    owned_end = _end_of_owned(mention)
    owned = set()
    for word in words[end:owned_end]:
        owned.add(word)
        owned.add(word.removesuffix("s"))
    if not owned or not _may_own(mention) or not ABSENT.body.isdisjoint(owned):
        return False
    if not ABSENT.places.isdisjoint(owned):
        return True
    if not mention.definite and not ABSENT.belongings.isdisjoint(owned):
        return True
    lies = not ABSENT.lying.isdisjoint(words[owned_end : owned_end + 3])
    return lies and "out" not in words[owned_end : owned_end + 4]


def _end_of_owned(mention: Candidate) -> int:
    """Return where the words after an owner end that name the things that are owned, five at most."""
    last = min(mention.end + 5, len(mention.words))
    for place in range(mention.end, last):
        if place not in mention.sentence.hyphened and _ends_phrase(mention.words[place]):
            return place
    return last


def _ends_phrase(word: str) -> bool:
    return word in GRAMMAR.after_noun or word in ABSENT.lying or not word[0].isalnum()


def _may_own(mention: Candidate) -> bool:
    """Whether a mention is of somebody who owns things: a person or an animal, but not "the table's top"."""
    if is_of_person(mention):
        return True
    return mention.words[mention.end - 1] in tables()["compounds"]["groups"]["animals"]


def is_of_person(mention: Candidate) -> bool:
    """Whether a mention is of a person."""
    return any(cls.lower() == "person" for cls in mention.classes)


# ---- Lists, tables and data ----


def look_for_list(sentence: Sentence) -> None:
    """Say whether a sentence may be an item of a list, and where its check marks and crosses stand."""
    for marks in (LISTS.marks, LISTS.checks, LISTS.crosses, LISTS.bare, {"~~"}):
        if not marks.isdisjoint(sentence.words):
            sentence.is_list = True
    if sentence.is_list:
        boxes = LISTS.checks | LISTS.crosses
        sentence.boxes = [place for place, word in enumerate(sentence.words) if word in boxes]


def is_listed_absent(mention: Candidate) -> bool:
    """Whether a list says that an object is not there."""
    if not mention.sentence.is_list:
        return False
    if mention.sentence.asked and mention.words[mention.end :] == [",", "no"]:
        return False  # "It is a train, no?"
    return _is_crossed(mention) or _is_denied(mention)


def _is_crossed(mention: Candidate) -> bool:
    """Whether a list counts an object as 0, strikes it out, or has a cross: "0 dogs", "❌ cat"."""
    words = mention.words
    index = mention.index
    after = mention.after
    if mention.before in {"0", "zero", "0x", "x0"} and at(words, index - 2) not in LISTS.marks:
        return True
    is_struck_out = bisect_left(mention.sentence.strikes, index) % 2 == 1
    if is_struck_out or after == "~~":
        return True
    if words[0] in LISTS.checks or words[0] in LISTS.crosses:  # the marks come before the items
        boxes = mention.sentence.boxes
        nearest = boxes[bisect_left(boxes, index) - 1]
        return words[nearest] in LISTS.crosses
    if after in LISTS.crosses:
        return True
    if words[0] != "[" and words[:2] != ["-", "["]:
        return False
    box = last_of(words, BOX, 0, index)
    return words[box : box + 2] == EMPTY_BOX


def _is_denied(mention: Candidate) -> bool:
    """Whether a value such as "none" or 0 follows an object: "Bus: none", "- Dog: 0", "| scissors | 0 |"."""
    words = mention.words
    end = mention.end
    if mention.after in LISTS.counts:
        end += 1
    value = end
    while at(words, value) in LISTS.marks:
        value += 1
    if value == end or value == len(words):  # no mark follows, or nothing follows the marks
        return _is_bare_value(mention.following(12))
    opens_line = mention.after == ":" and _opens_line(mention)
    absent = phrases_of("lists", "absent").at(words, value)
    if absent is None:
        return opens_line and phrases_of("lists", "denied").at(words, value) is not None
    following = at(words, absent.end)
    if absent.meaning == "no" and mention.after in {"-", "–", "—"} and following == ",":
        return False  # "a bus - no, a tram" corrects
    if not following[:1].isalnum() or following == "and":
        return True
    return opens_line and absent.meaning in {"no", "none", "not"}


def _opens_line(mention: Candidate) -> bool:
    """Whether nothing but marks and single letters stands before a mention."""
    for place in range(mention.index):
        word = mention.words[place]
        if len(word) != 1 and word not in LISTS.marks:
            return False
    return True


def _is_bare_value(rest: list[str]) -> bool:
    """Whether nothing but a value follows an object: "Dogs 0", "dog,0" or a dash in a table."""
    if rest in (EMPTY_BOX, [":", "[", "]"], ["(", ")"]):
        return True
    first = at(rest, 0)
    second = at(rest, 1)
    if first == "," and second in {"no", "none"} and at(rest, 2) in {"", ";"}:
        return True  # "spoons, yes; forks, no"
    if first == "|" and len(rest) > 2 and {"|", "-", "–", "—"}.issuperset(rest):
        return True  # dashes in the other cells of a row
    if first in {",", "|"}:
        return rest[1:] == ["0"]
    return first in LISTS.bare and second in {"", ",", ";", "|", ")"}


# ---- Pictures: objects that are only shown in one, and pictures that are the image itself ----


def shown_on(mention: Candidate) -> bool:
    """Whether a mention is a picture on something: "a dog on the poster", "a mug with a cat on it"."""
    words = mention.words
    may_be_on_sign = words[mention.end - 1] in _on_signs()
    ends_phrase = not mention.after or mention.after in DEPICTION.of_signs
    is_had = mention.before_phrase in HAVING
    if may_be_on_sign and ends_phrase and is_had and _is_sign(words, mention.start - 2):
        return True  # "a sign with a cow"
    preposition = _after_made(words, mention.end)
    if at(words, preposition) not in {"on", "in", "across"}:
        return False
    following = at(words, preposition + 1)
    surface = words[preposition + 1 : preposition + 4]
    if is_determiner(following):
        if not DEPICTION.surfaces.isdisjoint(surface[1:]):
            return True
        if may_be_on_sign and (_is_sign(words, preposition + 2) or _is_sign(words, preposition + 3)):
            return True
    is_side = following == "the" and not {"front", "back", "cover", "side"}.isdisjoint(surface[1:])
    if following not in {"it", "its", "them"} and not is_side:
        return False
    for carrier in range(max(0, mention.index - 9), mention.index - 1):
        has_print = words[carrier] in DEPICTION.prints or (may_be_on_sign and _is_sign(words, carrier))
        if has_print and (words[carrier + 1] in HAVING or words[carrier + 1] == "having"):
            return True
    return False


@cache
def _on_signs() -> Words:
    words: set[str] = set()
    for word in DEPICTION.on_signs:
        words.update(forms(word))
    return frozenset(words)


def _is_sign(words: list[str], index: int) -> bool:
    """Whether the word at a place is a sign that may have a picture."""
    return at(words, index) in DEPICTION.signs and words[index - 1] != "stop"


def _after_made(words: list[str], end: int) -> int:
    """Return the place after what says how a picture is made: "is", "can be painted"."""
    if at(words, end) in {"is", "are"}:
        end += 1
    if at(words, end) == "can" and at(words, end + 1) == "be":
        end += 2
    if at(words, end) in DEPICTION.made:
        end += 1
    return end


def is_called_likeness(mention: Candidate) -> bool:
    """Whether a mention is said to be a likeness: "the bear is a statue", not "it is a statue of a bear"."""
    if mention.after not in {"is", "are"}:
        return False
    words = mention.words
    before = mention.before_phrase
    if before not in {"", ",", "and", "that"} and before not in CLAUSE.ends_clause:
        return False
    likeness = mention.end + 1
    while is_determiner(at(words, likeness)) or at(words, likeness) in DEPICTION.before_likeness:
        likeness += 1
    is_bare = words[likeness - 1] == mention.after
    if is_bare and not at(words, likeness).endswith("s"):
        return False  # "the skier is carving"
    return at(words, likeness) in DEPICTION.likenesses and at(words, likeness + 1) != "of"


def shares_surface(mention: Candidate, following: Candidate) -> bool:
    """Whether a mention is on the surface of the next one: "a cat and a dog on the poster"."""
    joined = mention.end == following.start - 1 and mention.after == "and"
    return joined and shown_on(following)


def pictured_beside(mention: Candidate) -> bool:
    """Whether a mention says what a picture before it shows: "the logo, a bicycle in neon", "the mural: two horses"."""
    mark = mention.before_phrase
    before = words_before(mention.words, mention.start, 6)[:-1]
    if not before or mark not in DEPICTION.tells:
        return False
    picture = before[-1]
    if "of" in before[1:]:
        picture = before[before.index("of") - 1]  # "the logo of the shop, a dog"
    if picture in DEPICTION.emblems:
        return True
    return mark != "," and (picture in DEPICTION.surfaces or picture in DEPICTION.artworks)


def cue_applies(cue: Cue, words: list[str], index: int) -> bool:
    """Whether a cue applies here."""
    if not _is_meant(cue, words, index):
        return False
    if cue.after:
        return _is_of_what_comes_before(cue, words, index)
    return cue.rule != "depicted" or not _is_the_image(words, index)


def _is_meant(cue: Cue, words: list[str], index: int) -> bool:
    """Whether a word that is a cue only in one of its meanings has that meaning here."""
    word = words[index]
    if word == "strike" and index and words[index - 1] not in CORRECTIONS.before_strike:
        return False  # "poised to strike the ball"
    if word == "but" and cue.after == AFTER.everything and not _excepts(words, index):
        return False
    if word == "like" and not _is_simile(words, index):
        return False
    return not (word in HEDGES.of_identity and _doubts_degree(words, index))


def _is_of_what_comes_before(cue: Cue, words: list[str], index: int) -> bool:
    """Whether a cue follows one of the words that it needs: "shows" a picture, as in "the poster shows a dog"."""
    if cue.after == DEPICTION.carriers and at(words, index - 1) in DEPICTION.told:
        return True
    last = last_of(words, cue.after, max(0, index - cue.near), index)
    if last < 0 or at(words, phrase_start(words, 0, last) - 1) in DEPICTION.beside:
        return False
    return not _is_artwork_itself(words, last, index)


def _is_artwork_itself(words: list[str], picture: int, cue: int) -> bool:
    """Whether a picture before a cue is the image itself: "This snapshot of a street shows", "The drawing shows"."""
    start = 1 if words[0] == "in" else 0  # "In this illustration, a bear holds a cake"
    is_this = words[start] == "this" and picture <= start + 2
    if is_this and words[picture] in DEPICTION.photographs:
        return True
    if words[picture] not in DEPICTION.artworks:
        return False
    if is_this:
        return True
    if picture != cue - 1:
        return False
    if words[0] == "this" and picture < 8 and "of" not in words[:cue]:
        return True
    return words[0] == "the" and cue == 2


def _excepts(words: list[str], index: int) -> bool:
    """Whether "but" excepts something: "every tool but scissors", unlike "all dogs run but cats sleep"."""
    following = at(words, index + 1)
    if following in {"the", "a", "an", "this", "that"}:
        return True
    if following in CLAUSE.opens_own_clause or not following[:1].isalnum():
        return False
    end = index + 1
    while end < min(len(words), index + FARTHEST) and words[end].isalnum():
        end += 1
    first = max(0, index - FARTHEST)
    whole = max(first, last_of(words, AFTER.everything, first, index))
    return not any(is_finite_verb(words, place) for place in range(whole, end))


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
    is_framed = index <= 12 and DEPICTION.frame.issuperset(words[:index])
    if _is_what_the_image_shows(words, index):
        return DEPICTION.placed.isdisjoint(words)
    if words[index] in DEPICTION.artworks:
        return is_framed and _names_itself(words) and not _is_on_sign(words, index)
    if words[index] not in DEPICTION.photographs:
        return False
    if not DEPICTION.taking.isdisjoint(words_before(words, index, 3)):
        return True
    opens = is_framed or (index < 4 and words[0] not in GRAMMAR.definite)
    return opens and DEPICTION.placed.isdisjoint(words)


def _names_itself(words: list[str]) -> bool:
    """Whether a sentence begins with "This is", "It is" or "The image is"."""
    if words[1:3] == ["image", "is"]:
        return True
    return words[:2] in (["this", "is"], ["it", "is"])


def _is_on_sign(words: list[str], start: int) -> bool:
    """Whether the words from a place on say that something is on a sign."""
    for place in range(start, len(words)):
        if words[place] == "on" and (_is_sign(words, place + 2) or _is_sign(words, place + 3)):
            return True
    return False


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
        for place in range(2, min(len(words), 16)):
            if words[place] in {"is", "are", "was", "were", ","}:
                return place + 1
        return 0
    surface = _opening_surface(words)
    if not surface:
        return 0
    following = at(words, surface + 1)
    if following == ",":
        return surface + 2
    if following in GRAMMAR.indefinite:
        return surface + 1
    if following in {"is", "are", "there"} and _shows(words, surface):
        return surface + 2
    return 0


def _opening_surface(words: list[str]) -> int:
    """Return the place of the surface that a sentence begins with: "On the poster"; 0 without one."""
    if words[0] not in {"on", "in", "across"}:
        return 0
    if words[0] == "on" and at(words, 1) in DEPICTION.screens:
        first = 1  # "On TV, ..."
    elif is_determiner(at(words, 1)):
        first = 2
    else:
        return 0
    surface = _first_of(words, DEPICTION.surfaces, first, 5)
    if words[:2] == ["in", "this"] and at(words, surface) in DEPICTION.artworks:
        return 0  # "In this illustration, a bear ..."
    while surface and at(words, surface + 1) in DEPICTION.surfaces:
        surface += 1
    if not surface and at(words, 3) in DEPICTION.screens and at(words, 4) == "there":
        return 3  # "On the computer monitor there is"
    return surface


def _first_of(words: list[str], wanted: Words, start: int, end: int) -> int:
    """Return the first place of one of the wanted words, from a place to before another; 0 if there is none."""
    for place in range(start, end):
        if at(words, place) in wanted:
            return place
    return 0


def _shows(words: list[str], surface: int) -> bool:
    """Whether "On the poster is" or "On the screen there is" begins a picture; a TV may have a real thing on it."""
    if words[surface] not in DEPICTION.screens:
        return True
    return not _on_signs().isdisjoint(words[surface + 2 : surface + 8])
