"""Says what of the texts that are scored is hardly the LVLM's: prompts, special tokens, JSON, spelled line breaks."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence

from halluscope.judging.thought_marks import without
from halluscope.naming import named
from halluscope.responses.cells import literal_list
from halluscope.responses.column_facts import SENTENCE
from halluscope.sanitize import short_repr

# The least share of the responses that are told
LEAST_SHARE = 0.05

# Where a chat template has the LVLM begin
_ANSWERS = re.compile(
    r"(?:\bASSISTANT|\bAssistant|\bGPT): |\[/INST\]|<\|im_start\|>assistant|<\|assistant\|>"
    r"|<start_of_turn>model|<\|start_header_id\|>assistant|\nassistant\n"
)
# What a tokenizer writes unless it skips its special tokens
_SPECIAL = re.compile(
    r"</?s>|<(?:pad|unk|bos|eos|image|end_of_utterance|(?:start|end)_of_turn)>|<\|[a-z_]{2,30}\|>",
    re.IGNORECASE,
)
# A line break that is spelled as two signs, and no command of LaTeX
_SPELLED = re.compile(r"\\n(?![a-z])")
NONE = "None"
_YES_OR_NO = re.compile(r"\W*(?:yes|no)\b", re.IGNORECASE)
_FEW = 100  # so many texts show whether most answer yes or no
# What a program writes where it got no response: what Python, pandas and JSON write for no value, the name of an error,
# or what a server or a library says of a request that failed
_NOTE = re.compile(
    r"\s*(?:(?:None|nan|NaN|<NA>|null)\s*\Z"
    r"""|[\[(<*"']*(?:API )?(?:[\w.]*(?:Error|ERROR|Exception)|error)[\])>*"'.!]*"""
    r"(?:\s*\Z|\s*[:(\[]|\s+code\b|\s+\d{3}\b)"
    r"|[\[(<](?:Error|ERROR|error)[\])>]"
    r"|Traceback \(most recent call last\)|CUDA out of memory|HTTPS?ConnectionPool|HTTP \d{3}\b|<Response \[\d{3}\]>"
    r"|(?:Request|Connection) (?:timed out|error|reset|aborted|refused)"
    r"|Too Many Requests|Rate limit (?:reached|exceeded))"
)


def remarks(texts: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """Return what a user should know of the texts that are scored.

    Args:
        texts: the responses.
        prompts: what was asked, with single spaces; "" where it is unknown.
    """
    told = []
    for what, oddity_in in _ODDITIES.items():
        found = []
        for text, prompt in zip(texts, prompts, strict=True):
            oddity = oddity_in(text, prompt)
            if oddity:
                found.append(oddity)
        if found and len(found) >= LEAST_SHARE * len(texts):
            told.append(f"{len(found):,} of {len(texts):,} responses {what}: {short_repr(found[0], 80)}")
    return told


def notes_among(texts: Sequence[str]) -> list[str]:
    """Return the texts that a program wrote where it got no response."""
    # each text once, in their order: in a set's order, this takes twice as long
    notes = {text for text in dict.fromkeys(texts) if _NOTE.match(text)}
    if not notes:
        return []
    if not _answer_yes_or_no(texts):
        notes = {text for text in notes if text.strip() != NONE}
    return [text for text in texts if text in notes]


def warn_of_notes(texts: Sequence[str]) -> None:
    """Warn of texts, be it a single one, that a program wrote where it got no response."""
    notes = notes_among(texts)
    if not notes:
        return
    message = (
        f"{len(notes):,} of {len(texts):,} responses are a program's note that it has none, such as "
        f"{short_repr(notes[0], 60)}: they are scored as texts, and a rule may read them as an answer. Ask the LVLM "
        "again, or remove these rows and pass --partial (partial=True)."
    )
    warnings.warn(named(message), stacklevel=3)


def _answer_yes_or_no(texts: Sequence[str]) -> bool:
    """Whether most texts begin with yes or no: elsewhere "None" may be what the LVLM says."""
    answers = 0
    for text in texts[:_FEW]:
        answers += _YES_OR_NO.match(text) is not None
    return 2 * answers > len(texts[:_FEW])


def _with_prompt(text: str, prompt: str) -> str:
    """Return a text that has the prompt before the response, as a chat template writes it, or as it is.

    A text that is nothing but the prompt is a description that was to be corrected, and is right.
    """
    if _ANSWERS.search(text.lstrip(), 1):
        return text
    if len(prompt.split()) < SENTENCE:
        return ""
    beginning = " ".join(text[: 2 * len(prompt)].split())
    return text if beginning.startswith(prompt) and beginning != prompt else ""


def _list_of_several(text: str, _: str) -> str:
    """Return a text that is a list of several sentences, as Python or JSON writes it."""
    values = literal_list(text) if text.startswith("[") else []
    if len(values) < 2 or any(len(value.split()) < SENTENCE for value in values):
        return ""
    return text


def _with_spelled_breaks(text: str, _: str) -> str:
    return text if _SPELLED.search(text) else ""


def _special_token(text: str, _: str) -> str:
    """Return the first special token that is no mark of a thought."""
    if "<" not in text:
        return ""
    token = _SPECIAL.search(without(text))
    return token[0] if token else ""


def _json_object(text: str, _: str) -> str:
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    is_object = bare.startswith("{") and bare[1:].lstrip().startswith('"') and bare.endswith("}")
    return text if is_object else ""


# What is said of responses -> what shows it in one of them, given its prompt; "" for nothing
_ODDITIES: Mapping[str, Callable[[str, str], str]] = {
    "repeat the prompt, whose words are scored too. Leave it out": _with_prompt,
    "are lists of several texts, which are scored as one. Save one of them": _list_of_several,
    "have line breaks spelled as \\n, which joins the words beside them. Write line breaks": _with_spelled_breaks,
    "hold special tokens, which are no words of the LVLM. Decode with skip_special_tokens=True": _special_token,
    "are objects of JSON, which are scored with their keys. Save the text in them": _json_object,
}
