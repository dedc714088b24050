"""Rules by which another sentence decides on a mention: an answer to a question, a correction, a list's heading."""

from bisect import bisect_right
from itertools import groupby

from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.sentences import Sentence
from halluscope.judging.voters.lexical.tables import cue_phrases, phrases_of, words_of

RECENT = 40
"""The most mentions before a cue that the cue may refer to."""

Read = list[tuple[Sentence, list[Found]]]
"""A text's sentences in their order, each with its mentions."""


def take_back_asked(read: Read) -> None:
    """Mark what is only asked about: "Is there a dog? No."; but "Is there a dog? Yes." says that there is a dog."""
    for is_asked, run in groupby(range(len(read)), lambda place: _is_asked(read[place][0])):
        questions = [*run] if is_asked else []
        for question in questions:
            answer = question + len(questions)  # several questions in a row are answered in their order
            _take_back_unless(read[question], read[answer : answer + 2])


def _take_back_unless(question: tuple[Sentence, list[Found]], then: Read) -> None:
    """Mark what a question asks about, unless the one or two sentences after it affirm it."""
    words, asked = question[0].words, question[1]
    answer = then[0][0].words if then else []
    indirect = _is_indirect(words)
    if indirect and ":" in words:
        # "As to whether there is a cat: yes."
        answer = words[words.index(":") + 1 :]
        asked = [mention for mention in asked if mention.place < words.index(":")]
    for mention in asked:
        if mention.rule == "quoted":
            answer = _spoken(then)
        if not _affirmed(mention, _unlabelled(words), _unlabelled(answer)):
            mention.rule = mention.rule or "asked"
        elif mention.rule in {"asked", "hypothetical"} or (
            mention.rule == "quoted" and (_says_yes(answer) or indirect)
        ):
            mention.rule = ""  # "You asked whether there is a dog. There is."


def _spoken(read: Read) -> list[str]:
    """Return the answer to a question in quotation marks, after a sentence such as "she asks"."""
    words = [sentence.words for sentence, _ in read]
    told = len(words) > 1 and len(words[0]) <= 4 and not words_of("questions", "asking").isdisjoint(words[0])
    return words[told] if words else []


def _is_asked(sentence: Sentence) -> bool:
    words = sentence.words
    return sentence.asked or _is_indirect(words) or _speaker(words) in words_of("questions", "askers")


def _is_indirect(words: list[str]) -> bool:
    """Whether a sentence asks without a question mark: "You asked whether there is a dog."."""
    return phrases_of("questions", "indirect").at(words, 0) is not None


def _speaker(words: list[str]) -> str:
    """Return who speaks, in "Question 2: ..." or "User: ..."; "" if nobody is named."""
    colon = words[1:3].index(":") + 1 if ":" in words[1:3] else 0
    return words[0] if colon == 1 or (colon == 2 and words[1].isdigit()) else ""


def _unlabelled(words: list[str]) -> list[str]:
    speakers = words_of("questions", "askers") | words_of("questions", "answerers")
    return words[words.index(":") + 1 :] if words and _speaker(words) in speakers else words


def _affirmed(mention: Found, question: list[str], answer: list[str]) -> bool:
    """Whether the answer, or the question itself, says that the object is there."""
    if not answer:
        return False
    if _says_yes(answer):
        return True
    said = phrases_of("questions", "yes").at(answer, 0)
    opening = answer[:6]
    denies = bool(words_of("questions", "denials").intersection(opening))
    in_doubt = words_of("questions", "existence").intersection(question)
    if mention.definite and not in_doubt:
        return not ((denies and "there" in opening) or "none" in answer)
    if denies:
        return False
    if question[:1] and question[0] in words_of("questions", "open"):
        return True
    echo = opening[0] in words_of("questions", "pronouns") and opening[1:2] != []
    echo = echo and opening[1] in words_of("questions", "echoes")
    return said is not None or (echo and "or" not in question)


def _says_yes(answer: list[str]) -> bool:
    """Whether an answer is "Yes" or "Yes, asleep on the couch", but not "Yes and no"."""
    said = phrases_of("questions", "yes").at(answer, 0) if answer else None
    then = answer[said[0] : said[0] + 3] if said else ["no"]
    return then[:1] in ([], [","], ["—"]) and "no" not in then


def take_back_listed(read: Read) -> None:
    """Mark the items under a heading such as "Absent:", up to the next heading or the next long line."""
    under = False
    for sentence, mentions in read:
        words = sentence.words
        sections = _sections(words, mentions) if ":" in words else []
        if not sections and (heading := _heading(words)):
            under = heading in words_of("lists", "headings")
        elif not sections and under and len(words) > 5:
            under = False
        begun = [0, *(place for place, _ in sections)]
        denies = [under, *(denies for _, denies in sections)]
        for mention in mentions if under or sections else ():
            if denies[bisect_right(begun, mention.place) - 1]:
                mention.rule = mention.rule or "listed as absent"
        under = sections[-1][1] if sections else under


def _sections(words: list[str], mentions: list[Found]) -> list[tuple[int, bool]]:
    """Return the place of each heading's colon in a line, and whether the heading denies its items.

    An example is "present: dog, cat; absent: bus". In "dog: 1" there is no heading.
    """
    named = {mention.place for mention in mentions}
    sections = []
    begun = 0
    for place, word in enumerate(words):
        if word == ":" and named.isdisjoint(range(begun, place)):
            heading = words[begun:place]
            sections.append(
                (place, len(heading) <= 6 and _denies(heading) and (not begun or heading[0] != "no"))
            )
        elif word == ":" and not sections:
            sections.append((0, False))
        if word in words_of("lists", "between"):
            begun = place + 1
    return sections


def _heading(words: list[str]) -> str:
    """Return a line that is nothing but a heading, such as "Absent" or "Objects not visible"; else ""."""
    if len(words) > 6:
        return ""
    line = " ".join(word for word in words if word not in words_of("lists", "of_headings"))
    known = line in words_of("lists", "headings") or line in words_of("lists", "present")
    return line if known else ""


def _denies(heading: list[str]) -> bool:
    if heading and (cue := cue_phrases().at(heading, 0)) and cue[1].reach == "nothing":
        return False  # "No doubt about it: ..."
    absent = phrases_of("lists", "absent")
    return any(absent.at(heading, i) is not None for i in range(len(heading)))


def take_back_corrected(before: list[Found], sentence: Sentence | None) -> None:
    """Mark what the sentence before the given one got wrong: "A dog sits on the couch. Correction: it is a cat."

    The mark goes to the first thing that the earlier sentence newly names, or to a person if it names nothing else. If
    the earlier sentence denies something, that counts after all: "There is no sink. I was wrong: it is in the corner."
    """
    recent = [one for one in before[-RECENT:] if one.sentence is not sentence]
    if denied := [one for one in recent if one.sentence is recent[-1].sentence and one.rule == "negated"]:
        denied[0].rule = ""
        return
    named = (one for one in reversed(recent) if not one.rule)
    _, of_last = next(groupby(named, key=lambda one: id(one.sentence)), (0, iter(())))
    last = [mention for mention in of_last if not mention.definite][::-1]
    things = [mention for mention in last if not _is_person(mention)]
    for mention in (things or last)[:1]:
        mention.rule = "corrected"


def give_back(before: list[Found]) -> None:
    """Let the last mention count after all, if it was denied: "No cup, I was about to say, and then I spotted one"."""
    if before and before[-1].rule in {"negated", "corrected", "hypothetical"} and not before[-1].definite:
        before[-1].rule = ""


def take_back_seeming(before: list[Found], sentence: Sentence) -> None:
    """Mark what only seems to be there: "What looks like a dog ... is actually a rock"."""
    for mention in reversed(before[-RECENT:]):
        if mention.sentence is not before[-1].sentence and mention.sentence is not sentence:
            return
        if not mention.rule and _seems(mention):
            mention.rule = "corrected"


def _seems(mention: Found) -> bool:
    words, place = mention.sentence.words, mention.place
    return any(word in words_of("corrections", "seeming") for word in words[max(0, place - 6) : place])


def _is_person(mention: Found) -> bool:
    return any(cls.lower() == "person" for cls in mention.classes)
