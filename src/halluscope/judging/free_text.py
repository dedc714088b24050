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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from halluscope.judging.marked_answer import HINT, in_containers, without_marks

KEY = "rules-2"  # The rules' name in a signature; the number goes up when a rule changes

YES = "yes"
NO = "no"
UNCERTAIN = "uncertain"

# How many characters of a response are read; a longer one comes from a model that did not stop
LONGEST = 20_000


@dataclass(frozen=True)
class Reading:
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
    opening = _opening(text)
    conclusion = _conclusion(text)
    if opening == NO and conclusion is None and re.search(_REFUSAL, _first_sentence(text)):
        return Reading(UNCERTAIN, "undecided")
    if opening and conclusion and opening != conclusion:
        return Reading(UNCERTAIN, "contradiction")
    if conclusion:
        return Reading(conclusion, "conclusion")
    if opening:
        return Reading(opening, "opening")
    single = _single(text)
    if single:
        return Reading(single, "single word")
    if re.search(_REFUSAL, text):
        return Reading(UNCERTAIN, "refusal")
    restated = _restated(text, _plain(question[:LONGEST]))
    if restated:
        return Reading(restated, "restated")
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
_OTHER_YES = ("true", "correct", "indeed", "certainly", "definitely")
_EVERY_NO = ("no", "nope", "false", "incorrect", "not really", "not exactly", "definitely not")
_WORD = "|".join(sorted(_PLAIN_YES + _OTHER_YES + _EVERY_NO, key=len, reverse=True))
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
    parts = re.split(_THOUGHT, text)
    last = parts.pop()
    spoken_parts = []
    for part in parts:
        outside = re.split(_THINKS, part)
        if len(outside) > 1:
            spoken_parts.append(outside[0])
    spoken_parts.append(re.split(_THINKS, last)[0])
    return "".join(spoken_parts)


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
    opening = re.match(_OPENING, text)
    if not opening or re.match(_EITHER, text[opening.end(1) :]):
        return None
    word = opening[1]
    following = opening["next"]
    stands_alone = following is None or word in _PLAIN_YES
    if not stands_alone and not (word == "no" and following in _AFTER_NO):
        return None
    return NO if word in _EVERY_NO else YES


def _conclusion(text: str) -> str | None:
    conclusions = re.findall(_CONCLUSION, text)
    return conclusions[-1] if conclusions else None


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

    The question must have two words that carry meaning.
    """
    wanted = _asked_words(question)
    if len(wanted) < 2 or not _DENIES.isdisjoint(wanted):
        return None
    rejected = _REJECTS.intersection(_tokens(text)).difference(_tokens(question))
    if rejected:
        return None
    answers = set()
    for sentence in re.split(_SENTENCE_END, text):
        answer = _stated(sentence, wanted)
        if answer is not None:
            answers.add(answer)
    return answers.pop() if len(answers) == 1 else None


def _asked_words(question: str) -> list[str]:
    """Return the words that carry meaning in a question's last sentence that asks, without a phrase before its verb."""
    asking = ""
    for sentence in re.split(_SENTENCE_END, question):
        if sentence.rstrip().endswith("?"):
            asking = sentence
    return _content(re.sub(_CONTEXT, "", asking))


def _stated(sentence: str, wanted: Sequence[str]) -> str | None:
    """Return yes if a sentence has the wanted words in their order, no if it denies them; None if it does neither."""
    if sentence.endswith("?"):
        return None
    tokens = _tokens(sentence)
    if not _DOUBTS.isdisjoint(tokens) or not _has_in_order(_content(sentence), wanted):
        return None
    denials = sum(token in _DENIES for token in tokens)
    if denials > 1:
        return None
    return NO if denials else YES


def _has_in_order(words: Sequence[str], wanted: Sequence[str]) -> bool:
    matched = 0
    for word in words:
        if matched < len(wanted) and word == wanted[matched]:
            matched += 1
    return matched == len(wanted)


def _tokens(text: str) -> list[str]:
    return re.findall(_TOKEN, re.sub(_NOT, " not", text))


def _content(text: str) -> list[str]:
    """Return the words that carry meaning, without their endings."""
    words = []
    for token in _tokens(text):
        word = _SIGNS.get(token, token)
        if word not in _EMPTY:
            words.append(stem(word))
    return words


def stem(word: str) -> str:
    """Return a lowercased word roughly without its ending: "buses" and "bus" become "bus"."""
    for ending in ("ies", "ing", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
