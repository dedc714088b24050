"""POPE's rows: a question about one object of one image, with its answer; and reading the files that hold them."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.records.files import json_rows
from halluscope.vocabularies import Vocabulary

SAMPLINGS = ("random", "popular", "adversarial")
"""How POPE chooses the absent objects that it asks about."""

ASKED = re.compile(r"Is there (?:an? )?(?P<object>.+) in the image\?")
"""POPE's question (section 5.1)."""

Row = TypeVar("Row", bound=Mapping[str, Any])


@dataclass(frozen=True)
class ObjectQuestion:
    """One row.

    Attributes:
        question_id: unique within a sampling.
        image_id: the number at the end of the image's file name.
        file_name: of the image.
        question: as it is put to the LVLM.
        object: what it asks for.
        answer: "yes" or "no".
        sampling: how the absent objects were chosen: "random", "popular" or "adversarial".
    """

    question_id: int
    image_id: int
    file_name: str
    question: str
    object: str
    answer: str
    sampling: str


def read_official(file: Path | zipfile.Path, sampling: str) -> list[ObjectQuestion]:
    """Read a file of POPE's authors: `question_id`, `image`, `text`, `label`, as JSON lines or one JSON list.

    Its parallel form (`halluscope parallel`) asks in other words, and names the `object` beside.

    Raises:
        BuildError: for a row that is cut off or lacks something, a label other than yes and no, another question
            than POPE's, a file name without a number, or a question_id that comes twice.
    """
    questions = [_question(row, where, sampling) for where, row in json_rows(file)]
    ids = Counter(question.question_id for question in questions)
    if not questions or ids.most_common(1)[0][1] > 1:
        what = f"question_id {ids.most_common(1)[0][0]} more than once" if questions else "no question"
        raise BuildError(f"{file} holds {what}; expected POPE's questions, each id once.")
    return questions


def irregular(questions: Sequence[ObjectQuestion]) -> dict[str, list[int]]:
    """The question ids that break a property of POPE's files, by property; a property that holds is left out.

    Args:
        questions: of one sampling, in their order.

    Returns:
        "rows": its image has another number of rows than the first, or they do not lie together; "balance": its
        image has not as many yes as no; "alternation": its image's answers are not yes, no, yes, ...;
        "contradiction": its object is both present and absent; "repetition": the same question was put before.
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
        asked = [row.object for row in rows]
        broken.setdefault("repetition", []).extend(
            row.question_id for i, row in enumerate(rows) if row.object in asked[:i]
        )
    return {name: ids for name, ids in broken.items() if ids}


def unique_questions(rows: Iterable[Row]) -> tuple[list[Row], NDArray[np.int64]]:
    """Find the different (image, question) pairs, so that each is asked once and all rows are scored.

    The official 9,000 rows about COCO hold 5,127 pairs.

    Args:
        rows: with `question`, and `file_name` or `image_id`.

    Returns:
        The first row of each pair, and for each row the place of its pair: with `answers` to the first,
        `[answers[i] for i in index]` are the predictions for all rows.

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
                f"rows[{i}] has no question, or neither file_name nor image_id: {dict(row)!r:.120}."
            )
        place = number.setdefault((image, row["question"]), len(unique))
        if place == len(unique):
            unique.append(row)
        index.append(place)
    return unique, np.array(index, dtype=np.int64)


def cells(
    questions: Iterable[ObjectQuestion], image_ids: Sequence[int], vocabulary: Vocabulary
) -> NDArray[np.bool_]:
    """Which cells [images, classes] the questions ask about, of the images in the order of `image_ids`.

    Raises:
        ValueError: for an object outside the vocabulary, or if no question is about any of the images.
    """
    row = {image_id: i for i, image_id in enumerate(image_ids)}
    asked: list[list[str]] = [[] for _ in image_ids]
    for question in questions:
        if question.image_id in row:
            asked[row[question.image_id]].append(question.object)
    if not any(asked):
        raise ValueError(
            f"No question is about any of the {len(image_ids):,} images; expected questions about the same images."
        )
    return vocabulary.presence(asked)


def _question(row: Any, where: str, sampling: str) -> ObjectQuestion:
    if not isinstance(row, Mapping) or not {"question_id", "image", "text", "label"} <= set(row):
        raise BuildError(f"{where}: expected question_id, image, text and label; got {str(row)[:120]}.")
    if row["label"] not in ("yes", "no"):
        raise BuildError(f"{where}: label is {row['label']!r:.80}; expected 'yes' or 'no'.")
    if type(row["question_id"]) is not int:
        raise BuildError(f"{where}: question_id is {row['question_id']!r:.80}; expected a whole number.")
    asked = row if isinstance(row.get("object"), str) else ASKED.fullmatch(str(row["text"]))
    if not asked:
        raise BuildError(f"{where}: text is {row['text']!r:.120}; expected 'Is there a ... in the image?'.")
    number = re.search(r"(\d+)(?:\.\w+)?$", str(row["image"]))
    if not number:
        raise BuildError(f"{where}: image is {row['image']!r:.80}; expected a file name that ends in an id.")
    return ObjectQuestion(
        question_id=row["question_id"],
        image_id=int(number[1]),
        file_name=row["image"],
        question=row["text"],
        object=asked["object"],
        answer=row["label"],
        sampling=sampling,
    )
