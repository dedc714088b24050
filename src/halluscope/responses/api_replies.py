"""Finds the text in replies of APIs that were saved as they came: OpenAI's, Anthropic's and Google's."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from halluscope.responses.names import TEXTS

# Where a reply has its text: OpenAI's, and Google's
CHOICES = "choices"
CANDIDATES = "candidates"

# How servers call a reply
_ID_OF_REPLY = re.compile(r"(?:chatcmpl|msg|resp|gen)[-_].*|[0-9a-f-]{32,36}")


# Rows


def with_reply(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its text under "response" if it is the reply of an API, or a line of a batch with one.

    The reply's or the request's own id, which says nothing of what was asked, is left out. Other rows are returned as
    they are.
    """
    result = row.get("result")
    response = row.get(TEXTS[0])
    if _is_message(row):
        return _moved(row, "content", row["content"])
    if _is_only_choice(row.get(CHOICES)):
        return _moved(row, CHOICES, {CHOICES: row[CHOICES]})
    if _are_candidates(row.get(CANDIDATES)):
        return _moved(row, CANDIDATES, {CANDIDATES: row[CANDIDATES]})
    if row.get("object") == "response" and "output" in row:
        return _moved(row, "output", row["output"])
    if isinstance(result, Mapping) and _is_message(result.get("message")):
        return _moved(row, "result", result["message"])
    if isinstance(response, Mapping) and "body" in response and "custom_id" in row:
        return {name: value for name, value in row.items() if name != "id"}
    if isinstance(response, Mapping) and CANDIDATES in response and "key" in row:
        return {"custom_id": row["key"], **row}
    return row


def _moved(row: Mapping[str, Any], column: str, reply: Any) -> dict[str, Any]:
    """Return a row with the reply that stands in a column under "response"."""
    moved = dict(row)
    del moved[column]
    if _ID_OF_REPLY.fullmatch(str(row.get("id"))):
        del moved["id"]
    return {TEXTS[0]: reply, **moved}


def _is_only_choice(value: Any) -> bool:
    """Whether a value is what OpenAI's API returns: the choices of a completion, here one."""
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], Mapping):
        return False
    return isinstance(value[0].get("message"), Mapping)


def _is_message(value: Any) -> bool:
    """Whether a value is a message, as Anthropic's API returns it, and OpenAI's newer one beside thoughts."""
    return (
        isinstance(value, Mapping)
        and value.get("type") == "message"
        and isinstance(value.get("content"), list)
    )


def _are_candidates(value: Any) -> bool:
    """Whether a value is what Google's API returns: a list, mostly of one, of objects that hold a text in parts."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(entry, Mapping) and not {"content", "finishReason"}.isdisjoint(entry) for entry in value
    )


# Cells


def text_in_object(cell: Mapping[str, Any]) -> Any:
    """Return what an object with a text, an API's reply, or a line of a batch says: a text, or a list of its parts."""
    if CANDIDATES in cell:
        return _text_of_candidates(cell[CANDIDATES])
    choices = cell.get(CHOICES)
    if choices is None and isinstance(cell.get("body"), Mapping):
        choices = cell["body"].get(CHOICES)
    message: Any = cell
    if isinstance(choices, list) and len(choices) == 1:
        choice = choices[0]
        message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        return None
    for key in TEXTS + ("content", "generated_text"):  # the last is that of transformers' pipelines
        if key in message:
            return message[key]
    return None


def _text_of_candidates(candidates: Any) -> str | None:
    """Return what the only candidate says without its thoughts; None if there are several, or it was blocked."""
    if not isinstance(candidates, list) or len(candidates) != 1 or not isinstance(candidates[0], Mapping):
        return None
    content = candidates[0].get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    if not isinstance(parts, list):
        return None
    return _joined(part for part in parts if isinstance(part, Mapping) and not part.get("thought"))


def text_in_parts(parts: Sequence[Any]) -> str | None:
    """Return the text in the parts of a message, each of which says its type; None for other lists, and for no text."""
    typed = []
    for part in parts:
        if not isinstance(part, Mapping) or "type" not in part:
            return None
        if _is_message(part):
            return text_in_parts(part["content"])
        typed.append(part)
    return _joined(typed)


def _joined(parts: Iterable[Mapping[str, Any]]) -> str | None:
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None
