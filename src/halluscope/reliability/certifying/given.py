"""Reads labels: from a marked sheet (`halluscope review make --marks implied`), or from JSON lines.

A line is {id or text, class, answer, [weight]}. A weight is 1 / the probability that the label was asked for. Without
weights, every class of each labelled text must have a label, and each text is assumed to be equally likely to be drawn.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.files.opening import json_rows
from halluscope.foreign import brief
from halluscope.numbers import finite
from halluscope.reliability.certifying.labels import (
    LARGEST_WEIGHT,
    Labelled,
    Labels,
    Population,
    check_texts,
    digest,
)
from halluscope.reliability.review import implied
from halluscope.reliability.review.sheet import read_sheet
from halluscope.vocabularies import Vocabulary

JSON = (".jsonl", ".json", ".gz")
ANSWERS: Mapping[Any, bool] = {"yes": True, "no": False, True: True, False: False}
"""The accepted answers; 1 and 0 also count as True and False."""


def read(path: Path, population: Population, vocabulary: Vocabulary, allow_unmarked: bool = False) -> Labels:
    """Read labels.

    Args:
        path: a marked sheet, or JSON lines.
        population: the texts that the labels are about.
        vocabulary: the classes that they are about.
        allow_unmarked: whether to leave out texts of the sheet whose rows are not all marked.

    Raises:
        ValueError: for labels in another format, for labels of other texts or classes, for labels that contradict each
            other, or if there are no weights though not every class of each text has a label.
        FileNotFoundError: if there is no such file.
    """
    found = (
        _of_lines(path, population, vocabulary)
        if path.suffix in JSON
        else _of_sheet(path, vocabulary, population, allow_unmarked)
    )
    check_texts((one.text for one in found.texts), population.places, str(path))
    return found


def _of_sheet(path: Path, vocabulary: Vocabulary, population: Population, allow_unmarked: bool) -> Labels:
    sheet = read_sheet(path, allow_unmarked)
    answers = implied.answers(sheet, vocabulary)
    if (drawn_from := implied.drawn_from(sheet)) != population.name:
        raise ValueError(
            f"The sheet {sheet.name} was drawn from {brief(drawn_from)}, but the responses are {population.name}. The "
            "sheet's weights hold only for the texts that it was drawn from; name the same responses and the same part."
        )
    return Labels(
        sheet.name,
        [
            Labelled(
                one.text,
                {name: name in one.implied for name in vocabulary.classes},
                dict.fromkeys(vocabulary.classes, one.chance),
            )
            for one in answers
        ],
    )


@dataclass(frozen=True)
class _Line:
    """A line of JSON with a label; its weight is 0 if the line gives none."""

    text: str
    name: str
    implied: bool
    weight: float


def _of_lines(path: Path, population: Population, vocabulary: Vocabulary) -> Labels:
    of_id = dict(zip(population.ids, map(digest, population.texts), strict=True))
    lines: dict[tuple[str, str], _Line] = {}
    for where, row in json_rows(path):
        line = _line(row, where, of_id, vocabulary)
        if lines.setdefault((line.text, line.name), line) != line:
            raise ValueError(
                f"{where}: an earlier line gives another label of the class {brief(line.name)} for the same text; "
                "expected one label. Remove one of the two."
            )
    if not lines:
        raise ValueError(f"{path} holds no labels; expected JSON lines with id or text, class and answer.")
    by_text: dict[str, list[_Line]] = {}
    for line in lines.values():
        by_text.setdefault(line.text, []).append(line)
    _check_weights(list(lines.values()), by_text, vocabulary, path)
    evenly = len(by_text) / len(population.places)
    name = hashlib.sha256(repr(sorted(map(repr, lines.values()))).encode()).hexdigest()[:8]
    return Labels(
        f"labels-{name}",
        [
            Labelled(
                text,
                {line.name: line.implied for line in of},
                {line.name: 1 / line.weight if line.weight else evenly for line in of},
            )
            for text, of in by_text.items()
        ],
    )


def _check_weights(
    lines: Sequence[_Line], by_text: Mapping[str, Sequence[_Line]], vocabulary: Vocabulary, path: Path
) -> None:
    """Check that all labels have a weight, or that none has and every class of each text has a label.

    Raises:
        ValueError: otherwise.
    """
    weighted = sum(line.weight > 0 for line in lines)
    if weighted not in (0, len(lines)):
        raise ValueError(
            f"{path} has a weight in {weighted:,} of {len(lines):,} lines; expected a weight in all lines or in none."
        )
    part = [text for text, of in by_text.items() if len(of) < len(vocabulary.classes)]
    if not weighted and part:
        raise ValueError(
            f"{path} has no weights, and {len(part):,} of its {len(by_text):,} texts do not have a label for all "
            f"{len(vocabulary.classes):,} classes. The choice of classes would then bias each estimate: label every "
            "class of these texts, or give each line its weight, 1 / the probability that the label was asked for."
        )


def _line(row: Any, where: str, of_id: Mapping[str, str], vocabulary: Vocabulary) -> _Line:
    expected = "expected an object with id or text, class, answer (yes or no) and perhaps weight"
    if not isinstance(row, dict) or ("id" in row) == ("text" in row):
        raise ValueError(f"{where}: {expected}; got {brief(row)}.")
    name, answer = row.get("class"), row.get("answer")
    if name not in vocabulary.classes:
        raise ValueError(
            f"{where}: class is {brief(name)}, which the vocabulary {vocabulary.name!r} does not have."
        )
    if not isinstance(answer, str | bool | int) or answer not in ANSWERS:
        raise ValueError(f"{where}: answer is {brief(answer)}; expected yes or no.")
    weight = finite("weight", row["weight"], 1, LARGEST_WEIGHT) if "weight" in row else 0.0
    if "text" in row:
        if not isinstance(row["text"], str):
            raise ValueError(f"{where}: text is {brief(row['text'])}; expected a text.")
        return _Line(digest(row["text"]), name, ANSWERS[answer], weight)
    if str(row["id"]) not in of_id:
        raise ValueError(
            f"{where}: no response has the id {brief(row['id'])}; expected one of the responses' ids."
        )
    return _Line(of_id[str(row["id"])], name, ANSWERS[answer], weight)
