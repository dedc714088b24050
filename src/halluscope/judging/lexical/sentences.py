"""Divides a text into sentences of words and marks, with their places, and finds quotations."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from halluscope.judging.lexical.tables import GRAMMAR, at, phrase_start

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Compound:
    """Another thing's name in a sentence, such as "bus stop"."""

    start: int
    end: int
    rule: str  # the rule that takes back a mention in it


@dataclass(slots=True)
class Sentence:
    """A sentence's words and marks, in lowercase, with their places in the text.

    Each set or list of places says where in `words` something stands.
    """

    words: list[str] = field(default_factory=list)
    spans: Spans = field(default_factory=list)
    possessive: set[int] = field(default_factory=set)  # words that had an "'s"
    hyphened: set[int] = field(default_factory=set)  # words right after a hyphen
    strikes: list[int] = field(default_factory=list)  # the marks that begin and end struck-out words
    boxes: list[int] = field(default_factory=list)  # check marks and crosses, if the sentence is a list
    asked: bool = False  # whether the sentence ends in a question mark
    quoted: set[int] = field(default_factory=set)  # words in quotation marks
    # a word that is only part of a compound -> the compound
    compounds: dict[int, Compound] = field(default_factory=dict)
    mentions: list["Candidate"] = field(default_factory=list)
    is_list: bool = False  # whether it may be an item of a list, or a row of a table


class Candidate:
    """A mention while its text is being read: words of a sentence, from `index` to before `end`, that name classes.

    Its noun phrase begins at `start`, and after the last cue, at `opened`, it begins at `begin`. `previous` is the
    sentence's mention before it. It is definite if it is "the dog", "his dog" or "the man's dog" after the cue.
    """

    def __init__(
        self, sentence: Sentence, index: int, end: int, classes: tuple[str, ...], opened: int
    ) -> None:
        self.sentence = sentence
        self.words = sentence.words
        self.index = index
        self.end = end
        self.classes = classes
        self.opened = opened
        self.previous = sentence.mentions[-1] if sentence.mentions else None
        self.rule = ""  # the rule that takes the mention back; "" if none does
        self.before = at(self.words, index - 1)
        self.after = at(self.words, end)
        self.start = phrase_start(self.words, 0, index)
        self.begin = phrase_start(self.words, opened, index)
        self.definite = self._is_definite()

    def _is_definite(self) -> bool:
        first = self.words[self.begin]
        if first in GRAMMAR.counts and self.begin > self.opened:
            has_determiner = self.words[self.begin - 1] in GRAMMAR.before_counts  # "the two dogs"
        else:
            has_determiner = first in GRAMMAR.definite
        if has_determiner:
            return True
        before_the_noun = range(self.begin, self.index)
        return not self.sentence.possessive.isdisjoint(before_the_noun)  # "a man's dog"

    @property
    def is_the(self) -> bool:
        """Whether its determiner is "the"."""
        return self.words[self.begin] == "the"

    @property
    def before_phrase(self) -> str:
        """The word before its noun phrase; "" at the sentence's beginning."""
        return at(self.words, self.start - 1)

    def following(self, count: int) -> list[str]:
        """Return up to so many words after it."""
        return self.words[self.end : self.end + count]

    @property
    def own(self) -> str:
        """The mention's own words."""
        return " ".join(self.words[self.index : self.end])

    @property
    def spans(self) -> Spans:
        """Where its own words stand in the text."""
        return self.sentence.spans[self.index : self.end]

    def take_back(self, rule: str) -> None:
        """Take the mention back by a rule, unless another rule does so already."""
        if not self.rule:
            self.rule = rule


# A line break ends a sentence unless the next line begins in lowercase, other than in a form such as "dog: 1".
_TOKEN = re.compile(
    r"(?P<word>\d+(?:[.,]\d+)+|[A-Za-z](?:\.[A-Za-z])+(?!\w)(?:\.(?=\s*[a-z,;:|=)]))?|[^\W_]+(?:['’][^\W_]+)*)"
    # Nothing else begins at a space, which saves time.
    r"|(?! )(?:(?P<mark>\.{4,}|(?<=[^\S\n])\.{3}(?=[^\S\n])|(?<![-=])[-=]+>|</?(?i:li|td|th|tr|ul|ol|b|p)>)"
    r"|(?P<stop>[.!?…]|\n(?![^\S\n]*[a-z](?![\w \-/]{0,40}(?:[:=|>\t]|\.{4}|,\d))))"
    # Arrows, check marks and pictograms too; a sign that a joiner adds to another (a cook's pan) is not a word.
    r"|(?P<sign>[,;:()\[\]—–|=]|(?<!\u200d)[\u2190-\u2bff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
    r"|~~|(?<=\s)(?:-+|/)(?=\s|$)))"
)
# A Markdown heading ends its sentence, whatever follows.
_HEADING = re.compile(r"^([^\S\n]*#[^\n]*)\n", re.MULTILINE)
# The pattern begins with one class of marks, which `re` finds fast, and only then checks which mark it was.
_QUOTATION = re.compile(
    r"[\"“„«'‘](?:(?<=\")[^\"\n]{1,200}\"|(?<=[“„])[^”“\n]{1,200}[”“]|(?<=«)[^»\n]{1,200}»"
    r"|(?<=['‘])(?<!\w.)(?:[^'’\n]|['’](?=\w)){1,80}['’](?!\w))"
)
# Two words: "it's" is "it is", but "dog's" is a possessive. Word -> its first word
_CONTRACTED_IS = {
    f"{word}'s": word for word in ("it", "that", "there", "here", "this", "what", "who", "he", "she", "where")
}
_CONTRACTED_ARE = {f"{word}'re": word for word in ("they", "we", "you", "there", "these", "those")}
_CONTRACTED = _CONTRACTED_IS | _CONTRACTED_ARE
_POINTS = re.compile(r"\bpoint(?:s|ing|ed)\b")
_KEY = re.compile(r"\s*:\s*(?:[\d\"{\[]|true|false|null)")
_DATA = re.compile(r"\A\s*[\[{]\s*[\"'{\[]|\{\s*[\"']|\[\s*\"")


def sentences(text: str) -> Iterator[Sentence]:
    """Divide a text at its full stops, question and exclamation marks, and line breaks."""
    sentence = Sentence()
    quoted = quotations(text)
    if "#" in text:
        text = _HEADING.sub(r"\1.", text)
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "stop":
            sentence.asked = token.group() == "?"
            if sentence.words:
                yield sentence
            sentence = Sentence()
            continue
        start, end = token.span()
        word = token.group().lower()
        if end - start > 1 and not word.isalnum():
            word = _spelt(word)
            if word in _CONTRACTED:
                verb = "is" if word in _CONTRACTED_IS else "are"
                word = _CONTRACTED[word]
                sentence.words.append(word)
                sentence.spans.append((start, start + len(word)))
                start += len(word)
                word = verb
            elif word.endswith("'s"):
                word = word[:-2]
                sentence.possessive.add(len(sentence.words))
            elif word == "~~":
                sentence.strikes.append(len(sentence.words))
        if start and text[start - 1] == "-":
            sentence.hyphened.add(len(sentence.words))
        if quoted and _is_within(start, quoted):
            sentence.quoted.add(len(sentence.words))
        sentence.words.append(word)
        sentence.spans.append((start, end))
    if sentence.words:
        yield sentence


def _spelt(word: str) -> str:
    """Return a word with marks as the tables spell it: "t.v." as "tv", "---" as "-", dots before a value as ":"."""
    if word[0] in "-=":
        return "→" if word.endswith(">") else "-"
    if word.startswith(".."):
        return ":"
    if word[0] == "<":
        return "|"
    if word[0].isalpha() and "." in word:
        return word.replace(".", "")
    return word.replace("’", "'")


def quotations(text: str) -> Spans:
    """Return where words are quoted, such as those on a sign; a whole sentence in quotes is the description itself.

    Names in JSON are not quotations either, nor is a text that is all dialogue.
    """
    if _DATA.search(text):
        return []
    spans = [quotation.span() for quotation in _QUOTATION.finditer(text)]
    if len(spans) > 1:
        outside = _QUOTATION.sub("", text)
        if not any(character.isalnum() for character in outside):
            return []
    points = _POINTS.search(text) is not None  # '"Look, a kite!" she cries and points at the sky'
    quoted = []
    for start, end in spans:
        is_pointed_at = points and text[start + 1 : start + 5].lower() == "look"
        if not is_pointed_at and not _is_sentence(text, start, end):
            quoted.append((start, end))
    return quoted


def _is_sentence(text: str, start: int, end: int) -> bool:
    """Whether a quotation is a whole sentence. In '"Look, a bear!" shouts the boy', the sentence goes on after it.

    A name in JSON counts as a sentence too, so that it is not a quotation.
    """
    if _KEY.match(text, end):
        return True
    before = text[max(0, start - 3) : start].rstrip()
    if before and before[-1] not in ".!?":
        return False
    after = text[end : end + 2]
    goes_on = after.startswith(",") or after.lstrip()[:1].islower()
    return not goes_on


def _is_within(start: int, spans: Spans) -> bool:
    """Whether a place is in one of the spans, which are sorted."""
    nearest = bisect_right(spans, (start, start)) - 1
    return nearest >= 0 and start < spans[nearest][1]
