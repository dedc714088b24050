"""Reads POPE's rows: a question about one object in one image, with its right answer."""

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.opening import json_rows
from halluscope.inputs import is_id
from halluscope.judging.questions import OBJECT_ASKED
from halluscope.reading.datasets import Source, read_columns
from halluscope.sanitize import short_repr

SAMPLINGS = ("random", "popular", "adversarial")  # How POPE chooses the absent objects that it asks about

_ENDS_IN_ID = re.compile(r"(?<!\d)([0-9]{1,18})(?:\.\w{1,10})?$")

Row = TypeVar("Row", bound=Mapping[str, Any])


@dataclass(frozen=True)
class ObjectQuestion:
    """One row."""

    question_id: int  # unique within a sampling
    image_id: int  # the number at the end of the image's file name
    file_name: str  # the image's file name
    question: str  # the question put to the LVLM
    object: str  # the object that the question asks about
    answer: str  # the right answer, "yes" or "no"
    sampling: str  # how the absent objects were chosen: "random", "popular" or "adversarial"
    form: str = ""  # the row's parallel form; "" for the original
    labels: str = ""  # whose right answer this is: "repope" for RePOPE's corrected answer; "" for POPE's


@dataclass(frozen=True)
class LeftOut:
    """A question of POPE that RePOPE leaves out because it is ambiguous; responses to it are left out too."""

    question_id: int  # unique within a sampling
    sampling: str  # "random", "popular" or "adversarial"


REPOPE = "repope"
PER_SAMPLING = 3000  # How many questions each of POPE's samplings has, with the ids 1 to 3,000

COLUMNS = tuple(field.name for field in fields(ObjectQuestion))
# The values of absent columns: no file name or sampling (`pope_c`), the original form, POPE's own answers.
OTHERWISE = {"file_name": "", "sampling": "", "form": "", "labels": ""}
NEEDED = tuple(name for name in COLUMNS if name not in OTHERWISE)


def read_official(file: Path | zipfile.Path, sampling: str, labels: str = "") -> list[ObjectQuestion]:
    """Read a file of POPE's or RePOPE's authors: `question_id`, `image`, `text`, `label`, JSON lines or one JSON list.

    In a parallel form of the file (`halluscope parallel`) the question is rephrased, and a column names the `object`.
    LLaVA's file of all samplings has a `category`, and no `label` (`_labelled`).
    """
    rows = list(json_rows(file))
    if rows and all(isinstance(row, Mapping) and "label" not in row for _, row in rows):
        rows = _labelled(rows)
    questions = [_question(row, where, sampling, labels) for where, row in rows]
    ids = Counter((question.question_id, question.sampling) for question in questions)
    if not questions or ids.most_common(1)[0][1] > 1:
        what = f"question_id {ids.most_common(1)[0][0][0]} more than once" if questions else "no question"
        raise BuildError(f"{file} holds {what}; expected POPE's questions, each id once.")
    return questions


def _labelled(rows: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Add POPE's labels about COCO: every second adversarial object is absent; all samplings share the present ones."""
    asked = {where: (str(row.get("image")), plain(str(row.get("text")))) for where, row in rows}
    first = [asked[where] for where, row in rows if row.get("category") == "adversarial"]
    if hashlib.sha256(repr(first).encode()).hexdigest()[:12] != ADVERSARIAL:
        return list(rows)  # other questions, which are refused without their labels
    present = {*first[::2]}
    return [(where, {**row, "label": "yes" if asked[where] in present else "no"}) for where, row in rows]


def plain(text: str) -> str:
    """Return a question's first line with single spaces, and "image" for the "imange" of older versions."""
    return " ".join(text.partition("\n")[0].replace("imange", "image").split())


def irregular(questions: Sequence[ObjectQuestion]) -> dict[str, list[int]]:
    """Return, by property of POPE's files, the ids of the questions of one sampling that break it.

    "rows": the image has a different number of rows than the first image, or its rows are not together; "balance":
    different numbers of yes and no; "alternation": not yes, no, yes, ...; "contradiction": the object is both present
    and absent; "repetition": the same question was asked before.
    """
    images = [list(rows) for _, rows in groupby(questions, key=lambda question: question.file_name)]
    blocks = Counter(rows[0].file_name for rows in images)
    broken: dict[str, list[int]] = {}
    for rows in images:
        answers = [row.answer for row in rows]
        present = {row.object for row in rows if row.answer == "yes"}
        for name, breaks in {
            "rows": len(rows) != len(images[0]) or blocks[rows[0].file_name] > 1,
            "balance": answers.count("yes") != answers.count("no"),
            "alternation": answers != ["yes", "no"] * (len(rows) // 2),
        }.items():
            broken.setdefault(name, []).extend(row.question_id for row in rows if breaks)
        broken.setdefault("contradiction", []).extend(
            row.question_id for row in rows if row.answer == "no" and row.object in present
        )
        first: dict[str, int] = {}
        broken.setdefault("repetition", []).extend(
            row.question_id for i, row in enumerate(rows) if first.setdefault(row.object, i) != i
        )
    return {name: ids for name, ids in broken.items() if ids}


def unique_questions(rows: Iterable[Row]) -> tuple[list[Row], NDArray[np.int64]]:
    """Find the different (image, question) pairs, so that each is asked once and all rows are scored.

    The official 9,000 rows about COCO hold 5,127 pairs.

    Args:
        rows: rows with `question`, and `file_name` or `image_id`.

    Returns:
        The first row of each pair, and `index`, for each row the index of its pair. Given the `answers` to the first
        rows, `[answers[i] for i in index]` are the predictions for all rows.

    Raises:
        ValueError: for a row without a question or an image.
    """
    number: dict[tuple[Any, Any], int] = {}
    unique: list[Row] = []
    index: list[int] = []
    for i, row in enumerate(rows):
        image = row.get("file_name", row.get("image_id"))
        if image is None or row.get("question") is None:
            raise ValueError(
                f"rows[{i}] has no question, or neither file_name nor image_id: {short_repr(dict(row), 120)}."
            )
        place = number.setdefault((image, row["question"]), len(unique))
        if place == len(unique):
            unique.append(row)
        index.append(place)
    return unique, np.array(index, dtype=np.int64)


def load(sources: Sequence[str]) -> list[ObjectQuestion | LeftOut]:
    """Read questions from files of POPE's or RePOPE's authors (their names say which), or from built datasets.

    RePOPE's include those that it left out (`LeftOut`), in POPE's order, so responses to all of POPE's questions fit.
    """
    questions = [question for source in sources for question in _load(source)]
    if not (others := left_out(questions)):
        return list(questions)
    order = list(dict.fromkeys(question.sampling for question in questions))
    return sorted([*questions, *others], key=lambda one: (order.index(one.sampling), one.question_id))


def left_out(questions: Sequence[ObjectQuestion]) -> list[LeftOut]:
    """Return the questions that RePOPE's authors left out, in the samplings present; none for POPE's own rows."""
    known: dict[str, set[int]] = {}
    for question in questions:
        if question.labels == REPOPE and question.sampling:
            known.setdefault(question.sampling, set()).add(question.question_id)
    return [
        LeftOut(number, sampling)
        for sampling, ids in known.items()
        for number in range(1, PER_SAMPLING + 1)
        if number not in ids
    ]


def wanted(question: ObjectQuestion | LeftOut, *, sampling: str | None = None) -> bool:
    """Whether a question has a right answer and is in the sampling to score; without a sampling, any."""
    return isinstance(question, ObjectQuestion) and sampling in (None, question.sampling)


# The digest of POPE's adversarial questions about COCO: images and questions in their order
ADVERSARIAL = "3181f80cfba4"

# The digest of a sampling's first `HEAD` questions, one per line -> its name, and how many questions it has
HEAD = 30
HEADS = {
    "497b45fdcbf4": ("adversarial (COCO)", 3000),
    "d12a353c0e8a": ("popular (COCO)", 3000),
    "70c27b5f9bce": ("random (COCO)", 3000),
    "1ad0fe538332": ("random (COCO, 2023-05)", 2910),
    "96eb3cceb326": ("adversarial (RePOPE)", 2684),
    "a1dccd38ae48": ("popular (RePOPE)", 2727),
    "dc9035a3c265": ("random (RePOPE)", 2774),
    "dd3f265f8213": ("adversarial (A-OKVQA)", 3000),
    "84313b2a747b": ("popular (A-OKVQA)", 3000),
    "44cf2062869f": ("random (A-OKVQA)", 3000),
    "7e0ae3b73c10": ("adversarial (GQA)", 3000),
    "f9de8a69b265": ("popular (GQA)", 3000),
    "087150495e70": ("random (GQA)", 3000),
}

# The older versions of POPE's questions about COCO: (sampling, its rows, those that say "imange") -> when it was
# published. They have today's questions and labels, but for 90 random ones that were added later.
VERSIONS = {
    ("adversarial", 3000, 57): "2023-10",
    ("adversarial", 3000, 58): "2023-05",
    ("popular", 3000, 44): "2023-05",
    ("random", 2910, 144): "2023-05",
}


def version_of(questions: Sequence[ObjectQuestion | LeftOut], prompts: Sequence[str]) -> str:
    """Return which older versions of the samplings the prompts are from, such as "2023-05"; "" if they are of none."""
    rows = Counter(question.sampling for question in questions)
    asked = [prompt or getattr(one, "question", "") for one, prompt in zip(questions, prompts, strict=True)]
    old = Counter(one.sampling for one, text in zip(questions, asked, strict=True) if "imange" in text)
    return ",".join(sorted({VERSIONS.get((name, rows[name], old[name]), "") for name in rows} - {""}))


def known(asked: Sequence[str]) -> str | None:
    """Say which samplings some questions are, in their order; None if they are not like POPE's."""
    texts = [*map(plain, asked)]
    if not texts or sum(OBJECT_ASKED.fullmatch(text) is not None for text in texts) < 0.9 * len(texts):
        return None
    found: list[str] = []
    first = 0
    while first < len(texts):
        head = "\n".join(texts[first : first + HEAD])
        name, rows = HEADS.get(hashlib.sha256(head.encode()).hexdigest()[:12], ("", 0))
        if not rows:
            found.append(f"{len(texts) - first:,} questions in another order, or made anew")
            break
        there = min(rows, len(texts) - first)
        found.append(f"{name}{'' if there == rows else f', {there:,} of its {rows:,}'}")
        first += rows
    return "; ".join(found)


def inputs(questions: Sequence[ObjectQuestion], *, corrected: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    sampled = all(question.sampling for question in questions)
    other = {"corrected": corrections(questions, load(corrected))} if corrected else {}
    return {
        "references": [question.answer for question in questions],
        "objects": [question.object for question in questions],
        "sampling": [question.sampling for question in questions] if sampled else None,
        "image_ids": [question.file_name or question.image_id for question in questions],
        "questions": [question.question for question in questions],
        "forms": [question.form or "" for question in questions],
        **other,
    }


def corrections(
    questions: Sequence[ObjectQuestion], others: Sequence[ObjectQuestion | LeftOut]
) -> list[str | None]:
    """Return RePOPE's answer to each of POPE's questions, or None where RePOPE has no answer."""
    found = {(other.sampling, other.question_id): other for other in others}
    answers: list[str | None] = []
    for question in questions:
        other = found.get((question.sampling, question.question_id))
        if other is None or (isinstance(other, ObjectQuestion) and _asked(other) != _asked(question)):
            raise ValueError(
                f"corrected has no answer to question_id {question.question_id}, {question.sampling or 'no sampling'}: "
                f"{short_repr(question.question)}; expected RePOPE's answers to the questions of the dataset; they "
                "must be POPE's questions about COCO, with their samplings."
            )
        answers.append(other.answer if isinstance(other, ObjectQuestion) else None)
    return answers


def _asked(question: ObjectQuestion) -> tuple[str, str]:
    return question.file_name, question.question


def read_all(rows: Iterable[Any], where: str = "references") -> list[ObjectQuestion]:
    """Read rows of `pope` or `pope_c`."""
    return [read(row, f"{where}[{number}]") for number, row in enumerate(rows)]


def read(row: Any, where: str) -> ObjectQuestion:
    """Read a row; an `ObjectQuestion` is returned unchanged."""
    if isinstance(row, ObjectQuestion):
        return row
    if not isinstance(row, Mapping) or (missing := [name for name in NEEDED if name not in row]):
        lacks = f" It has no {', '.join(missing)}." if isinstance(row, Mapping) else ""
        raise ValueError(
            f"{where} is {short_repr(row)}; expected a row of the dataset pope or pope_c.{lacks}"
        )
    return ObjectQuestion(**(OTHERWISE | {name: row[name] for name in COLUMNS if name in row}))


def _load(written: str) -> list[ObjectQuestion]:
    source = Source.of(written)
    if source.is_json:
        name = source.path.name
        sampling = next((one for one in SAMPLINGS if one in name), "")
        return read_official(source.path, sampling, REPOPE if REPOPE in name else "")
    rows = read_columns(written, COLUMNS, NEEDED, "the dataset pope or pope_c")
    return [ObjectQuestion(**(OTHERWISE | row)) for row in rows]


def _question(row: Any, where: str, sampling: str, labels: str) -> ObjectQuestion:
    if not isinstance(row, Mapping) or not {"question_id", "image", "text", "label"} <= set(row):
        raise BuildError(f"{where}: expected question_id, image, text and label; got {short_repr(row, 120)}.")
    if row["label"] not in ("yes", "no"):
        raise BuildError(f"{where}: label is {short_repr(row['label'])}; expected 'yes' or 'no'.")
    if not is_id(row["question_id"]):
        raise BuildError(
            f"{where}: question_id is {short_repr(row['question_id'])}; expected a 64-bit whole number."
        )
    text = row["text"].partition("\n")[0] if isinstance(row["text"], str) else ""
    asked = row if text and isinstance(row.get("object"), str) else OBJECT_ASKED.fullmatch(plain(text))
    if not asked:
        raise BuildError(
            f"{where}: text is {short_repr(row['text'], 120)}; expected 'Is there a ... in the image?'."
        )
    number = _ENDS_IN_ID.search(row["image"]) if isinstance(row["image"], str) else None
    if not number:
        raise BuildError(
            f"{where}: image is {short_repr(row['image'])}; expected a file name that ends in an id."
        )
    return ObjectQuestion(
        question_id=row["question_id"],
        image_id=int(number[1]),
        file_name=row["image"],
        question=text,
        object=asked["object"],
        answer=row["label"],
        sampling=row["category"] if row.get("category") in SAMPLINGS else sampling,
        form=str(row.get("form") or ""),
        labels=labels,
    )
