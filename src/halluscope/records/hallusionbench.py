"""Reading what users have of HallusionBench: the dataset's rows, and an LVLM's answers, matched by id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.records.control_pairs import ID, NO_VISUAL, Id, VisualQuestion, describe, read_all, read_id
from halluscope.records.files import Read, json_rows, plain_name
from halluscope.records.presence import TEXT_FIELDS

ANSWER_FIELDS = ("model_prediction", "response", "prediction", "answer", "text")
"""Where an answer's text is looked for, in this order; the authors' script reads the first."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Matched:
    """An LVLM's answers and the questions they belong to, in the dataset's order.

    Attributes:
        name: the file's name without its ending; names the LVLM in a table.
        texts: one a question.
        rows: the dataset's rows.
        by_position: whether they were matched by position, since no answer names a question.
    """

    name: str
    texts: list[str]
    rows: list[Row]
    by_position: bool


def read_rows(source: str) -> list[Row]:
    """The dataset's rows without images.

    Args:
        source: HallusionBench.json, the folder that `halluscope build hallusionbench` made, or a Hub id; "name:split"
            picks a split.

    Raises:
        ValueError: for a file or dataset of another form.
        FileNotFoundError: if a file does not exist.
    """
    path = Path(source)
    if path.is_file():
        rows = _read(path)
    elif path.suffix in (".json", ".jsonl"):
        raise FileNotFoundError(f"There is no file {source}; expected the dataset hallusionbench.")
    else:
        rows = _dataset(source)
    read_all(rows, source)
    return rows


def read_answers(
    path: str | Path, rows: Sequence[Row], visual_only: bool = False, read: Read = json_rows
) -> Matched:
    """Read an LVLM's answers and match them to the dataset's rows.

    A file is JSON lines or one JSON list. An answer that has one of the ids (category, subcategory, set_id, figure_id,
    question_id) must have all; if no answer has any, all are matched by position.

    Args:
        path: the file.
        rows: the dataset's rows.
        visual_only: answers to questions without a visual may be missing.
        read: how the file's rows are read.

    Raises:
        ValueError: for an answer without a text, that comes twice, about no question or about another one than its
            ids say; for a question without an answer.
        FileNotFoundError: if there is no such file.
    """
    path = Path(path)
    answers = _read(path, read)
    texts = [_text(answer, f"{path}, answer {number}") for number, answer in enumerate(answers, 1)]
    name = plain_name(path)
    if not any(field in answer for answer in answers for field in ID):
        return Matched(name, _by_position(path, answers, texts, rows), list(rows), by_position=True)
    questions = {question.id: question for question in read_all(rows, "dataset")}
    said = _by_id(path, answers, texts, questions)
    asked = [
        (question, row)
        for (question, row) in zip(questions.values(), rows, strict=True)
        if question.id in said or not (visual_only and question.visual_input == NO_VISUAL)
    ]
    if missing := [question for question, _ in asked if question.id not in said]:
        raise ValueError(
            f"{path} has no answer to {len(missing)} of the {len(questions)} questions, such as "
            f"{describe(missing[0].id)}; expected one answer a question. Nothing is scored as if it were complete."
        )
    return Matched(
        name, [said[question.id] for question, _ in asked], [row for _, row in asked], by_position=False
    )


def _by_position(path: Path, answers: Sequence[Row], texts: list[str], rows: Sequence[Row]) -> list[str]:
    if len(texts) != len(rows):
        raise ValueError(
            f"{path} holds {len(texts)} answers without ids and the dataset {len(rows)} questions; expected one answer "
            f"a question in the same order, or answers that name theirs by {', '.join(ID)}."
        )
    for number, (answer, question) in enumerate(zip(answers, read_all(rows, "dataset"), strict=True), 1):
        _check_question(answer, question, f"{path}, answer {number}, matched by its position,")
    return texts


def _by_id(
    path: Path, answers: Sequence[Row], texts: Sequence[str], questions: Mapping[Id, VisualQuestion]
) -> dict[Id, str]:
    said: dict[Id, str] = {}
    for number, (answer, text) in enumerate(zip(answers, texts, strict=True), 1):
        where = f"{path}, answer {number}"
        key = read_id(answer, where)
        if key not in questions:
            raise ValueError(f"{where} is about {describe(key)}, which the dataset does not have.")
        if key in said:
            raise ValueError(
                f"{where} is the second one to {describe(key)}; expected one. Remove one of them."
            )
        _check_question(answer, questions[key], where)
        said[key] = text
    return said


def _check_question(answer: Row, question: VisualQuestion, where: str) -> None:
    """Check that an answer which says what it answers says the same as the dataset."""
    said, asked = answer.get("question"), question.question
    if asked and isinstance(said, str) and said.strip() != asked.strip():
        raise ValueError(
            f"{where} belongs to {describe(question.id)}, but answers {said[:80]!r}; the dataset asks {asked[:80]!r} "
            "there. Are the answers in another order, or about another version of the questions?"
        )


def _text(answer: Row, where: str) -> str:
    field = next((field for field in (*ANSWER_FIELDS, *TEXT_FIELDS) if field in answer), None)
    if field is None:
        raise ValueError(f"{where} has no text; expected one of {', '.join(ANSWER_FIELDS)}.")
    if not isinstance(answer[field], str):
        raise ValueError(f"{where}: {field} is {answer[field]!r:.80}; expected the LVLM's text.")
    return answer[field]  # type: ignore[no-any-return]


def _read(path: Path, read: Read = json_rows) -> list[Row]:
    """The objects of a JSON list or of JSON lines."""
    rows = list(read(path))
    if not rows:
        raise ValueError(f"{path} holds nothing; expected one JSON object a question.")
    for where, row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{where} is {str(row)[:80]!r}; expected an object.")
    return [row for _, row in rows]


def _dataset(source: str) -> list[Row]:
    from datasets import load_dataset

    name, _, split = source.partition(":")
    dataset = load_dataset(name, split=split or "test")
    if missing := set(ID) - set(dataset.column_names):
        raise ValueError(
            f"The dataset {source} has no column {' or '.join(sorted(missing))}: not the dataset hallusionbench."
        )
    return list(dataset.remove_columns([column for column in ("image",) if column in dataset.column_names]))
