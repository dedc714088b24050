"""Reads a free-text response to a yes/no question as yes, no or uncertain. Every rule has a name; no model is asked.

What a model thinks aloud, in <think> ... </think>, is not read. If it put its answer into a tag such as <answer>, a box
or JSON (`halluscope.judging.marked_answer`), only that is read. The first rule that applies decides:

- `empty`: the response has no letter: unreadable.
- `undecided`: it opens with a no and goes on to say that the question cannot be answered: uncertain.
- `contradiction`: it opens with yes and concludes with no, or the reverse: uncertain.
- `conclusion`: it says "so, yes", "the answer is no" or "Final answer: yes"; the last of these counts.
- `opening`: it begins with a yes or a no. A "no" that belongs to a noun ("No data ...") does not count.
- `single word`: it has a separate "yes" somewhere and no separate "no", or the reverse.
- `refusal`: it says "I cannot determine", "without the chart", "it depends": uncertain.
- `restated`: a sentence has the question's words in their order: yes, or no if the sentence denies. The rule does not
  apply if the response calls something false or wrong.
- `unread`: no rule applies: unreadable.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from halluscope.judging.marked_answer import HINT, in_containers, without_marks

KEY = "rules-2"  # The rules' name in a signature; the number goes up when a rule changes

YES, NO, UNCERTAIN = "yes", "no", "uncertain"

# How many characters of a response are read; a longer one comes from a model that did not stop
LONGEST = 20_000


class Reading(NamedTuple):
    """What a response says."""

    answer: str | None  # "yes", "no", "uncertain", or None if no rule could read the response
    rule: str  # the name of the rule that decided


@lru_cache(maxsize=10_000)
def read(answer: str, question: str = "") -> Reading:
    """Read a response.

    >>> read("Yes, it is.").answer, read("**No**").answer, read("I cannot tell.").answer
    ('yes', 'no', 'uncertain')
    >>> read("The bar is not red.", "Is the bar red?")
    Reading(answer='no', rule='restated')
    >>> read("A dog.").answer is None
    True
    """
    text = _plain(_without_marks(spoken(answer)[:LONGEST]))
    if not re.search(_LETTER, text):
        return Reading(None, "empty")
    opening, conclusion = _opening(text), _conclusion(text)
    if opening == NO and conclusion is None and re.search(_REFUSAL, _first_sentence(text)):
        return Reading(UNCERTAIN, "undecided")
    if opening and conclusion and opening != conclusion:
        return Reading(UNCERTAIN, "contradiction")
    if conclusion:
        return Reading(conclusion, "conclusion")
    if opening:
        return Reading(opening, "opening")
    if word := _single(text):
        return Reading(word, "single word")
    if re.search(_REFUSAL, text):
        return Reading(UNCERTAIN, "refusal")
    if stated := _restated(text, _plain(question[:LONGEST])):
        return Reading(stated, "restated")
    return Reading(None, "unread")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What the rules look for, in lowercased text; `re` compiles a pattern when it is first needed.
_LETTER = r"[^\W\d_]"
_MARKUP = r"[*_`#>]+(?!\s*\d)"
_SENTENCE_END = r"(?<=[.!?])\s+|\n+"
_THINKS = r"(?i)<think(?:ing)?>"
_THOUGHT = r"(?i)</think(?:ing)?>"
_MARKS = re.compile(HINT, re.IGNORECASE)
_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\u00b4", "''''")

_PLAIN_YES = ("yes", "yeah", "yep")
_SAYS = {
    **dict.fromkeys((*_PLAIN_YES, "true", "correct", "indeed", "certainly", "definitely"), YES),
    **dict.fromkeys(("no", "nope", "false", "incorrect", "not really", "not exactly", "definitely not"), NO),
}
_WORD = "|".join(sorted(_SAYS, key=len, reverse=True))
_LABEL = r"(?:final |short |my )?(?:answer|response|output|a)\s*[:=-]\W*"
_PREAMBLE = rf"\W*(?:{_LABEL}|(?:sure|okay|ok|well|sorry|hmm|ah)\W+)*"
_OPENING = rf"{_PREAMBLE}({_WORD})(?:$|[^\w\s]|\s+(?P<next>[^\W\d_']+)?)"
_EITHER = r"\W{0,3}(?:(?:and|or)\W)?\W{0,3}(?:yes|no)\b"
_AFTER_NO = _words(
    "the this that these those there it its they he she we you i a an in on at for from of as according based "
    "because since both all neither not isn doesn don aren wasn"
)
_CONCLUSION = (
    r"\b(?:(?:so|thus|therefore|hence|consequently|overall|in conclusion|in summary|in short)(?:\s+the answer is)?"
    r"|(?:final |correct |the )?answer(?: to (?:the|this|your) question)?(?: is|\s?:)"
    r"|i (?:would|will|'d|'ll) (?:say|answer)(?: with)?)"
    r"[\s:,\"'(\[]*(yes|no)\b(?=\W*$|\s*[^\w\s]|\s+(?:the|there|it|this))"
)
_ALONE = r"(?:^|[\"'(\[:;,.!?\n-]\s*)(yes|no)(?=[\"')\],.;:!?\n-]|\s*$)"

_UNABLE = r"(?:cannot|can't|can not|could not|couldn't|do not|don't|(?:am|'m) (?:unable|not able) to)"
_FIND_OUT = "(?:answer|determine|confirm|tell|say|know|verify|provide|assess|identify|access|help|be (?:sure|certain))"
_SETTLE = r"(?:\w+ )?(?:answer|determine|confirm|tell|say|know|verify)"
_SETTLED = r"(?:\w+ )?(?:answered|determined|confirmed|verified|known|inferred)"
_FACTS = r"(?:data|information|access|knowledge|values|projections|context|details?|figures|statistics)"
_SOURCE = r"(?:data|chart|image|context|information|table|map|figure|picture)"
_REFUSAL = (
    rf"\b(?:i|we|one) {_UNABLE} (?:\w+ ){{0,2}}{_FIND_OUT}\b"
    rf"|\b(?:i|we) (?:do not|don't) (?:\w+ )?have (?:\w+[- ]){{0,8}}{_FACTS}\b"
    rf"|\b(?:i|we) (?:cannot|can't|can not) (?:see|view) (?:the|an?|any) {_SOURCE}\b|\b(?:have )?no idea\b"
    r"|\bi(?: am|'m) (?:not (?:\w+ )?(?:sure|certain)|uncertain|unsure)\b"
    rf"|\b(?:cannot|can't|can not|could not) be {_SETTLED}\b"
    rf"|\b(?:(?:not |im)possible (?:for me )?|difficult |hard )to {_SETTLE}\b"
    r"|\bwithout (?:seeing|access to"
    rf"|(?:the|a|any|an|more|further|additional|specific) (?:\w+ ){{0,2}}{_SOURCE})\b"
    r"|\b(?:insufficient|not (?:enough|sufficient)|isn't enough) (?:\w+ )?(?:information|context|data)\b"
    r"|\b(?:does|do|did) not (?:provide|contain|conclusively|specify|clearly (?:show|indicate))\b"
    r"|\b(?:it|that|the answer) depends\b|\b(?:it is|it's|is) (?:unclear|uncertain|unknown|not clear)\b"
    r"|\b(?:uncertain|undetermined|unclear|unknown)\W*$"
    rf"|\bno {_SOURCE} (?:\w+ ){{0,2}}(?:provided|available|given|attached|included)\b"
)


def spoken(text: str) -> str:
    """Return the text outside of <think> ... </think>; all before a closing tag without an opening one is a thought."""
    *before, last = re.split(_THOUGHT, text)
    begun = [parts[0] for part in before if len(parts := re.split(_THINKS, part)) > 1]
    return "".join([*begun, re.split(_THINKS, last)[0]])


def _without_marks(text: str) -> str:
    if not _MARKS.search(text):
        return text
    return without_marks(in_containers(text, _says_yes_or_no))


def _says_yes_or_no(text: str) -> bool:
    plain = _plain(text)
    return bool(_opening(plain) or _single(plain))


def _plain(text: str) -> str:
    return re.sub(_MARKUP, "", text.lower().translate(_APOSTROPHES)).strip()


def _opening(text: str) -> str | None:
    found = re.match(_OPENING, text)
    if not found or re.match(_EITHER, text[found.end(1) :]):
        return None
    word, follows = found[1], found["next"]
    stands = word in _PLAIN_YES or follows is None or (word == "no" and follows in _AFTER_NO)
    return _SAYS[word] if stands else None


def _conclusion(text: str) -> str | None:
    found = re.findall(_CONCLUSION, text)
    return found[-1] if found else None


def _first_sentence(text: str) -> str:
    return re.split(_SENTENCE_END, text, maxsplit=1)[0]


def _single(text: str) -> str | None:
    words = set(re.findall(_ALONE, text))
    return words.pop() if len(words) == 1 else None


# The rule `restated`.
_NOT = r"n't\b|(?<=\bcan)not\b"
_TOKEN = r"[a-z]+|\d+(?:[.,]\d+)*|[<>=+]|[^\W\d_]"
_SIGNS = {"<": "less", ">": "greater", "=": "equal"}
_EMPTY = _words(
    "a an the is are was were be been being do does did has have had of in on at to for from by with and or as it its "
    "this that these those there they any some image picture chart map figure will would can could shall should "
    "appear appears seem seems whether"
)
_DENIES = _words(
    "no not never neither none nor isnt arent wasnt werent dont doesnt didnt hasnt havent hadnt cant couldnt wont "
    "wouldnt shouldnt"
)
_DOUBTS = _words("might may maybe perhaps if whether possibly probably unless instead rather although")
_REJECTS = _words(
    "false wrong incorrect untrue inaccurate mistaken misleading hardly barely scarcely rarely seldom unlikely doubtful"
)
_CONTEXT = r"^.*,\s*(?=(?:is|are|was|were|do|does|did|can|has|have)\b)"


def _restated(text: str, question: str) -> str | None:
    """Return yes or no if a sentence states or denies what was asked, with the question's words in their order.

    Only the question's last sentence counts, without a phrase before its verb; it must have two words that carry
    meaning.
    """
    asked = [part for part in re.split(_SENTENCE_END, question) if part.rstrip().endswith("?")]
    wanted = _content(re.sub(_CONTEXT, "", asked[-1])) if asked else []
    rejected = _REJECTS.intersection(_tokens(text)).difference(_tokens(question))
    if len(wanted) < 2 or _DENIES.intersection(wanted) or rejected:
        return None
    readings = {_stand(sentence, wanted) for sentence in re.split(_SENTENCE_END, text)} - {None}
    return readings.pop() if len(readings) == 1 else None


def _stand(sentence: str, wanted: list[str]) -> str | None:
    tokens = _tokens(sentence)
    remaining = iter(_content(sentence))
    if (
        sentence.endswith("?")
        or _DOUBTS.intersection(tokens)
        or not all(word in remaining for word in wanted)
    ):
        return None
    denials = sum(token in _DENIES for token in tokens)
    return (YES, NO)[denials] if denials < 2 else None


def _tokens(text: str) -> list[str]:
    return re.findall(_TOKEN, re.sub(_NOT, " not", text))


def _content(text: str) -> list[str]:
    """Return the words that carry meaning, without their endings."""
    tokens = (_SIGNS.get(token, token) for token in _tokens(text))
    return [stem(token) for token in tokens if token not in _EMPTY]


def stem(word: str) -> str:
    """Return a lowercased word roughly without its ending: "buses" and "bus" become "bus"."""
    for ending in ("ies", "ing", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
