"""Reading an LVLM's answers to questions, and putting each to its question."""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

from halluscope.records.files import Read, json_rows, load_rows
from halluscope.records.object_questions import SAMPLINGS, ObjectQuestion, read_official

REPLY = ("response", "prediction")
"""Where a reply is looked for first; then in the one of `OTHERWISE` that is there."""

OTHERWISE = ("answer", "text", "caption")

Located = tuple[str, Mapping[str, Any]]
"""Where a row stands, and the row, with its reply as `response`."""


class Asked(Protocol):
    """A question about an image; it has an id too, by a name of its own."""

    @property
    def question(self) -> str:
        """As it is put to the LVLM."""

    @property
    def image_id(self) -> int:
        """Of the image."""


def read_questions(source: str) -> list[ObjectQuestion]:
    """Read questions.

    Args:
        source: a file of POPE's authors, whose name tells its sampling; or a dataset with the columns of `pope` or
            `pope_c` (folder or Hub id; "name:config" picks a config).

    Raises:
        ValueError: for a file or dataset of another form.
        FileNotFoundError: if a file does not exist.
    """
    path = Path(source)
    if path.is_file() or path.suffix in (".json", ".jsonl", ".gz"):
        questions = read_official(path, next((name for name in SAMPLINGS if name in path.name), ""))
    else:
        questions = _dataset(source)
    return questions


def read_answers(file: Path, read: Read = json_rows) -> list[Located]:
    """Read JSON lines or a JSON list of objects with a reply, and with `question_id` or in the questions' order.

    Raises:
        ValueError: for a row that is no such object, or in which more than one text could be the reply.
        FileNotFoundError: if there is no such file.
    """
    answers = [(where, _answer(row, where)) for where, row in read(file)]
    if not answers:
        raise ValueError(f"{file} holds no answer; expected one JSON object a line.")
    return answers


def match(
    answers: Sequence[Located], questions: Sequence[Asked], by: str = "question_id"
) -> tuple[list[str], str]:
    """Put each answer to its question: by `question_id` (and `sampling`) where it is there, else by order.

    Args:
        answers: as `read_answers` gives them.
        questions: objects with `question`, `image_id`, and what `by` names.
        by: the name of a question's id.

    Returns:
        The replies in the order of the questions, and what they were matched by.

    Raises:
        ValueError: for a question without an answer or with two, an answer without a question, ids that do not tell
            questions apart, or answers without ids that are not as many as the questions or repeat another question.
    """
    with_id = [row.get(by) is not None for _, row in answers]
    if not any(with_id):
        return _by_order(answers, questions, by), "order"
    if not all(with_id):
        raise ValueError(f"{answers[with_id.index(False)][0]} has no {by}, but other answers have one.")
    keys = [by]
    if all("sampling" in row for _, row in answers):
        keys.append("sampling")
    return _by_id(answers, questions, keys, by), " and ".join(keys)


def _by_id(answers: Sequence[Located], questions: Sequence[Asked], keys: list[str], by: str) -> list[str]:
    place: dict[Hashable, int] = {}
    for i, question in enumerate(questions):
        key = tuple(str(getattr(question, name)) for name in keys)
        if place.setdefault(key, i) != i:
            raise ValueError(
                f"{_named(keys, key)} stands for more than one of the {len(questions):,} questions; choose one "
                "sampling (--sampling) or config, or give each answer its sampling."
            )
    found: dict[int, Located] = {}
    for where, row in answers:
        key = tuple(str(row[name]) for name in keys)
        if key not in place:
            raise ValueError(f"{where}: {_named(keys, key)} is not among the {len(questions):,} questions.")
        _check_same(where, row, questions[place[key]], _named(keys, key))
        earlier = found.setdefault(place[key], (where, row))
        if earlier[0] != where:
            raise ValueError(f"{where}: {_named(keys, key)} is answered in {earlier[0]} already. Remove one.")
    missing = [key for key, i in place.items() if i not in found]
    if missing:
        raise ValueError(
            f"{len(missing):,} of the {len(questions):,} questions have no answer, such as "
            f"{_named(keys, missing[0])}. Answer them, or score only what was asked"
            f"{' (--sampling, --questions)' if by == 'question_id' else ': a file of those questions'}."
        )
    return [found[i][1]["response"] for i in range(len(questions))]


def _check_same(where: str, row: Mapping[str, Any], question: Asked, named: str) -> None:
    """An answer that carries a question or an image must carry that of its id: POPE's files share their ids."""
    for field in ("question", "file_name", "image_id"):
        expected = getattr(question, field, "")
        if expected != "" and str(row.get(field, expected)) != str(expected):
            raise ValueError(
                f"{where}: {named} has the {field} {row[field]!r:.80}, but in the questions {expected!r:.80}. "
                "Are these the answers to another file or sampling?"
            )


def _by_order(answers: Sequence[Located], questions: Sequence[Asked], by: str) -> list[str]:
    if len(answers) != len(questions):
        raise ValueError(
            f"There are {len(answers):,} answers without {by} and {len(questions):,} questions; expected one of "
            f"each, in the same order, or {by} in each answer."
        )
    for (where, row), question in zip(answers, questions, strict=True):
        if row.get("question", question.question) != question.question:
            raise ValueError(
                f"{where} answers {row['question']!r:.80}, but the question in its place is "
                f"{question.question!r:.80}; give the answers their {by}."
            )
    return [row["response"] for _, row in answers]


def _answer(row: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}: expected an object with a reply; got {json.dumps(row)[:120]}.")
    named = [name for name in REPLY if name in row][:1] or [name for name in OTHERWISE if name in row]
    if len(named) != 1:
        raise ValueError(
            f"{where}: expected the LVLM's reply as one of {', '.join(REPLY + OTHERWISE)}; got "
            f"{' and '.join(named) or 'none'} in {json.dumps(row)[:120]}. Call the reply response."
        )
    if not isinstance(row[named[0]], str):
        raise ValueError(
            f"{where}: {named[0]} is {row[named[0]]!r:.80}; expected the LVLM's reply (it may be empty)."
        )
    return {**row, "response": row[named[0]]}


def _dataset(source: str) -> list[ObjectQuestion]:
    name, _, config = source.partition(":")
    dataset = load_rows(name, config or None)
    if len(dataset) != 1:
        raise ValueError(f"{source} has the splits {', '.join(dataset)}; expected a dataset with one.")
    (rows,) = dataset.values()
    otherwise: dict[str, Any] = {"file_name": "", "sampling": ""}
    columns = [field.name for field in fields(ObjectQuestion)]
    missing = {*columns} - {*otherwise} - {*rows.column_names}
    if missing:
        raise ValueError(f"The dataset {source} has no column {' or '.join(sorted(missing))}: not POPE's.")
    rows = rows.select_columns([column for column in columns if column in rows.column_names])
    return [ObjectQuestion(**(otherwise | row)) for row in rows]


def _named(keys: Sequence[str], key: Hashable) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True))  # type: ignore[call-overload]
