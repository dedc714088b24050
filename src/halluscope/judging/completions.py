"""Reads files of a judge's chat completions, as OpenAI's client returns them and as scripts write them down."""

import warnings
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

# A row with its location, for messages
Located = tuple[str, Any]

QUESTION_ID = "question_id"
# The columns that may name the question where none is called so
ID_COLUMNS = ("id", "index")


def reply_in(row: Any) -> str | None:
    """Return the text of a chat completion; None for anything else.

    >>> reply_in({"choices": [{"message": {"role": "assistant", "content": "Rating: 3"}}]})
    'Rating: 3'
    """
    if not isinstance(row, Mapping):
        return None
    choices = row.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return None
    text = choices[0].get("text")
    message = choices[0].get("message")
    if isinstance(message, Mapping):
        text = message.get("content")
    if not isinstance(text, str):
        return None
    return text


def model_in(row: Any) -> str:
    """Return the model that a chat completion says it is by; "" if it names none, and for anything else."""
    if reply_in(row) is None:
        return ""
    return str(row.get("model") or "")


def with_ids(rows: Sequence[Located], ids: Sequence[Hashable], file: str) -> list[Located]:
    """Return a file's rows; chat completions that say nothing of what they are about get the ids in their order.

    Args:
        rows: the rows of the file.
        ids: the ids of the questions, in the dataset's order.
        file: the file, for messages.

    Raises:
        ValueError: if there is not one completion for each question, or one names two.
    """
    replies = []
    no_completions = []  # the places of the other rows
    for where, row in rows:
        reply = reply_in(row)
        if reply is None:
            no_completions.append(where)
        else:
            replies.append(reply)
    if not replies:
        return list(rows)
    known = set(ids)
    named = [_question_of(row, known, where) for where, row in rows]
    if None not in named:
        return [(where, dict(row, id=id)) for (where, row), id in zip(rows, named, strict=True)]
    if no_completions:
        raise ValueError(
            f"{no_completions[0]} is no chat completion with a text, but others of {file} are; expected one for each "
            'question, in the questions\' order. Where the judge said nothing, write "" as the content: it is read as '
            "an empty reply."
        )
    if len(replies) != len(ids):
        raise ValueError(
            f"{file} holds {len(replies):,} chat completions, which have no ids of questions, and {len(ids):,} "
            "responses are scored; expected one for each, in the questions' order. Or give each an id: "
            '{"id": the question\'s, "reply": the text}.'
        )
    warnings.warn(
        f"{file} holds chat completions without ids of questions: they are taken in the questions' order.",
        stacklevel=2,
    )
    with_id = []
    for (where, row), id in zip(rows, ids, strict=True):
        with_id.append((where, dict(row, id=id)))
    return with_id


def _question_of(row: Any, known: Collection[Hashable], where: str) -> Hashable | None:
    """Return the id of the question that a row names; a completion's own id, such as "chatcmpl-1", is none."""
    if not isinstance(row, Mapping):
        return None
    question_id: Hashable = row.get(QUESTION_ID)
    if _is_among(question_id, known):
        return question_id
    named: list[Hashable] = []
    for column in ID_COLUMNS:
        if _is_among(row.get(column), known):
            named.append(row[column])
    if not named:
        return None
    if len(set(named)) > 1:
        raise ValueError(
            f"{where} names two questions, {named[0]!r} (id) and {named[1]!r} (index); expected one. Name it in a "
            f"column {QUESTION_ID}."
        )
    return named[0]


def _is_among(id: Any, known: Collection[Hashable]) -> bool:
    return isinstance(id, str | int) and id in known
