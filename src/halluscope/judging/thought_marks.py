"""Takes what a model thought aloud out of a text: a response of the model that is scored, or a reply of its judge.

Thoughts stand between marks such as <think> and </think>, in channels, as gpt-oss writes them, or in stages, as
LLaVA-CoT does. If a chat template wrote the first mark, only the second is in the text; if a thought never ends,
nothing is left.
"""

import re

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

# The stages of LLaVA-CoT: <SUMMARY>Is it a dog?</SUMMARY> ... <CONCLUSION>Yes</CONCLUSION>
_FIRST_STAGE = "<SUMMARY>"
_LAST_STAGE = re.compile(r"<CONCLUSION>(.*?)(?:</CONCLUSION>|\Z)", re.DOTALL)


def without(text: str) -> str:
    """Return a text without the thoughts in it, and without the white space around them.

    >>> without("<think>A bus?</think>A dog."), without("A bus?</think> A dog."), without("<think>A dog? But")
    ('A dog.', 'A dog.', '')
    """
    return answer_in(text) or ""


def answer_in(text: str) -> str | None:
    """Return a text without the thoughts in it; None if a thought never ends."""
    if _CHANNEL in text:
        return _final_channel(text)
    if text.lstrip().startswith(_FIRST_STAGE):
        conclusion = _LAST_STAGE.search(text)
        return conclusion[1].strip() if conclusion else None
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


def is_begun_outside(text: str) -> bool:
    """Whether a thought ends in a text that does not begin in it."""
    return bool(_CLOSING.search(_without_whole(text)))


def may_hold_thoughts(text: str) -> bool:
    return "analysis" in text or any(sign in text for sign in _SIGNS)
