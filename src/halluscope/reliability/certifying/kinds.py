"""Sorts, by cue words, the sentences that mention a class, for tables of a judge's errors.

The rule is coarse on purpose: it does not parse, but looks for words anywhere in the sentence. So it shares no rule
with the judge whose errors it sorts; only the words for each class come from the lexical judge's word lists.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from halluscope.judging.voters.lexical import LexicalJudge, Mention
from halluscope.vocabularies import Vocabulary

PLAIN, UNNAMED, COMPOUND, QUESTION, QUOTATION = "plain", "no word for it", "compound", "question", "quotation"

_END = re.compile(r"[.!?\n]")


class Kinds:
    """Sorts classes by the sentences of a text that mention them.

    Args:
        vocabulary: the classes, and the words for them.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._reader = LexicalJudge(vocabulary)

    def of(self, text: str, classes: Sequence[str]) -> list[frozenset[str]]:
        """Return the kinds of sentence that mention each class in a text.

        Returns:
            {"no word for it"} for a class that the text has no word for; {"plain"} for a class that at least one
            sentence mentions without a cue; otherwise the kinds of all cues in the sentences that mention the class.
        """
        mentions: dict[str, list[Mention]] = {}
        for mention in self._reader.mentions(text):
            mentions.setdefault(mention.object, []).append(mention)
        return [_kinds(text, mentions.get(cls, ())) for cls in classes]


def names() -> list[str]:
    """Return all kinds, "plain" first."""
    return [PLAIN, *_cues(), COMPOUND, QUESTION, QUOTATION, UNNAMED]


def _kinds(text: str, mentions: Sequence[Mention]) -> frozenset[str]:
    if not mentions:
        return frozenset({UNNAMED})
    found = [_cues_around(text, mention) for mention in mentions]
    return frozenset({PLAIN}) if not all(found) else frozenset().union(*found)


def _cues_around(text: str, mention: Mention) -> set[str]:
    """Return the kinds of the cues in the sentence of a mention."""
    before = max((end.end() for end in _END.finditer(text, 0, mention.start)), default=0)
    end = _END.search(text, mention.end)
    sentence = text[before : end.start() if end else len(text)]
    found = {kind for kind, cue in _cues().items() if cue.search(sentence.lower().replace("’", "'"))}
    if "-" in text[max(0, mention.start - 1) : mention.start] + text[mention.end : mention.end + 1]:
        found.add(COMPOUND)
    if end and end.group() == "?":
        found.add(QUESTION)
    if re.search(r'["“]', text[before : mention.start]) and re.search(r'["”]', text[mention.end :]):
        found.add(QUOTATION)
    return found


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    """Return a pattern for the cue words of each kind."""
    text = resources.files(__package__).joinpath("kinds.toml").read_text(encoding="utf-8")
    return {kind: _any_of(words) for kind, words in tomllib.loads(text).items()}


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    begins = (r"n't" if word == "n't" else rf"(?<!\w){re.escape(word)}" for word in words)
    return re.compile(rf"(?:{'|'.join(begins)})(?!\w)")
