"""Rules by which more than a mention's own sentence decides: questions, lists, and the whole of a part."""

from bisect import bisect_right
from functools import cache
from itertools import groupby
from typing import Any

from halluscope.judging.lexical import statements
from halluscope.judging.lexical.sentences import Candidate, Sentence
from halluscope.judging.lexical.tables import (
    GRAMMAR,
    HEDGES,
    LISTS,
    PARTS,
    QUESTIONS,
    Words,
    at,
    cue_phrases,
    forms,
    is_determiner,
    phrase_start,
    phrases_of,
    readings,
    tables,
)

# How many words and mentions before a part are searched for its whole
NEAR = 40

# How many words before a colon may be a heading
LONGEST_HEADING = 30


# ---- Questions ----


def take_back_asked(text: list[Sentence]) -> None:
    """Mark what is only asked about: "Is there a dog? No."; but "Is there a dog? Yes." says that there is a dog."""

    def asks(sentence: Sentence) -> bool:
        words = sentence.words
        return sentence.asked or _is_indirect(words) or _speaker(words) in QUESTIONS.askers

    end = 0
    for is_question, run in groupby(text, asks):
        alike = [*run]
        end += len(alike)
        for i, question in enumerate(alike if is_question else ()):
            # several questions in a row are answered in their order
            _take_back_unless(question, [sentence.words for sentence in text[end + i : end + i + 2]] or [[]])


def _take_back_unless(question: Sentence, then: list[list[str]]) -> None:
    """Mark what a question asks about, unless the one or two sentences after it affirm it."""
    words, asked, answer = question.words, question.mentions, then[0]
    indirect = _is_indirect(words)
    states_until = 0
    if question.asked and not indirect:
        states_until = statements.asked_from(words)
    if indirect and ":" in words:
        # "As to whether there is a cat: yes."
        colon = words.index(":")
        answer, asked = words[colon + 1 :], [mention for mention in asked if mention.index < colon]
    affirmed: dict[bool, bool] = {}  # whether the answer affirms definite mentions, and others
    for mention in asked:
        if mention.rule == "quoted":
            # the answer to a question in quotation marks comes after a sentence such as "she asks"
            says_who = len(then[0]) <= 4 and not QUESTIONS.asking.isdisjoint(then[0])
            following = then[-1 if says_who else 0]
            if following is not answer:
                answer = following
                affirmed.clear()
        if question.asked and mention.index < states_until:
            continue
        if mention.definite not in affirmed:
            affirmed[mention.definite] = _affirmed(mention.definite, _unlabelled(words), _unlabelled(answer))
        if not affirmed[mention.definite]:
            mention.rule = mention.rule or "asked"
        elif mention.rule in {"asked", "hypothetical"} or (
            mention.rule == "quoted" and (indirect or _says_yes(answer))
        ):
            mention.rule = ""  # "You asked whether there is a dog. There is."


def _is_indirect(words: list[str]) -> bool:
    """Whether a sentence asks without a question mark: "You asked whether there is a dog."."""
    return phrases_of("questions", "indirect").at(words, 0) is not None


def _speaker(words: list[str]) -> str:
    """Return who speaks, in "Question 2: ..." or "User: ..."; "" if nobody is named."""
    named = at(words, 1) == ":" or (at(words, 2) == ":" and words[1].isdigit())
    return words[0] if named else ""


def _unlabelled(words: list[str]) -> list[str]:
    """Return what is said, without who speaks."""
    is_label = _speaker(words) in QUESTIONS.askers | QUESTIONS.answerers
    return words[words.index(":") + 1 :] if is_label else words


def _affirmed(is_definite: bool, question: list[str], answer: list[str]) -> bool:
    """Whether the answer, or the question itself, says that an object, named in a definite way or not, is there."""
    if not answer:
        return _presupposed(is_definite, question)
    if _says_yes(answer):
        return True
    denies = not QUESTIONS.denials.isdisjoint(answer[:6])
    if is_definite and QUESTIONS.existence.isdisjoint(question):
        if question[:1] == ["where"] and (denies or not QUESTIONS.gone.isdisjoint(answer[:6])):
            return not _answers_nowhere(answer)
        return not ((denies and "there" in answer[:6]) or "none" in answer)
    if denies:
        return False
    if at(question, 0) in QUESTIONS.open or phrases_of("questions", "yes").at(answer, 0):
        return True
    return answer[0] in QUESTIONS.pronouns and at(answer, 1) in QUESTIONS.echoes and "or" not in question


def _answers_nowhere(answer: list[str]) -> bool:
    """Whether an answer to "where" says that it is nowhere: "It cannot be found", but not "It is not on the bed"."""
    return answer[0] in {"nowhere", "not"} or not QUESTIONS.located.isdisjoint(answer[:8])


def _presupposed(is_definite: bool, question: list[str]) -> bool:
    """Whether a question that nobody answers takes an object for granted: "Why is there a dog?"."""
    if question[:1] == ["why"]:
        return True
    if not is_definite or question[:1] == ["where"]:
        return False
    doubts = QUESTIONS.existence | QUESTIONS.denials | HEDGES.coming | HEDGES.departures
    return doubts.isdisjoint(question)


def _says_yes(answer: list[str]) -> bool:
    """Whether an answer is "Yes" or "Yes, asleep on the couch", but not "Yes and no"."""
    if not answer or not (yes := phrases_of("questions", "yes").at(answer, 0)):
        return False
    rest = answer[yes[0] : yes[0] + 3]
    return at(rest, 0) in {"", ",", "—"} and "no" not in rest


# ---- Lists, tables and data ----


def take_back_listed(text: list[Sentence]) -> None:
    """Mark the items under a heading such as "Absent:", up to the next heading or the next long line."""
    under = False
    for sentence in text:
        words = sentence.words
        sections = _sections(sentence) if ":" in words else []
        if not sections and (heading := _heading(words)):
            under = heading in LISTS.headings
        elif not sections and len(words) > 5:
            under = False
        if not (under or sections):
            continue
        begun, denies = zip((0, under), *sections, strict=True)
        for mention in sentence.mentions:
            if denies[bisect_right(begun, mention.index) - 1]:
                mention.rule = mention.rule or "listed as absent"
        under = denies[-1]


def _sections(sentence: Sentence) -> list[tuple[int, bool]]:
    """Return the place of each heading's colon in a line, and whether the heading denies its items.

    An example is "present: dog, cat; absent: bus". In "dog: 1" there is no heading.
    """
    named = {mention.index for mention in sentence.mentions}
    sections: list[tuple[int, bool]] = []
    begun = 0
    is_named = False  # whether the words from `begun` on name a class
    for index, word in enumerate(sentence.words):
        if word == ":" and not is_named:
            heading = sentence.words[begun : min(index, begun + LONGEST_HEADING)]
            is_heading = len(heading) <= 6 or "following" in heading
            denies = is_heading and _denies(heading) and (not begun or heading[0] != "no")
            sections.append((index, denies))
        elif word == ":" and not sections:
            sections.append((0, False))
        if index in named:
            is_named = True
        if word in LISTS.between:
            begun = index + 1
            is_named = False
    return sections


def _heading(words: list[str]) -> str:
    """Return a line that is nothing but a heading, such as "Absent" or "Objects not visible"; else ""."""
    line = " ".join(word for word in words[:7] if word not in LISTS.of_headings)
    return line if len(words) <= 6 and (line in LISTS.headings or line in LISTS.present) else ""


def _denies(heading: list[str]) -> bool:
    if heading and (cue := cue_phrases().at(heading, 0)) and cue[1].reach == "nothing":
        return False  # "No doubt about it: ..."
    absent = phrases_of("lists", "absent")
    return any(absent.at(heading, i) is not None for i in range(len(heading)))


# ---- Words that mean something else because of another word anywhere in the text ----


def take_back_other_senses(text: list[Sentence], mentions: list[Candidate], names: frozenset[str]) -> None:
    """Mark words of another meaning: after "teddy bear", "the bear" is a teddy bear.

    An ambiguous word gets the classes of its sense: a "boxer" on a leash is a dog. A class's own name, one of `names`,
    needs no support from the text.
    """
    places: dict[str, int] = {}  # where each word of the text stands first
    begun: dict[int, int] = {}  # where each sentence begins, by its id

    def has(mention: Candidate, group: dict[str, Any], words: str = "by") -> bool:
        listed = group.get(words, ())
        if words == "by" and "before" in group:
            end = begun[id(mention.sentence)] + _known_until(mention)
            return any(places.get(word, end) < end for word in listed)
        return not places.keys().isdisjoint(listed)

    for mention in mentions:
        word = mention.own
        senses, unless, only_with = (
            readings(kind).get(word, []) for kind in ("senses", "unless", "only_with")
        )
        if not (senses or unless or only_with):
            continue
        if not places:
            places, begun = _first_places(text)
        for sense in senses:
            mention.classes = tuple(
                cls for cls in mention.classes if (cls.lower() == sense["class"]) == has(mention, sense)
            )
        taken = any(has(mention, group) and not has(mention, group, "but") for group in unless)
        alone = only_with and word not in names and not any(has(mention, group) for group in only_with)
        if (taken or alone) and not any(has(mention, sense) for sense in senses):
            mention.rule = mention.rule or "another meaning"


def _first_places(text: list[Sentence]) -> tuple[dict[str, int], dict[int, int]]:
    """Return where each word of a text stands first, and where each sentence begins, counted in words."""
    places: dict[str, int] = {}
    begun: dict[int, int] = {}
    place = 0
    for sentence in text:
        begun[id(sentence)] = place
        for word in sentence.words:
            places.setdefault(word, place)
            place += 1
    return places, begun


def _known_until(mention: Candidate) -> int:
    """Return up to where the words around a pronoun may say whom it means: "The dog barks. He"; "He is a good dog"."""
    if mention.after in {"is", "was"} and is_determiner(at(mention.words, mention.end + 1)):
        return len(mention.words)
    return mention.index


# ---- Parts of things: "the toilet has a white bowl", "the train's cars" ----


@cache
def _parts() -> dict[str, dict[str, Words]]:
    """Return the group of each word, singular and plural, that may name a part, with the plurals of its words."""
    return {
        form: {
            key: Words(one for name in group.get(key, ()) for one in forms(name))
            for key in ("of", "the", "beside")
        }
        for group in tables()["parts"]["kinds"]
        for word in group["words"]
        for form in forms(word)
    }


def take_back_parts(mentions: list[Candidate]) -> None:
    """Mark the mentions that name a part."""
    named = set()  # the classes named so far
    for i, mention in enumerate(mentions):
        if mention.rule:
            continue
        part = _parts().get(mention.own)
        if part and _is_part(
            mention, part, mentions[max(0, i - NEAR) : i + NEAR], mention.classes not in named
        ):
            mention.rule = "part of another thing"
        else:
            named.add(mention.classes)


def _is_part(mention: Candidate, part: dict[str, Words], near: list[Candidate], is_first: bool) -> bool:
    """Whether a mention is a part of what is named near it; `is_first` if its class is not named before."""
    words, start, index, end = mention.words, mention.start, mention.index, mention.end
    wholes = [i for i in range(max(0, index - NEAR), index) if words[i] in part["of"]]
    if any(start <= i and i in mention.sentence.possessive for i in wholes):
        return True
    if mention.after == "of":  # "the white toilet"
        is_determined = at(words, end + 1) in GRAMMAR.definite | {"a", "an"}
        return is_determined and not part["of"].isdisjoint(words[end + 2 : end + 5])
    if "its" in words[max(0, start - 1) : start + 1] and wholes:
        return set(tables()["compounds"]["groups"]["animals"]).isdisjoint(words[max(0, index - NEAR) : start])
    known = words[start] == "the" and is_first and mention.after not in PARTS.places
    # another part is named beside this one: "a tank and a bowl"
    beside = (at(words, start - 1) == "and" and at(words, start - 2) in part["beside"]) or (
        mention.after == "and" and not part["beside"].isdisjoint(words[end : end + 4])
    )
    if part["the"] and (known or beside):
        # "The toilet is white. The bowl is clean."
        named = near[: near.index(mention)] if known else near
        return any(not part["the"].isdisjoint(other.own.split()) for other in named)
    # "a bowl on it", "cars parked nearby"
    on = mention.after in PARTS.places and not {"it", "them", "its", "top", "front"}.isdisjoint(
        words[end : end + 5]
    )
    if on or mention.after in PARTS.separate:
        return False
    inside = [other for other in near if other.sentence is mention.sentence and other is not mention]
    return any(_has(mention, i, inside) for i in wholes[-2:])


def _has(part: Candidate, whole: int, inside: list[Candidate]) -> bool:
    """Whether the whole is said to have the part: "a toilet with a bowl", "the sink has a tap and a bowl"."""
    between = part.words[whole + 1 : part.start]
    for index in range(len(between)):
        link = next((one for one in _links() if between[index : index + len(one)] == one), [])
        gap, rest = between[:index], between[index + len(link) :]
        if not link or (gap and (link[0] in {"with", "is", "are"} or gap[0] not in PARTS.gap)):
            continue
        if len(gap) > 4:
            return False
        joined = rest[-1:] in (["and"], [","]) and GRAMMAR.after_noun.isdisjoint({*rest} - {"and"})
        of_whole = {cls for one in inside if one.index <= whole < one.end for cls in one.classes}
        return (not rest or joined) and not any(
            whole < one.index < part.start
            or (part.after in {"and", ","} and phrase_start(part.words, part.end, one.index) == part.end + 1)
            for one in inside
            if of_whole.isdisjoint(one.classes)
        )
    return False


@cache
def _links() -> list[list[str]]:
    """Return what may stand between a whole and its part, the longest first."""
    return sorted((phrase.split() for phrase in tables()["parts"]["links"]), key=len, reverse=True)
