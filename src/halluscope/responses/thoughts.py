"""Removes a model's thoughts from its responses before they are scored, and counts the responses that held one.

If a chat template wrote the first mark, only the second is in the text; if a thought never ends, nothing is left.
"""

import re
from collections.abc import Sequence

from halluscope.validation import word

REMOVED, KEPT = "removed", "kept"
THOUGHTS = (REMOVED, KEPT)

TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "seed:think")
_MARKS = (
    *((rf"<{tag}\s*>", rf"</{tag}\s*>") for tag in TAGS),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"◁think▷", r"◁/think▷"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"<unused94>", r"<unused95>"),
)
_SIGNS = "<[◁"  # Each mark begins with one of them
_FLAGS = re.IGNORECASE | re.DOTALL
_OPENING = re.compile("|".join(f"({opening})" for opening, _ in _MARKS), _FLAGS)
_CLOSING = re.compile("|".join(closing for _, closing in _MARKS), _FLAGS)
_CLOSING_OF = {number: re.compile(closing, _FLAGS) for number, (_, closing) in enumerate(_MARKS, 1)}


def without(text: str) -> str:
    """Return a text without the thoughts in it, and without the white space around them.

    >>> without("<think>A bus?</think>A dog."), without("A bus?</think> A dog."), without("<think>A dog? But")
    ('A dog.', 'A dog.', '')
    """
    rest = _without_whole(text)
    *_, last = [None, *_CLOSING.finditer(rest)]
    rest = rest[last.end() :] if last else rest
    if _OPENING.search(rest):
        return ""
    return rest if rest == text else rest.strip()


def _without_whole(text: str) -> str:
    """Return a text without the thoughts that begin and end in it; each mark is searched for only once."""
    parts, end, endless = [], 0, set()
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
    return "".join([*parts, text[end:]])


def choice(thoughts: str) -> dict[str, str]:
    """Return the signature's key for thoughts: none unless they are kept."""
    return {} if thoughts == REMOVED else {"thoughts": thoughts}


def take_out(texts: Sequence[str], thoughts: str) -> tuple[Sequence[str], int]:
    """Return texts without thoughts, and how many held one; or the same texts and 0, if thoughts are kept."""
    word("thoughts", thoughts, THOUGHTS)
    whole = "" if thoughts == KEPT else "".join(texts)
    if not any(sign in whole for sign in _SIGNS):
        return texts, 0
    rests = [without(text) if any(map(text.__contains__, _SIGNS)) else text for text in texts]
    return rests, sum(rest != text for rest, text in zip(rests, texts, strict=True))
