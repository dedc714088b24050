"""Reads files of a judge's chat completions: as OpenAI's client returns them, and as a batch's output holds them."""

import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from halluscope.judging.question_ids import (
    COLUMNS,
    CUSTOM_ID,
    QUESTION_ID,
    are_count,
    in_rows,
    is_among,
    number_in,
)
from halluscope.sanitize import short_repr

# A row with its location, for messages
Located = tuple[str, Any]

# Why a completion ended before its text did
CUT_OFF = ("length", "max_tokens", "content_filter", "abort")


def reply_in(row: Any, where: str) -> str | None:
    """Return the text of a chat completion; None for anything else.

    >>> reply_in({"choices": [{"message": {"role": "assistant", "content": "Rating: 3"}}]}, "line 1")
    'Rating: 3'
    """
    choice = _choice_of(row, where)
    if choice is None:
        return None
    text = choice.get("text")
    message = choice.get("message")
    if isinstance(message, Mapping):
        text = message.get("content")
    if not isinstance(text, str):
        return None
    return text


def _choice_of(row: Any, where: str) -> Mapping[str, Any] | None:
    """Return the only choice of a chat completion; None for anything else."""
    if not isinstance(row, Mapping):
        return None
    choices = row.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return None
    if len(choices) > 1:
        raise ValueError(
            f"{where} is a chat completion with {len(choices):,} choices; expected one reply to a question. Write a "
            "file for each choice, and score them one by one."
        )
    choice: Mapping[str, Any] = choices[0]
    return choice


def warn_of_cut_off(rows: Iterable[Any], name: str) -> None:
    """Warn of chat completions that ended too early: they may lack their verdict, or state half of it."""
    ends: Counter[str] = Counter()
    completions = 0
    for row in rows:
        choice = _choice_of(row, name)
        if choice is None:
            continue
        completions += 1
        end = choice.get("finish_reason")
        if end in CUT_OFF:
            ends[end] += 1
    if ends:
        reasons = ", ".join(f"{end}: {count:,}" for end, count in sorted(ends.items()))
        warnings.warn(
            f"{ends.total():,} of the {completions:,} chat completions in {name} were cut off (finish_reason "
            f"{reasons}); they are read as they stand. Ask the judge again about these.",
            stacklevel=2,
        )


def _unpacked(row: Any) -> Any:
    """Return a row of a batch's output as the completion that it holds, with its `custom_id`; others as they are."""
    if not isinstance(row, Mapping) or not isinstance(row.get("response"), Mapping):
        return row
    body = row["response"].get("body")
    if not isinstance(body, Mapping):
        return row
    return dict(body, custom_id=row.get(CUSTOM_ID))


def model_in(row: Any) -> str:
    """Return the model that a chat completion says it is by; "" if it names none, and for anything else."""
    if not isinstance(row, Mapping) or "choices" not in row:
        return ""
    return str(row.get("model") or "")


def with_ids(rows: Sequence[Located], ids: Sequence[Hashable], file: str) -> list[Located]:
    """Return a file's rows; chat completions that say nothing of what they are about get the ids in their order.

    Args:
        rows: the rows of the file.
        ids: the ids of the questions, in the dataset's order.
        file: the file, for messages.

    Raises:
        ValueError: if there is not one completion for each question, or one names two, or has several choices.
    """
    rows = [(where, _unpacked(row)) for where, row in rows]
    is_completion = [reply_in(row, where) is not None for where, row in rows]
    if not any(is_completion):
        return rows
    warn_of_cut_off((row for _, row in rows), file)
    known = set(ids)
    named = [_question_of(row, known, where) for where, row in rows]
    if None in named:
        _check_custom_ids(rows, named, ids)
        _check_in_order(rows, is_completion, ids, file)
        _check_all_or_none(rows, named, known)
        warnings.warn(
            f"{file} holds chat completions without ids of questions: they are taken in the questions' order.",
            stacklevel=2,
        )
        named = list(ids)
    return [(where, dict(row, id=id)) for (where, row), id in zip(rows, named, strict=True)]


def _check_in_order(
    rows: Sequence[Located], is_completion: Sequence[bool], ids: Sequence[Hashable], file: str
) -> None:
    """Check that there is one completion for each question, and nothing else."""
    for (where, _), is_one in zip(rows, is_completion, strict=True):
        if not is_one:
            raise ValueError(
                f"{where} is no chat completion with a text, but others of {file} are; expected one for each question, "
                'in the questions\' order. Where the judge said nothing, write "" as the content: it is read as an '
                "empty reply."
            )
    if len(rows) != len(ids):
        raise ValueError(
            f"{file} holds {len(rows):,} chat completions, which have no ids of questions, and {len(ids):,} "
            "responses are scored; expected one for each, in the questions' order. Or give each an id: "
            '{"id": the question\'s, "reply": the text}.'
        )


def _check_custom_ids(
    rows: Sequence[Located], named: Sequence[Hashable | None], ids: Sequence[Hashable]
) -> None:
    """Refuse rows of a batch whose requests are not called after the questions: their order says nothing."""
    for (where, row), id in zip(rows, named, strict=True):
        if id is None and isinstance(row, Mapping) and row.get(CUSTOM_ID) is not None:
            raise ValueError(
                f"{where}: the {CUSTOM_ID} {short_repr(row[CUSTOM_ID])} is not among the {len(ids):,} questions, such "
                f"as {short_repr(ids[0])}, and a batch's output may be in any order. Write each reply as "
                '{"id": the question\'s, "reply": the text}.'
            )


def _check_all_or_none(
    rows: Sequence[Located], named: Sequence[Hashable | None], known: Collection[Hashable]
) -> None:
    """Refuse rows that should name a question and do not: then the order says nothing of them."""
    are_some_named = any(id is not None for id in named)
    if not are_some_named and not any(_states_question(row) for _, row in rows):
        return
    stated = in_rows([row for _, row in rows], known)
    if are_count(stated, known):
        return
    place = list(named).index(None)
    others = ", but other chat completions of the file do" if are_some_named else ""
    raise ValueError(
        f"{rows[place][0]} names none of the {len(known):,} questions{others} (it says {short_repr(stated[place])}). "
        f"Give each the id of its question in a column {QUESTION_ID}, or none an id."
    )


def _states_question(row: Mapping[str, Any]) -> bool:
    """Whether a row says of which question it is, be it one that is scored or not."""
    return number_in(row.get(QUESTION_ID)) is not None


def _question_of(row: Any, known: Collection[Hashable], where: str) -> Hashable | None:
    """Return the id of the question that a row names; a completion's own id, such as "chatcmpl-1", is none."""
    if not isinstance(row, Mapping):
        return None
    if _states_question(row):
        question_id: Hashable = number_in(row[QUESTION_ID])
        return question_id if is_among(question_id, known) else None
    named: dict[str, Hashable] = {}  # by column
    for column in COLUMNS:
        id = number_in(row.get(column))
        if is_among(id, known):
            named[column] = id
    if not named:
        return None
    if len(set(named.values())) > 1:
        questions = " and ".join(f"{id!r} ({column})" for column, id in named.items())
        raise ValueError(
            f"{where} names two questions, {questions}; expected one. Name it in a column {QUESTION_ID}."
        )
    return next(iter(named.values()))
