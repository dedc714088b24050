"""Kinds of sentences that mention a class, for tables of a judge's errors.

The rule is coarse on purpose: it shares no rule with the judge whose errors it sorts; only the words for each class
come from the lexical judge's word lists.
"""

import re
from collections.abc import Sequence

from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.vocabularies import read_toml

PLAIN = "plain"
UNNAMED = "no word for it"
COMPOUND = "compound"
QUESTION = "question"
QUOTATION = "quotation"

CUES = {
    kind: re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")
    for kind, words in read_toml(__file__, "cues.toml")["cues"].items()
}
KINDS = (PLAIN, *CUES, COMPOUND, QUESTION, QUOTATION, UNNAMED)


def kinds(reader: LexicalJudge, text: str, classes: Sequence[str]) -> list[set[str]]:
    """Return the kinds of sentence that mention each class.

    {"no word for it"} for a class that the text has no word for; {"plain"} for a class that at least one sentence
    mentions without a cue; otherwise the kinds of all cues in the sentences that mention the class.
    """
    cues: dict[str, list[set[str]]] = {}
    for mention in reader.mentions(text):
        cues.setdefault(mention.object, []).append(_cues_around(text, mention))
    kinds_of_classes = []
    for name in classes:
        if name not in cues:
            kinds_of_classes.append({UNNAMED})
        elif all(cues[name]):
            kinds_of_classes.append(set().union(*cues[name]))
        else:
            kinds_of_classes.append({PLAIN})
    return kinds_of_classes


def _cues_around(text: str, mention: Mention) -> set[str]:
    """Return the kinds of the cues in the sentence of a mention."""
    before = re.split(r"[.!?\n]", text[: mention.start])[-1]
    after, *end = re.split(r"([.!?\n])", text[mention.end :], maxsplit=1)
    sentence = (before + text[mention.start : mention.end] + after).lower().replace("’", "'")
    kinds_here = {kind for kind, cue in CUES.items() if cue.search(sentence)}
    if before.endswith("-") or text.startswith("-", mention.end):
        kinds_here.add(COMPOUND)
    if end[:1] == ["?"]:
        kinds_here.add(QUESTION)
    if re.search(r'["“]', before) and re.search(r'["”]', text[mention.end :]):
        kinds_here.add(QUOTATION)
    return kinds_here
