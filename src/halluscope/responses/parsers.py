"""Reads an LVLM's response to a yes/no question as yes, no, or neither, by named rules.

Published POPE scores differ because their rules differ: POPE's own, RePOPE's, two harnesses', and ours, `strict`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging import marked_answer, votes
from halluscope.judging.marked_answer import answer_in
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.sanitize import short_repr

# `parser(whole response)` returns YES, NO, or OTHER for a response that it cannot read
Parser = Callable[[str], int]

_LOWER_WORDS = {"yes": YES, "no": NO}
_WORDS_OF_CODES = {YES: "yes", NO: "no"}

MANY = 10_000  # From how many responses on it pays to make a column of them

# `No`, `no` or `not` between spaces, with commas anywhere in it, before the first full stop
_POPE_NO = re.compile(r"(?:[^.]* )?,*(?:[Nn],*o|n,*o,*t),*(?:[ .]|\Z)")


def pope(reply: str) -> int:
    """Apply POPE's official rule: no if `No`, `not` or `no` is among the words before the first full stop, else yes.

    Commas are dropped and words end at spaces, so that "NO", "" and "There isn't a cat" are yes.

    >>> pope("No, there isn't."), pope("There is not a dog. Yes"), pope("NO")
    (0, 0, 1)
    """
    return NO if _POPE_NO.match(reply) else YES


def lmms_eval(reply: str) -> int:
    """Apply the rule of lmms-eval (0.7): yes or no only if the whole stripped, lowercased response is that word.

    >>> lmms_eval(" Yes "), lmms_eval("yes.")
    (1, 2)
    """
    return _LOWER_WORDS.get(reply.lower().strip(), OTHER)


def vlmevalkit(reply: str) -> int:
    """Apply the rule of VLMEvalKit without its judge: yes if there is a word "yes" and no word "no", no if the reverse.

    >>> vlmevalkit("The answer is Yes!"), vlmevalkit("yes. No"), vlmevalkit("Not visible")
    (1, 2, 2)
    """
    words = _without_punctuation(reply.lower()).split()
    if ("yes" in words) == ("no" in words):
        return OTHER
    return YES if "yes" in words else NO


def contained(reply: str) -> int:
    """Apply the rule of RePOPE: yes if "yes" is anywhere in the lowercased response, else no if "no" is, else neither.

    RePOPE's script then looks for "not", which is never there without a "no".

    >>> contained("Yes, no doubt"), contained("I cannot know"), contained("Unsure")
    (1, 0, 2)
    """
    text = reply.lower()
    if "yes" in text:
        return YES
    if "no" in text:
        return NO
    return OTHER


def strict(reply: str) -> int:
    """Read a clear yes or no; a response that contradicts itself, hedges, or is about something else is neither.

    Two things are looked for, and must not disagree:

    - a word: a yes anywhere; a no at the beginning of the response, or before a comma, a stop or the end;
    - a statement: "there is a ...", "I see a ...", "it is visible", or a denial: "there isn't", "there are no",
      "I do not see", "the image does not show", "not visible". After a yes or no, only the first sentence with more
      than that word counts; in a response without a yes or no, the first sentence that states anything.

    If a part of the response is marked as its answer (`<answer>No</answer>`, `\\boxed{No}`, `{"answer": "no"}`, "Final
    answer: No", `**No**`; see `halluscope.judging.marked_answer`), only the last such part is read. A line of its own
    with nothing but yes or no, at the beginning or the end, is not contradicted by statements in other lines.

    A sentence that expresses doubt ("I cannot tell whether") or also denies something else ("There is a man, not a
    dog") states nothing. Questions are skipped. The rule does not know which object is meant: "There is a cat" is yes.

    >>> strict("No, there isn't."), strict("The answer is Yes"), strict("yes. No"), strict("A man, not a dog.")
    (0, 1, 2, 2)
    >>> strict("Yes or no? I looked twice. **No**"), strict("<answer>Yes</answer>")
    (0, 1)
    """
    text = reply.lower().replace("\u2019", "'")
    if _MARKS.search(text):
        text = answer_in(text, _is_clear, _ANSWER)
    return _without_marks(text)


def _is_clear(text: str) -> bool:
    return _without_marks(text) != OTHER


def _without_marks(text: str) -> int:
    """Read a lowercased text without marks by the strict rule."""
    if "no " in text:
        text = _NO_ANSWER.sub(" ; ", text)
    sentences = []
    for sentence in _SENTENCE.findall(text):
        if not sentence.endswith("?") and _LETTER.search(sentence):
            sentences.append(sentence)
    readings = _by_words(sentences)
    if len(readings) == 1 and "\n" in text and _has_line_of_its_own(text):
        return readings.pop()
    longer = [sentence for sentence in sentences if _LETTER.search(_WORD.sub("", sentence))]
    if readings:
        longer = longer[:1]
    for sentence in longer:
        statement = _by_statement(sentence)
        if statement:
            readings = readings | statement
            break
    if len(readings) != 1:
        return OTHER
    return readings.pop()


def first_word(reply: str) -> int:
    """Read yes or no if it is the response's first word; statements in the response are ignored.

    Only this rule also reads responses to negated questions (`halluscope.studies.parallel.form`): to "Is it true that
    there is no dog?", the response "There is no dog" means yes, but rules that read statements take it for a no. Votes
    are read by the same rule.

    >>> first_word("**Yes**, there is no dog."), first_word("There is no dog.")
    (1, 2)
    """
    code = votes.first_word(reply)
    return OTHER if code is None else code


def exact(reply: str) -> int:
    """Read exactly "Yes" or "No", and nothing else.

    >>> exact("Yes"), exact("No"), exact("no"), exact("No.")
    (1, 0, 2, 2)
    """
    return {"Yes": YES, "No": NO}.get(reply, OTHER)


def by_label(replies: Sequence[str], present: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Apply the rule of VCD's script and of EvalScope: a response that contains the right answer is read as right.

    Any other response is read as the wrong answer. So a text with "yes" and "no" in it is always right, and one with
    neither always wrong: read scores by this rule only beside scores by this rule.

    >>> by_label(["Yes, I know", "Yes, I know", "A dog"], np.array([True, False, False]))
    array([1, 0, 1], dtype=int8)
    """
    right = []
    for reply, is_present in zip(replies, present.tolist(), strict=True):
        label = "yes" if is_present else "no"
        right.append(label in reply.lower())
    return np.where(np.array(right, bool) == present, YES, NO).astype(np.int8)


# The name of the rule that reads by the right answer (`by_label`)
VCD = "vcd"
STRICT = "strict"
FIRST_WORD = "first-word"

# POPE's other parsers by name
PARSERS: dict[str, Parser] = {
    "pope": pope,
    STRICT: strict,
    "lmms-eval": lmms_eval,
    "vlmevalkit": vlmevalkit,
    "repope": contained,
    FIRST_WORD: first_word,
}


def check(parser: Any, rules: Mapping[str, Parser] = PARSERS) -> None:
    """Check the name of a parser."""
    if not isinstance(parser, str) or parser not in rules:
        raise ValueError(f"parser is {short_repr(parser)}; expected one of {', '.join(rules)}.")


def read(replies: Iterable[str], parser: str, rules: Mapping[str, Parser] = PARSERS) -> NDArray[np.int8]:
    """Read responses; if many are alike, each different text is parsed once."""
    check(parser, rules)
    rule = rules[parser]
    texts = list(replies)
    sample = texts[:: len(texts) // 1000 + 1]
    if len(set(sample)) < len(sample) / 2:
        codes = {text: rule(text) for text in set(texts)}
        return np.fromiter(map(codes.__getitem__, texts), np.int8, len(texts))
    if rule in SURE and len(texts) >= MANY:
        with suppress(UnicodeEncodeError):  # Arrow's texts have no lone surrogates
            return _by_column(texts, rule)
    return np.fromiter(map(rule, texts), np.int8, len(texts))


def _by_column(replies: Sequence[str], rule: Parser) -> NDArray[np.int8]:
    """Read what a rule is sure to read (`SURE`) by Arrow, and the rest one by one."""
    import pyarrow.compute as pc

    column = _column(replies)
    codes = np.zeros(len(replies), np.int8)
    left = np.arange(len(replies))
    for code, with_this, without in SURE[rule]:
        if not with_this and not without:
            codes[left] = code
            return codes
        is_sure = pc.match_substring_regex(column, with_this)
        if without:
            is_sure = pc.and_not(is_sure, pc.match_substring_regex(column, without))
        bits = np.frombuffer(is_sure.buffers()[1], np.uint8)
        sure = np.unpackbits(bits, count=len(left), bitorder="little").view(bool)
        codes[left[sure]] = code
        left = left[~sure]
        column = column.filter(pc.invert(is_sure))
    codes[left] = [rule(replies[row]) for row in left.tolist()]
    return codes


def _column(texts: Sequence[str]) -> Any:
    """Return texts as Arrow's, made from bytes: pyarrow's own way imports pandas."""
    import pyarrow as pa

    whole = "".join(texts)
    # in bytes
    sizes = map(len, texts) if whole.isascii() else map(len, map(str.encode, texts))
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(sizes, np.int64, len(texts)), out=ends[1:])
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(whole.encode()))


def word_of(code: int) -> str | None:
    """Return "yes" or "no" for a code, to show it; None if the response is unreadable."""
    return _WORDS_OF_CODES.get(code)


def of_empty(parser: str) -> str:
    """Say what a rule makes of an empty response, as in "responses, which ..."."""
    if parser == VCD:
        return f"the rule {VCD!r} reads as wrong"
    return as_read(parser, word_of(PARSERS[parser]("")))


def as_read(parser: str, answer: str | None) -> str:
    """Say how a rule reads something."""
    if not answer:
        return f"the rule {parser!r} cannot read"
    return f"the rule {parser!r} reads as {answer}"


# How VLMEvalKit removes punctuation: if a mark is next to a blank anywhere in the text, all such marks are deleted,
# else they become blanks; a number such as 1,000 anywhere deletes all marks. Only the first 32 full stops are deleted.
_SIGNS = frozenset(';/[]"{}()=+\\_-><@`,?!')
_THOUSANDS = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")


def _without_punctuation(text: str) -> str:
    bare = text
    has_thousands = _THOUSANDS.search(text) is not None
    for sign in _SIGNS.intersection(text):
        is_next_to_a_blank = f"{sign} " in text or f" {sign}" in text
        replacement = " "
        if has_thousands or is_next_to_a_blank:
            replacement = ""
        bare = bare.replace(sign, replacement)
    return _FULL_STOP.sub("", bare, count=32)


# The strict rule's patterns, over lowercased text.
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]?")
_NO_ANSWER = re.compile(r"\bno (?:doubt|question|problem|worries|idea|way)\b")
_WORD = re.compile(r"\b(?:yes|yeah|yep|no|nope)\b")
_EITHER = re.compile(r"\byes\W{0,3}(?:or |and )?no\b|\bno\W{0,3}(?:or |and )?yes\b")
_YES = re.compile(r"(?<!not )\b(?:yes|yeah|yep)\b(?!-\w)")
_NO = re.compile(
    r"(?<!not )\b(?:no|nope)\b(?=\W*$|\s*[,;:!\"\u201d)\]}\u2013\u2014]|\s+-+\s"
    # what cannot follow "no" inside a noun phrase, such as "no collar"
    r"|\s+(?:there|it|its|this|that|these|those|the|they|i|we|you|he|she|because|since)\b)"
    r"|\b(?:answer(?: to (?:this|the|your) question)? is|i(?: would|'d|'ll| will| must| have to)? (?:say|answer))"
    r"(?: with)?[:\s\"\u201c]+(?:no|nope)\b"
)
_ONLY_WORD = re.compile(r"\W*(?:yes|yeah|yep|no|nope)\W*")
_MARKS = re.compile(marked_answer.HINT)
# A text that begins with yes or no as its answer
_ANSWER = re.compile(r"\W*(?:yes|yeah|yep|no|nope)(?:\W*$|\s*[,.;:!\u2013\u2014])")
_OPENING_NO = re.compile(r"\W*(?:no|nope)\b(?!-\w)")

_IMAGE = r"(?:image|picture|photo|photograph|scene)"
_SEEN = rf"(?:there|here|present|visible|shown|seen|depicted|found|in (?:the|this) {_IMAGE})"
_NOT = r"(?:is not|isn't|are not|aren't|was not|wasn't|'s not|cannot be|can't be|can not be)"
_I_CANNOT = r"i (?:do not|don't|did not|didn't|cannot|can not|can't|could not|couldn't)"
_DENIED = re.compile(
    r"\bthere(?: (?:is|are|was|were)|'s) (?:no|not|none|neither)\b|\bthere (?:isn't|aren't|wasn't|weren't)\b"
    rf"|\b{_I_CANNOT} (?:actually )?(?:see|find|spot|detect|identify|observe|notice)\b"
    rf"|\b{_IMAGE} (?:does not|doesn't) (?:\w+ )?(?:contain|show|have|include|depict|feature)\b"
    rf"|{_NOT} (?:\w+ )?{_SEEN}\b|\bno (?:\w+ ){{1,4}}(?:is|are|can be) {_SEEN}\b"
    # "None" alone is what Python writes for a response that was never given
    rf"|^\W*not {_SEEN}\b|^\W*none\b[^\w.!?\n]*\w"
)
_AFFIRMED = re.compile(
    r"\bthere(?: (?:is|are)|'s) (?:indeed |clearly |also |actually )?"
    r"(?:an?|the|one|two|three|some|several|many|multiple|at least)\b"
    r"|\bi (?:can |do )?(?:clearly )?see (?:an?|the|one|two|three|some|several|many|multiple)\b"
    rf"|\b(?:it|they|one) (?:is|are) (?:clearly )?{_SEEN}\b"
)
_NEGATION = re.compile(r"\b(?:no|not|none|neither|nor|never|without|lack|absence)\b|n't\b")
_DOUBT = re.compile(
    r"\b(?:if|whether|unsure|unclear|maybe|perhaps|possibly|possibility|chance|might|could be|may be|information)\b"
    r"|\bnot (?:\w+ )?(?:sure|clear|certain|possible|enough)\b|\b(?:hard|difficult|unable) to\b"
    r"|\b(?:cannot|can't|can not) (?:tell|determine|say|confirm|know)\b"
    rf"|\b(?:an?|any|no) {_IMAGE}\b|\bsee (?:the )?{_IMAGE}s?\b"
)


def _has_line_of_its_own(text: str) -> bool:
    """Whether the first or the last line with letters has only a yes or no in it."""
    lines = [line for line in text.split("\n") if _LETTER.search(line)]
    return bool(lines) and bool(_ONLY_WORD.fullmatch(lines[0]) or _ONLY_WORD.fullmatch(lines[-1]))


def _by_words(sentences: list[str]) -> set[int]:
    """Return what the words yes and no say: {YES}, {NO}, both, or nothing."""
    answers = set()
    for sentence in sentences:
        if "ye" in sentence and _YES.search(sentence):
            answers.add(YES)
        if "no" in sentence:
            if _NO.search(sentence):
                answers.add(NO)
            if _EITHER.search(sentence):
                answers.update((YES, NO))
    if sentences and _OPENING_NO.match(sentences[0]):
        answers.add(NO)
    return answers


def _by_statement(sentence: str) -> set[int]:
    """Return what a sentence states: {YES}, {NO}, both if it contradicts itself, or nothing."""
    if _DOUBT.search(sentence):
        return set()
    answers = set()
    # every denial has one of these in it: looking for them first is ten times as fast
    may_deny = "no" in sentence or "n't" in sentence or "neither" in sentence
    if may_deny and _DENIED.search(sentence):
        answers.add(NO)
    if _AFFIRMED.search(sentence):
        # it also denies something else
        if not answers and _NEGATION.search(_WORD.sub("", sentence, count=1)):
            return set()
        answers.add(YES)
    return answers


# For each rule, codes with what is in a text that the rule is sure to read so, and what is not in it ("" for any text):
# the first that fits counts. Arrow searches a column for these in a tenth of the time that the rule takes.
_DELETED = r"""[;/\[\]"{}()=+\\_\-><@`,?!.]*"""  # what the rule of VLMEvalKit may delete within a word
_MAY_YES = f"[Yy]{_DELETED}[Ee]{_DELETED}[Ss]"
_MAY_NO = f"[Nn]{_DELETED}[Oo]"
_ANY_YES = "[Yy][Ee][Ss]"
_ANY_NO = "[Nn][Oo]"
_MANY_STOPS = r"|(?:\.[^.]*){33}"
_NO_LETTER = r"[^A-Za-z\x{80}-\x{10ffff}]"
_FIRST = rf"^{_NO_LETTER}*WORD(?:'(?:{_NO_LETTER}|$)|[^A-Za-z'\x{{80}}-\x{{10ffff}}]|$)"
_A_YES = r"|\b(?:(?:no)?yes(?:no)?|yeah|yep)\b"
_A_NO = "|no|n't|neither"
_UNSURE = rf"(?-i:[^\x00-\x7f])|\?|{marked_answer.HINT}|{_NO_ANSWER.pattern}"
_AFFIRMS = f"|{_AFFIRMED.pattern}"
_DOUBTS = f"|{_DOUBT.pattern}"
SURE: dict[Parser, tuple[tuple[int, str, str], ...]] = {
    pope: ((NO, rf"^(?:{_POPE_NO.pattern})".replace(r"\Z", "$"), ""), (YES, "", "")),
    first_word: (
        (YES, _FIRST.replace("WORD", "[Yy][Ee][Ss]"), ""),
        (NO, _FIRST.replace("WORD", "[Nn][Oo]"), ""),
        (OTHER, "", r"[^\x00-\x7f]"),
    ),
    lmms_eval: ((OTHER, "", f"^[^0-9A-Za-z_]*(?:{_ANY_YES}|{_ANY_NO})[^0-9A-Za-z_]*$"),),
    contained: ((YES, _ANY_YES, ""), (NO, _ANY_NO, ""), (OTHER, "", "")),
    vlmevalkit: (
        (OTHER, "", f"{_MAY_YES}|{_MAY_NO}"),
        (YES, rf"(?:^|\s){_DELETED}[Yy][Ee][Ss]{_DELETED}(?:\s|$)", _MAY_NO + _MANY_STOPS),
        (NO, rf"(?:^|\s){_DELETED}[Nn][Oo]{_DELETED}(?:\s|$)", _MAY_YES + _MANY_STOPS),
    ),
    strict: (
        (YES, f"(?i){_A_YES[1:]}", rf"(?i){_UNSURE}{_A_NO}{_A_YES}-"),
        (NO, r"(?i)^\W*(?:no|nope)\b", rf"(?i){_UNSURE}{_A_YES}{_AFFIRMS}|^\W*(?:no|nope)-"),
        (NO, f"(?i){_DENIED.pattern}", f"(?i){_UNSURE}{_A_YES}{_AFFIRMS}{_DOUBTS}"),
        (YES, f"(?i){_AFFIRMED.pattern}", f"(?i){_UNSURE}{_A_YES}{_A_NO}|{_NEGATION.pattern}{_DOUBTS}"),
        (OTHER, "", f"(?i){_UNSURE}{_A_YES}{_A_NO}{_AFFIRMS}"),
    ),
}
