"""What a model thought is no response: it is taken out before anything is scored, and counted.

Models write it between two marks; a chat template may have written the first one, so that only the second stands in the
text. A thought that never ends leaves no response.
"""

import re
from collections.abc import Sequence

REMOVED, KEPT = "removed", "kept"
THOUGHTS = (REMOVED, KEPT)

_MARKS = (
    (r"<(?P<tag>think|thinking|thought|thoughts|reasoning|seed:think)\s*>", r"</(?P=tag)\s*>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"◁think▷", r"◁/think▷"),
    (r"\[THINK\]", r"\[/THINK\]"),
)
_CLOSING = re.compile(
    r"</(?:think|thinking|thought|thoughts|reasoning|seed:think)\s*>|<\|end_of_thought\|>|◁/think▷|\[/THINK\]",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"<(?:think|thinking|thought|thoughts|reasoning|seed:think)\s*>|<\|begin_of_thought\|>|◁think▷|\[THINK\]",
    re.IGNORECASE,
)
_WHOLE = [re.compile(f"{opening}.*?{closing}", re.IGNORECASE | re.DOTALL) for opening, closing in _MARKS]


def without(text: str) -> str:
    """A text without what was thought in it.

    >>> without("<think>A bus?</think>A dog."), without("A bus?</think> A dog."), without("A dog. <think>But")
    ('A dog.', ' A dog.', '')
    """
    if not (_OPENING.search(text) or _CLOSING.search(text)):
        return text
    for whole in _WHOLE:
        text = whole.sub("", text)
    *_, last = [None, *_CLOSING.finditer(text)]
    text = text[last.end() :] if last else text
    return "" if _OPENING.search(text) else text


def take_out(texts: Sequence[str], thoughts: str) -> tuple[Sequence[str], int]:
    """Texts without thoughts, and how many held one; as they are, if thoughts are kept.

    Raises:
        ValueError: for another word than "removed" and "kept".
    """
    if thoughts not in THOUGHTS:
        raise ValueError(f"thoughts is {thoughts!r:.80}; expected {' or '.join(map(repr, THOUGHTS))}.")
    if thoughts == KEPT:
        return texts, 0
    said = [without(text) for text in texts]
    return said, sum(one != text for one, text in zip(said, texts, strict=True))
