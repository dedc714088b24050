"""Rules by which more than a mention's own phrase decides: questions, corrections, lists, and the whole of a part."""

from bisect import bisect_left, bisect_right
from functools import cache
from itertools import groupby

from halluscope.judging.lexical.sentences import Candidate, Sentence
from halluscope.judging.lexical.tables import (
    CORRECTIONS,
    GRAMMAR,
    LISTS,
    PARTS,
    QUESTIONS,
    Words,
    at,
    cue_phrases,
    forms,
    phrase_start,
    phrases_of,
    tables,
)

# The most mentions before a cue that the cue may refer to
RECENT = 40

# How many words and mentions before a part are searched for its whole
NEAR = 40

# A text's sentences in their order, each with its mentions
Read = list[tuple[Sentence, list[Candidate]]]


# ---- Questions ----


def take_back_asked(read: Read) -> None:
    """Mark what is only asked about: "Is there a dog? No."; but "Is there a dog? Yes." says that there is a dog."""
    asks = [
        one.asked or _is_indirect(one.words) or _speaker(one.words) in QUESTIONS.askers for one, _ in read
    ]
    for is_question, run in groupby(range(len(read)), asks.__getitem__):
        questions = [*run] if is_question else []
        for question in questions:
            answer = question + len(questions)  # several questions in a row are answered in their order
            then = [sentence.words for sentence, _ in read[answer : answer + 2]]
            _take_back_unless(read[question][0].words, read[question][1], then or [[]])


def _take_back_unless(words: list[str], asked: list[Candidate], then: list[list[str]]) -> None:
    """Mark what a question asks about, unless the one or two sentences after it affirm it."""
    answer, indirect = then[0], _is_indirect(words)
    if indirect and ":" in words:
        # "As to whether there is a cat: yes."
        colon = words.index(":")
        answer, asked = words[colon + 1 :], [mention for mention in asked if mention.place < colon]
    for mention in asked:
        if mention.rule == "quoted":
            # the answer to a question in quotation marks comes after a sentence such as "she asks"
            says_who = len(then[0]) <= 4 and not QUESTIONS.asking.isdisjoint(then[0])
            answer = then[-1 if says_who else 0]
        if not _affirmed(mention, _unlabelled(words), _unlabelled(answer)):
            mention.rule = mention.rule or "asked"
        elif mention.rule in {"asked", "hypothetical"} or (
            mention.rule == "quoted" and (_says_yes(answer) or indirect)
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
    speaker = _speaker(words)
    is_label = speaker in QUESTIONS.askers or speaker in QUESTIONS.answerers
    return words[words.index(":") + 1 :] if is_label else words


def _affirmed(mention: Candidate, question: list[str], answer: list[str]) -> bool:
    """Whether the answer, or the question itself, says that the object is there."""
    if not answer:
        return False
    if _says_yes(answer):
        return True
    opening = answer[:6]
    denies = not QUESTIONS.denials.isdisjoint(opening)
    if mention.definite and QUESTIONS.existence.isdisjoint(question):
        return not ((denies and "there" in opening) or "none" in answer)
    if denies:
        return False
    if at(question, 0) in QUESTIONS.open or phrases_of("questions", "yes").at(answer, 0):
        return True
    return answer[0] in QUESTIONS.pronouns and at(answer, 1) in QUESTIONS.echoes and "or" not in question


def _says_yes(answer: list[str]) -> bool:
    """Whether an answer is "Yes" or "Yes, asleep on the couch", but not "Yes and no"."""
    said = phrases_of("questions", "yes").at(answer, 0) if answer else None
    return said is not None and (
        at(answer, said[0]) in {"", ",", "—"} and "no" not in answer[said[0] : said[0] + 3]
    )


# ---- Corrections ----


def take_back_corrected(before: list[Candidate], sentence: Sentence | None) -> None:
    """Mark what the sentence before the given one got wrong: "A dog sits on the couch. Correction: it is a cat."

    The mark goes to the first thing that the earlier sentence newly names, or to a person if it names nothing else. If
    the earlier sentence denies something, that counts after all: "There is no sink. I was wrong: it is in the corner."
    """
    recent = [one for one in before[-RECENT:] if one.sentence is not sentence]
    if denied := [one for one in recent if one.sentence is recent[-1].sentence and one.rule == "negated"]:
        denied[0].rule = ""
        return
    named = [one for one in recent if not one.rule]
    last = [one for one in named if one.sentence is named[-1].sentence and not one.definite]
    things = [one for one in last if not any(cls.lower() == "person" for cls in one.classes)]
    for mention in (things or last)[:1]:
        mention.rule = "corrected"


def take_back_seeming(before: list[Candidate], sentence: Sentence) -> None:
    """Mark what only seems to be there: "What looks like a dog ... is actually a rock"."""
    for mention in reversed(before[-RECENT:]):
        if mention.sentence is not before[-1].sentence and mention.sentence is not sentence:
            return
        near = mention.words[max(0, mention.place - 6) : mention.place]
        if not mention.rule and not CORRECTIONS.seeming.isdisjoint(near):
            mention.rule = "corrected"


# ---- Lists, tables and data ----


def take_back_listed(read: Read) -> None:
    """Mark the items under a heading such as "Absent:", up to the next heading or the next long line."""
    under = False
    for sentence, mentions in read:
        words = sentence.words
        sections = _sections(words, mentions) if ":" in words else []
        if not sections and (heading := _heading(words)):
            under = heading in LISTS.headings
        elif not sections and len(words) > 5:
            under = False
        if not under and not sections:
            continue
        begun, denies = zip((0, under), *sections, strict=True)
        for mention in mentions:
            if denies[bisect_right(begun, mention.place) - 1]:
                mention.rule = mention.rule or "listed as absent"
        under = denies[-1]


def _sections(words: list[str], mentions: list[Candidate]) -> list[tuple[int, bool]]:
    """Return the place of each heading's colon in a line, and whether the heading denies its items.

    An example is "present: dog, cat; absent: bus". In "dog: 1" there is no heading.
    """
    named = {mention.place for mention in mentions}
    sections: list[tuple[int, bool]] = []
    begun = 0
    for place, word in enumerate(words):
        if word == ":" and named.isdisjoint(range(begun, place)):
            heading = words[begun:place]
            denies = len(heading) <= 6 and _denies(heading) and (not begun or heading[0] != "no")
            sections.append((place, denies))
        elif word == ":" and not sections:
            sections.append((0, False))
        if word in LISTS.between:
            begun = place + 1
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


def is_crossed(one: Candidate) -> bool:
    """Whether a list counts an object as 0, strikes it out, or has a cross: "0 dogs", "❌ cat"."""
    words, place = one.words, one.place
    counted = one.before in {"0", "zero", "0x", "x0"} and at(words, place - 2) not in LISTS.marks
    if counted or one.after == "~~" or bisect_left(one.sentence.strikes, place) % 2:
        return True
    if words[0] in LISTS.checks or words[0] in LISTS.crosses:  # the marks come before the items
        marks = LISTS.checks | LISTS.crosses
        return next((word for word in reversed(words[:place]) if word in marks), "") in LISTS.crosses
    return one.after in LISTS.crosses or words[:2] == ["[", "]"] or words[:3] == ["-", "[", "]"]


def is_denied(one: Candidate) -> bool:
    """Whether a value such as "none" or 0 follows an object: "Bus: none", "- Dog: 0", "| scissors | 0 |"."""
    words = one.words
    begun = after = one.end + (one.after in LISTS.counts)
    while at(words, after) in LISTS.marks:
        after += 1
    if after in {begun, len(words)}:
        return _bare_value(words[one.end : one.end + 12])
    opens = one.after == ":" and all(word in LISTS.marks or len(word) == 1 for word in words[: one.place])
    if value := phrases_of("lists", "absent").at(words, after):
        past = at(words, value[0])
        if value[1] == "no" and one.after in {"-", "–", "—"} and past == ",":
            return False  # "a bus - no, a tram" corrects
        return (
            not past
            or not past[0].isalnum()
            or past == "and"
            or (opens and value[1] in {"no", "none", "not"})
        )
    return opens and phrases_of("lists", "denied").at(words, after) is not None


def _bare_value(rest: list[str]) -> bool:
    """Whether nothing but a value follows an object: "Dogs 0", "dog,0" or a dash in a table."""
    if rest in ([":", "[", "]"], ["[", "]"], ["(", ")"]):
        return True
    first, second, third = at(rest, 0), at(rest, 1), at(rest, 2)
    if first == "," and second in {"no", "none"} and third in {"", ";"}:
        return True  # "spoons, yes; forks, no"
    if first in {",", "|"}:
        dashes = first == "|" and {"-", "–", "—"}.issuperset(set(rest) - {"|"}) and len(rest) > 2
        return rest[1:] == ["0"] or dashes
    return first in LISTS.bare and second in {"", ",", ";", "|", ")"}


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


def take_back_parts(found: list[Candidate]) -> None:
    """Mark the mentions that name a part."""
    named = set()  # the classes named so far
    for i, mention in enumerate(found):
        if mention.rule:
            continue
        if (part := _parts().get(mention.words[mention.place])) and mention.end - mention.place == 1:
            near = (found[max(0, i - NEAR) : i], found[i + 1 : i + NEAR])
            if _is_part(mention, part, *near, mention.classes not in named):
                mention.rule = "part of another thing"
                continue
        named.add(mention.classes)


def _is_part(
    one: Candidate,
    part: dict[str, Words],
    before: list[Candidate],
    behind: list[Candidate],
    is_first: bool,
) -> bool:
    words, start, place, end = one.words, one.start, one.place, one.end
    wholes = [i for i in range(max(0, place - NEAR), place) if words[i] in part["of"]]
    if any(start <= i and i in one.sentence.possessive for i in wholes):
        return True
    if one.after == "of":  # "the white toilet"
        is_determined = at(words, end + 1) in GRAMMAR.definite | {"a", "an"}
        return is_determined and not part["of"].isdisjoint(words[end + 2 : end + 5])
    if "its" in words[max(0, start - 1) : start + 1] and wholes:
        return set(tables()["compounds"]["groups"]["animals"]).isdisjoint(words[max(0, place - NEAR) : start])
    known = words[start] == "the" and is_first and one.after not in PARTS.places
    if (
        part["the"]
        and (
            known
            # another part is named beside this one: "a tank and a bowl"
            or (at(words, start - 1) == "and" and at(words, start - 2) in part["beside"])
            or (one.after == "and" and not part["beside"].isdisjoint(words[end : end + 4]))
        )
    ):
        # "The toilet is white. The bowl is clean."
        named = before if known else [*before, one, *behind]
        return any(not part["the"].isdisjoint(other.own) for other in named)
    # "a bowl on it", "cars parked nearby"
    on = one.after in PARTS.places and not {"it", "them", "its", "top", "front"}.isdisjoint(
        words[end : end + 5]
    )
    if on or one.after in PARTS.separate:
        return False
    inside = [other for other in (*before, *behind) if other.sentence is one.sentence]
    return any(_has(one, i, inside) for i in wholes[-2:])


def _has(part: Candidate, whole: int, inside: list[Candidate]) -> bool:
    """Whether the whole is said to have the part: "a toilet with a bowl", "the sink has a tap and a bowl"."""
    between = part.words[whole + 1 : part.start]
    for place in range(len(between)):
        link = next((one for one in _links() if between[place : place + len(one)] == one), [])
        gap, rest = between[:place], between[place + len(link) :]
        if not link or (gap and (link[0] in {"with", "is", "are"} or gap[0] not in PARTS.gap)):
            continue
        if len(gap) > 4:
            return False
        joined = at(rest, len(rest) - 1) in {"and", ","} and GRAMMAR.after_noun.isdisjoint(
            set(rest) - {"and"}
        )
        of_whole = {cls for one in inside if one.place <= whole < one.end for cls in one.classes}
        return (not rest or joined) and not any(
            whole < one.place < part.start
            or (part.after in {"and", ","} and phrase_start(part.words, part.end, one.place) == part.end + 1)
            for one in inside
            if of_whole.isdisjoint(one.classes)
        )
    return False


@cache
def _links() -> list[list[str]]:
    """Return what may stand between a whole and its part, the longest first."""
    return sorted((phrase.split() for phrase in tables()["parts"]["links"]), key=len, reverse=True)
