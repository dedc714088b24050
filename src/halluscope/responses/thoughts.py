"""Removes a model's thoughts from its responses before they are scored, and counts the responses that held one.

Thoughts stand between marks such as <think> and </think>, or in channels, as gpt-oss writes them. If a chat template
wrote the first mark, only the second is in the text; if a thought never ends, nothing is left.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halluscope.responses.naming import named
from halluscope.validation import word

REMOVED = "removed"
KEPT = "kept"
THOUGHTS = (REMOVED, KEPT)

# Keys of a result
COUNT = "thoughts"
UNFINISHED = "unfinished_thoughts"

TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "seed:think")
_MARKS = [(rf"<{tag}\s*>", rf"</{tag}\s*>") for tag in TAGS]
_MARKS += [
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"◁think▷", r"◁/think▷"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"<unused94>", r"<unused95>"),
]
_SIGNS = "<[◁"  # Each mark begins with one of them
_FLAGS = re.IGNORECASE | re.DOTALL
_OPENING = re.compile("|".join(f"({opening})" for opening, _ in _MARKS), _FLAGS)
_CLOSING = re.compile("|".join(closing for _, closing in _MARKS), _FLAGS)
_CLOSING_OF = {number: re.compile(closing, _FLAGS) for number, (_, closing) in enumerate(_MARKS, 1)}

# Channels: <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>
_CHANNEL = "<|channel|>"
_FINAL_CHANNEL = re.compile(
    r"<\|channel\|>\s*final\b(?:(?!<\|message\|>|<\|channel\|>).)*<\|message\|>", _FLAGS
)
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|start|channel|call)\|>", re.IGNORECASE)
# What is left of these where a tokenizer skipped its special tokens: "analysisIs there a dog?assistantfinalYes". No
# text of another kind begins with this word and a capital right after it.
_BARE_BEGIN = re.compile(r"\s*(?:assistant)?analysis")
_BARE_FINAL = "assistantfinal"
_BARE_UNFINISHED = re.compile(r"\s*(?:assistant)?analysis[A-Z]")


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


def without(text: str) -> str:
    """Return a text without the thoughts in it, and without the white space around them.

    >>> without("<think>A bus?</think>A dog."), without("A bus?</think> A dog."), without("<think>A dog? But")
    ('A dog.', 'A dog.', '')
    """
    return _answer(text) or ""


def _answer(text: str) -> str | None:
    """Return a text without the thoughts in it; None if a thought never ends."""
    if _CHANNEL in text:
        return _final_channel(text)
    if _BARE_BEGIN.match(text) and _BARE_FINAL in text:
        return text.rpartition(_BARE_FINAL)[2].strip()
    if _BARE_UNFINISHED.match(text):
        return None
    rest = _without_whole(text)
    closings = list(_CLOSING.finditer(rest))
    if closings:
        rest = rest[closings[-1].end() :]
    if _OPENING.search(rest):
        return None
    if rest == text:
        return text
    return rest.strip()


def _final_channel(text: str) -> str | None:
    """Return the last message of the channel `final`; None if there is none, so that the model only thought."""
    openings = list(_FINAL_CHANNEL.finditer(text))
    if not openings:
        return None
    start = openings[-1].end()
    message = text[start:]
    end = _END_OF_MESSAGE.search(message)
    if end:
        message = message[: end.start()]
    return message.strip()


def _without_whole(text: str) -> str:
    """Return a text without the thoughts that begin and end in it; each mark is searched for only once."""
    parts = []
    end = 0
    endless = set()
    for opening in _OPENING.finditer(text):
        kind = opening.lastindex or 0
        if opening.start() < end or kind in endless:
            continue
        closing = _CLOSING_OF[kind].search(text, opening.end())
        if closing is None:
            endless.add(kind)
        else:
            parts.append(text[end : opening.start()])
            end = closing.end()
    parts.append(text[end:])
    return "".join(parts)


def choice(thoughts: str) -> dict[str, str]:
    """Return the signature's key for thoughts: none unless they are kept."""
    if thoughts == REMOVED:
        return {}
    return {"thoughts": thoughts}


def take_out(texts: Sequence[str], thoughts: str) -> Spoken:
    """Return texts without thoughts, and how many held one; or the same texts, if thoughts are kept."""
    word("thoughts", thoughts, THOUGHTS)
    if thoughts == KEPT or not _may_hold_thoughts("".join(texts)):
        return Spoken(texts)
    answers = []
    with_thoughts = 0
    unfinished = 0
    begun_outside = 0
    for text in texts:
        answer: str | None = text
        if _may_hold_thoughts(text):
            answer = _answer(text)
        answers.append(answer or "")
        if answer is None:
            unfinished += 1
        if answer != text:
            with_thoughts += 1
            if _is_begun_outside(text):
                begun_outside += 1
    unmarked = 0
    if 2 * begun_outside > len(texts):
        unmarked = len(texts) - with_thoughts
    return Spoken(answers, with_thoughts, unfinished, unmarked)


def _is_begun_outside(text: str) -> bool:
    """Whether a thought ends in a text that does not begin in it."""
    return bool(_CLOSING.search(_without_whole(text)))


def _may_hold_thoughts(text: str) -> bool:
    return "analysis" in text or any(sign in text for sign in _SIGNS)


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
