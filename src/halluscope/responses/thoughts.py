"""Removes a model's thoughts from its responses before they are scored, and counts the responses that held one.

What a thought is, `halluscope.judging.thought_marks` says.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halluscope.judging.thought_marks import answer_in, is_begun_outside, may_hold_thoughts
from halluscope.naming import named
from halluscope.validation import word

REMOVED = "removed"
KEPT = "kept"
THOUGHTS = (REMOVED, KEPT)

# Keys of a result
COUNT = "thoughts"
UNFINISHED = "unfinished_thoughts"


@dataclass(frozen=True)
class Spoken:
    """Responses without thoughts."""

    texts: Sequence[str]
    thoughts: int = 0  # how many responses held a thought
    unfinished: int = 0  # how many held one that never ends: their texts are empty
    # how many hold no mark of a thought, if most others end one that their chat template began: cut ones look like this
    unmarked: int = 0

    def counts(self) -> dict[str, int]:
        """Return what a result says of thoughts."""
        return {COUNT: self.thoughts, UNFINISHED: self.unfinished}


def choice(thoughts: str) -> dict[str, str]:
    """Return the signature's key for thoughts: none unless they are kept."""
    if thoughts == REMOVED:
        return {}
    return {"thoughts": thoughts}


def take_out(texts: Sequence[str], thoughts: str) -> Spoken:
    """Return texts without thoughts, and how many held one; or the same texts, if thoughts are kept."""
    word("thoughts", thoughts, THOUGHTS)
    if thoughts == KEPT or not may_hold_thoughts("".join(texts)):
        return Spoken(texts)
    answers = []
    with_thoughts = 0
    unfinished = 0
    begun_outside = 0
    for text in texts:
        answer: str | None = text
        if may_hold_thoughts(text):
            answer = answer_in(text)
        answers.append(answer or "")
        if answer is None:
            unfinished += 1
        if answer != text:
            with_thoughts += 1
            if is_begun_outside(text):
                begun_outside += 1
    unmarked = 0
    if 2 * begun_outside > len(texts):
        unmarked = len(texts) - with_thoughts
    return Spoken(answers, with_thoughts, unfinished, unmarked)


def spoken(texts: Sequence[str], thoughts: str, read_as: str = "") -> Spoken:
    """Return texts without thoughts, as a metric scores them; warn of thoughts that never end.

    Args:
        texts: responses, one per row.
        thoughts: "removed" or "kept".
        read_as: what a rule makes of an empty response, such as "reads as yes"; "" if no rule reads responses.
    """
    heard = take_out(texts, thoughts)
    if heard.unfinished:
        warnings.warn(named(note_of_unfinished(heard.counts(), len(texts), read_as)), stacklevel=3)
    if heard.unmarked:
        warnings.warn(named(_note_of_unmarked(heard)), stacklevel=3)
    return heard


def note_of_unfinished(result: Mapping[str, int], rows: int, read_as: str = "") -> str:
    """Say how many thoughts never end; "" if all do."""
    count = result.get(UNFINISHED, 0)
    if not count:
        return ""
    reading = ""
    if read_as:
        reading = f", which {read_as}"
    return (
        f"{count:,} of {rows:,} responses are a thought that never ends: they are scored as empty responses{reading}. "
        "Was their length limited?"
    )


def _note_of_unmarked(heard: Spoken) -> str:
    return (
        f"{heard.unmarked:,} of {len(heard.texts):,} responses hold no mark of a thought, though most others end one "
        "that their chat template began. If these were cut off while the model thought, they are thoughts that never "
        "end, but they are scored as responses: leave them empty."
    )
