"""Says what of the texts that are scored is hardly the LVLM's: prompts, special tokens, JSON, spelled line breaks."""

import ast
import re
from collections.abc import Sequence

from halluscope.judging.thought_marks import without
from halluscope.responses.column_facts import SENTENCE
from halluscope.sanitize import short_repr

# The least share of the responses that are told
LEAST_SHARE = 0.05

# Where a chat template has the LVLM begin
_ANSWERS = re.compile(
    r"(?:\bASSISTANT|\bAssistant|\bGPT): |\[/INST\]|<\|im_start\|>assistant|<\|assistant\|>"
    r"|<start_of_turn>model|<\|start_header_id\|>assistant|(?:^|\n)assistant\n"
)
# What a tokenizer writes unless it skips its special tokens
_SPECIAL = re.compile(
    r"</?s>|<(?:pad|unk|bos|eos|image|end_of_utterance|(?:start|end)_of_turn)>|<\|[a-z_]{2,30}\|>",
    re.IGNORECASE,
)
_JSON = re.compile(r"\s*(?:```(?:json)?\s*)?\{\s*\".*\}\s*(?:```)?\s*", re.DOTALL)
# A line break that is spelled as two signs, and no command of LaTeX
_SPELLED = re.compile(r"\\n(?![a-z])")


def remarks(texts: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """Return what a user should know of the texts that are scored.

    Args:
        texts: the responses.
        prompts: what was asked, with single spaces; "" where it is unknown.
    """
    with_prompt = []
    lists = []
    spelled = []
    special = []
    keyed = []
    for text, prompt in zip(texts, prompts, strict=True):
        if _holds_prompt(text, prompt):
            with_prompt.append(text)
        if text.startswith("[") and _holds_several(text):
            lists.append(text)
        if "\\n" in text and _SPELLED.search(text):
            spelled.append(text)
        token = _SPECIAL.search(without(text)) if "<" in text else None
        if token:
            special.append(token[0])
        if text.endswith(("}", "```")) and _JSON.fullmatch(text):
            keyed.append(text)
    said = {
        "repeat the prompt, whose words are scored too. Leave it out": with_prompt,
        "are lists of several texts, which are scored as one. Save one of them": lists,
        "have line breaks spelled as \\n, which joins the words beside them. Write line breaks": spelled,
        "hold special tokens, which are no words of the LVLM. Decode with skip_special_tokens=True": special,
        "are objects of JSON, which are scored with their keys. Save the text in them": keyed,
    }
    told = []
    for what, found in said.items():
        if found and len(found) >= LEAST_SHARE * len(texts):
            told.append(f"{len(found):,} of {len(texts):,} responses {what}: {short_repr(found[0], 80)}")
    return told


def _holds_prompt(text: str, prompt: str) -> bool:
    """Whether a text has the prompt before the response, as a chat template writes it, or as it is."""
    if _ANSWERS.search(text.lstrip(), 1):
        return True
    if len(prompt.split()) < SENTENCE:
        return False
    beginning = " ".join(text[: 2 * len(prompt)].split())
    return beginning.startswith(prompt)


def _holds_several(text: str) -> bool:
    """Whether a text is a list of several sentences, as Python or JSON writes it."""
    values = literal_list(text)
    return len(values) > 1 and all(len(value.split()) >= SENTENCE for value in values)


def literal_list(text: str) -> list[str]:
    """Return the texts in a list that is written as text by Python or as JSON; [] if it is none."""
    try:
        values = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return []
    return values
