"""Rules by which more than a mention's own sentence decides: questions, lists, and the whole of a part."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from halluscope.judging.lexical import absence, statements
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

# The group of words that a rule is about, as lexical.toml has it
Group = dict[str, Any]


# ---- Questions ----


def take_back_asked(text: Sequence[Sentence]) -> None:
    """Take back what is only asked about: "Is there a dog? No."; but "Is there a dog? Yes." says that there is one."""
    asks = [_asks(sentence) for sentence in text]
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and asks[end] == asks[start]:
            end += 1
        if asks[start]:
            # several questions in a row are answered by as many sentences, in their order
            for number, question in enumerate(text[start:end]):
                _take_back_unless_affirmed(question, text[end + number : end + number + 2])
        start = end


def _asks(sentence: Sentence) -> bool:
    words = sentence.words
    return sentence.asked or _is_indirect(words) or _speaker(words) in QUESTIONS.askers


def _is_indirect(words: list[str]) -> bool:
    """Whether a sentence asks without a question mark: "You asked whether there is a dog."."""
    return phrases_of("questions", "indirect").at(words, 0) is not None


def _take_back_unless_affirmed(question: Sentence, following: Sequence[Sentence]) -> None:
    """Take back what a question asks about, unless the sentences after it, two at most, affirm it."""
    words = question.words
    asked = question.mentions
    reply = following[0].words if following else []
    quoted_reply = reply
    if len(reply) <= 4 and not QUESTIONS.asking.isdisjoint(reply):
        # the reply to a question in quotation marks comes after a sentence such as "she asks"
        quoted_reply = following[-1].words
    indirect = _is_indirect(words)
    states_until = 0
    if question.asked and not indirect:
        states_until = statements.asked_from(words)
    if indirect and ":" in words:
        # "As to whether there is a cat: yes."
        colon = words.index(":")
        reply = words[colon + 1 :]
        asked = [mention for mention in asked if mention.index < colon]
    answer = _answer_in(reply, words)
    quoted_answer = _answer_in(quoted_reply, words)
    for mention in asked:
        if mention.rule == "quoted":
            answer = quoted_answer  # from here on
        if question.asked and mention.index < states_until:
            continue
        affirms = answer.affirms_the if mention.definite else answer.affirms_a
        if not affirms:
            mention.take_back("asked")
        elif mention.rule in {"asked", "hypothetical"}:
            mention.rule = ""  # "You asked whether there is a dog. There is."
        elif mention.rule == "quoted" and (indirect or answer.says_yes):
            mention.rule = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply to a question says."""

    says_yes: bool
    affirms_the: bool  # whether it says that the objects are there which are named in a definite way
    affirms_a: bool  # whether it says that the others are there


def _answer_in(reply: list[str], question: list[str]) -> Answer:
    answer = _unlabelled(reply)
    asked = _unlabelled(question)
    return Answer(
        says_yes=_says_yes(reply),
        affirms_the=_affirmed(True, asked, answer),
        affirms_a=_affirmed(False, asked, answer),
    )


def _speaker(words: list[str]) -> str:
    """Return who speaks, in "Question 2: ..." or "User: ..."; "" if nobody is named."""
    is_numbered = at(words, 2) == ":" and words[1].isdigit()
    if at(words, 1) == ":" or is_numbered:
        return words[0]
    return ""


def _unlabelled(words: list[str]) -> list[str]:
    """Return what is said, without who speaks."""
    speaker = _speaker(words)
    if speaker in QUESTIONS.askers or speaker in QUESTIONS.answerers:
        return words[words.index(":") + 1 :]
    return words


def _affirmed(is_definite: bool, question: list[str], answer: list[str]) -> bool:
    """Whether the answer, or the question itself, says that an object, named in a definite way or not, is there."""
    if not answer:
        return _presupposed(is_definite, question)
    if _says_yes(answer):
        return True
    opening = answer[:6]
    denies = not QUESTIONS.denials.isdisjoint(opening)
    if is_definite and QUESTIONS.existence.isdisjoint(question):
        is_gone = denies or not QUESTIONS.gone.isdisjoint(opening)
        if question[:1] == ["where"] and is_gone:
            return not _answers_nowhere(answer)
        return "none" not in answer and not (denies and "there" in opening)
    if denies:
        return False
    if at(question, 0) in QUESTIONS.open or phrases_of("questions", "yes").at(answer, 0):
        return True
    return answer[0] in QUESTIONS.pronouns and at(answer, 1) in QUESTIONS.echoes and "or" not in question


def _answers_nowhere(answer: list[str]) -> bool:
    """Whether an answer to "where" says that it is nowhere: "It cannot be found", but not "It is not on the bed"."""
    if answer[0] in {"nowhere", "not"} or not QUESTIONS.located.isdisjoint(answer[:8]):
        return True
    return absence.has_presence(answer[:8])  # "It is not in the picture"


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
    if not answer:
        return False
    yes = phrases_of("questions", "yes").at(answer, 0)
    if yes is None:
        return False
    rest = answer[yes.end : yes.end + 3]
    return at(rest, 0) in {"", ",", "—"} and "no" not in rest


# ---- Lists, tables and data ----


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a line under one heading."""

    start: int  # the place of the heading's colon
    denies: bool  # whether the heading says that its items are absent


def take_back_listed(text: Sequence[Sentence]) -> None:
    """Take back the items under a heading such as "Absent:", up to the next heading or the next long line."""
    is_under_denial = False
    for sentence in text:
        words = sentence.words
        sections = _sections(sentence) if ":" in words else []
        heading = _heading(words)
        if not sections and heading:
            is_under_denial = heading in LISTS.headings
        elif not sections and len(words) > 5:
            is_under_denial = False
        if not is_under_denial and not sections:
            continue
        sections.insert(0, Section(0, is_under_denial))
        starts = [section.start for section in sections]
        for mention in sentence.mentions:
            section = sections[bisect_right(starts, mention.index) - 1]
            if section.denies:
                mention.take_back("listed as absent")
        is_under_denial = sections[-1].denies


def _sections(sentence: Sentence) -> list[Section]:
    """Return the parts of a line by their headings, such as "present: dog, cat; absent: bus".

    In "dog: 1" there is no heading.
    """
    named = {mention.index for mention in sentence.mentions}
    sections: list[Section] = []
    start = 0
    is_named = False  # whether the words from `start` on name a class
    for index, word in enumerate(sentence.words):
        if word == ":" and not is_named:
            heading = sentence.words[start : min(index, start + LONGEST_HEADING)]
            sections.append(Section(index, _denies(heading, opens_line=start == 0)))
        elif word == ":" and not sections:
            sections.append(Section(0, False))
        if index in named:
            is_named = True
        if word in LISTS.between:
            start = index + 1
            is_named = False
    return sections


def _heading(words: list[str]) -> str:
    """Return a line that is nothing but a heading, such as "Absent" or "Objects not visible"; else ""."""
    if len(words) > 6:
        return ""
    line = " ".join(word for word in words if word not in LISTS.of_headings)
    is_heading = line in LISTS.headings or line in LISTS.present
    return line if is_heading else ""


def _denies(heading: list[str], opens_line: bool) -> bool:
    """Whether words before a colon say that what follows is absent; "no" counts only where they open a line."""
    if not heading:
        return False
    is_heading = len(heading) <= 6 or "following" in heading
    if not is_heading or (heading[0] == "no" and not opens_line):
        return False
    cue = cue_phrases().at(heading, 0)
    if cue is not None and cue.meaning.reach == "nothing":
        return False  # "No doubt about it: ..."
    absent = phrases_of("lists", "absent")
    return any(absent.at(heading, index) for index in range(len(heading)))


# ---- Words that mean something else because of another word anywhere in the text ----


class _WordsOfText:
    """Which words a text has, and where they stand first, counted in words."""

    def __init__(self, text: Sequence[Sentence]) -> None:
        self._first_place: dict[str, int] = {}
        self._sentence_start: dict[int, int] = {}  # by the sentence's id
        place = 0
        for sentence in text:
            self._sentence_start[id(sentence)] = place
            for word in sentence.words:
                self._first_place.setdefault(word, place)
                place += 1

    def supports(self, mention: Candidate, group: Group) -> bool:
        """Whether a group's words say what a mention means: anywhere, or before it if the group says so."""
        words = group.get("by", ())
        if "before" not in group:
            return not self._first_place.keys().isdisjoint(words)
        end = self._sentence_start[id(mention.sentence)] + _known_until(mention)
        return any(self._first_place.get(word, end) < end for word in words)

    def excepts(self, group: Group) -> bool:
        """Whether the text has a word in spite of which a group does not count."""
        return not self._first_place.keys().isdisjoint(group.get("but", ()))


def take_back_other_senses(
    text: Sequence[Sentence], mentions: Sequence[Candidate], names: frozenset[str]
) -> None:
    """Take back words of another meaning: after "teddy bear", "the bear" is a teddy bear.

    An ambiguous word gets the classes of its sense: a "boxer" on a leash is a dog. A class's own name, one of `names`,
    needs no support from the text.
    """
    context: _WordsOfText | None = None
    for mention in mentions:
        word = mention.own
        senses = readings("senses").get(word, ())
        unless = readings("unless").get(word, ())
        only_with = readings("only_with").get(word, ())
        if not senses and not unless and not only_with:
            continue
        if context is None:
            context = _WordsOfText(text)
        has_sense = False
        for sense in senses:
            is_meant = context.supports(mention, sense)
            has_sense = has_sense or is_meant
            mention.classes = tuple(
                cls for cls in mention.classes if (cls.lower() == sense["class"]) == is_meant
            )
        if has_sense:
            continue
        is_other = any(context.supports(mention, group) and not context.excepts(group) for group in unless)
        is_alone = False
        if only_with and word not in names:
            is_alone = not any(context.supports(mention, group) for group in only_with)
        if is_other or is_alone:
            mention.take_back("another meaning")


def _known_until(mention: Candidate) -> int:
    """Return up to where the words around a pronoun may say whom it means: "The dog barks. He"; "He is a good dog"."""
    if mention.after in {"is", "was"} and is_determiner(at(mention.words, mention.end + 1)):
        return len(mention.words)
    return mention.index


# ---- Parts of things: "the toilet has a white bowl", "the train's cars" ----


@dataclass(frozen=True, slots=True)
class PartKind:
    """What a word that may name a part is a part of; all words singular and plural."""

    wholes: Words  # of which it may be a part
    known_wholes: Words  # after which "the" part is theirs
    neighbours: Words  # parts that are named beside it


def take_back_parts(mentions: Sequence[Candidate]) -> None:
    """Take back the mentions that name a part."""
    named = set()  # the classes named so far
    for place, mention in enumerate(mentions):
        if mention.rule:
            continue
        kind = _part_kinds().get(mention.own)
        is_part = False
        if kind is not None:
            near = mentions[max(0, place - NEAR) : place + NEAR]
            is_part = _is_part(mention, kind, near, is_first=mention.classes not in named)
        if is_part:
            mention.rule = "part of another thing"
        else:
            named.add(mention.classes)


@cache
def _part_kinds() -> dict[str, PartKind]:
    """Return what each word, singular or plural, is a part of that may name a part."""
    kinds = {}
    for group in tables()["parts"]["kinds"]:
        kind = PartKind(
            _with_plurals(group, "of"), _with_plurals(group, "the"), _with_plurals(group, "beside")
        )
        for word in group["words"]:
            for form in forms(word):
                kinds[form] = kind
    return kinds


def _with_plurals(group: Group, name: str) -> Words:
    words: set[str] = set()
    for word in group.get(name, ()):
        words.update(forms(word))
    return frozenset(words)


def _is_part(mention: Candidate, kind: PartKind, near: Sequence[Candidate], is_first: bool) -> bool:
    """Whether a mention is a part of what is named near it; `is_first` if its class is not named before."""
    words = mention.words
    start = mention.start
    first = max(0, mention.index - NEAR)
    wholes = [place for place in range(first, mention.index) if words[place] in kind.wholes]
    if any(place >= start and place in mention.sentence.possessive for place in wholes):
        return True
    if mention.after == "of":
        return _is_of_whole(mention, kind)
    if wholes and "its" in words[max(0, start - 1) : start + 1]:
        return _animals().isdisjoint(words[first:start])
    # "The toilet is white. The bowl is clean.": "the", though no bowl is named before
    is_known = words[start] == "the" and is_first and mention.after not in PARTS.places
    if kind.known_wholes and (is_known or _has_neighbour(mention, kind)):
        named = near
        if is_known:
            named = near[: near.index(mention)]
        return any(not kind.known_wholes.isdisjoint(other.own.split()) for other in named)
    if _stands_apart(mention):
        return False
    inside = [other for other in near if other.sentence is mention.sentence and other is not mention]
    return any(_has_part(whole, mention, inside) for whole in wholes[-2:])


@cache
def _animals() -> Words:
    return frozenset(tables()["compounds"]["groups"]["animals"])


def _is_of_whole(mention: Candidate, kind: PartKind) -> bool:
    """Whether "of" and a whole follow a mention: "the bowl of the white toilet"."""
    following = mention.following(5)
    determiner = at(following, 1)
    if determiner not in GRAMMAR.definite and determiner not in {"a", "an"}:
        return False
    return not kind.wholes.isdisjoint(following[2:])


def _has_neighbour(mention: Candidate, kind: PartKind) -> bool:
    """Whether another part is named beside this one: "a tank and a bowl"."""
    before = at(mention.words, mention.start - 2)
    if mention.before_phrase == "and" and before in kind.neighbours:
        return True
    return mention.after == "and" and not kind.neighbours.isdisjoint(mention.following(4))


def _stands_apart(mention: Candidate) -> bool:
    """Whether a thing is on or beside another: "a bowl on it", "cars parked nearby"."""
    if mention.after in PARTS.separate:
        return True
    if mention.after not in PARTS.places:
        return False
    return not {"it", "them", "its", "top", "front"}.isdisjoint(mention.following(5))


def _has_part(whole: int, part: Candidate, inside: Sequence[Candidate]) -> bool:
    """Whether a whole is said to have the part: "a toilet with a bowl", "the sink has a tap and a bowl".

    `inside` are the sentence's other mentions.
    """
    between = part.words[whole + 1 : part.start]
    for gap in range(len(between)):
        link = _link_at(between, gap)
        if not link:
            continue
        if gap and (link[0] in {"with", "is", "are"} or between[0] not in PARTS.gap):
            continue
        if gap > 4:
            return False
        rest = between[gap + len(link) :]
        return _is_joined(rest) and not _is_of_another(whole, part, inside)
    return False


def _link_at(words: list[str], index: int) -> list[str]:
    """Return the words at a place that link a whole and its part, the most there are; [] for none."""
    for link in _links():
        if words[index : index + len(link)] == link:
            return link
    return []


@cache
def _links() -> list[list[str]]:
    """Return what may stand between a whole and its part, the longest first."""
    links = [phrase.split() for phrase in tables()["parts"]["links"]]
    return sorted(links, key=len, reverse=True)


def _is_joined(words: list[str]) -> bool:
    """Whether nothing, or an earlier item, stands between a link and a part: "has a tap and a bowl"."""
    if not words:
        return True
    if words[-1] not in {"and", ","}:
        return False
    return GRAMMAR.after_noun.isdisjoint(set(words) - {"and"})


def _is_of_another(whole: int, part: Candidate, inside: Sequence[Candidate]) -> bool:
    """Whether a mention of other classes than the whole's stands between it and the part, or is joined to the part."""
    classes_of_whole: set[str] = set()
    for mention in inside:
        if mention.index <= whole < mention.end:
            classes_of_whole.update(mention.classes)
    for mention in inside:
        if not classes_of_whole.isdisjoint(mention.classes):
            continue
        if whole < mention.index < part.start:
            return True
        if part.after in {"and", ","}:
            start = phrase_start(part.words, part.end, mention.index)
            if start == part.end + 1:
                return True
    return False
