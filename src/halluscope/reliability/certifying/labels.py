"""Labels that people, or another reader, gave to a sample of texts: which classes each text implies.

They are read from a marked sheet (`halluscope review make --marks implied`), or from JSON lines {id or text, class,
answer, [weight]}. A weight is 1 / the probability that the label was asked for. Without weights, every class of each
labelled text must have a label, and each text is assumed to be equally likely to be drawn.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from halluscope.files.opening import json_rows
from halluscope.inputs import finite
from halluscope.judging.cache import sha256
from halluscope.options import nearest
from halluscope.reliability.review.sheet import IMPLIED, OTHERS, Entry, Sheet, read_sheet
from halluscope.sanitize import short_repr
from halluscope.signature import data_of, signature
from halluscope.vocabularies import Vocabulary

PEOPLE = "people"
LARGEST_WEIGHT = 1e9  # of a label: 1 / the chance that it was asked for
JSON = (".jsonl", ".json", ".gz")
ANSWERS: Mapping[Any, bool] = {"yes": True, "no": False, True: True, False: False}  # 1 and 0 too


@dataclass(frozen=True)
class Labelled:
    """A labelled text."""

    text: str  # its sha256, in hexadecimal digits
    answers: Mapping[str, bool]  # class -> whether the text implies it, for the classes that were asked about
    chances: Mapping[str, float]  # class -> the probability that its label was asked for, in (0, 1]


@dataclass(frozen=True)
class Labels:
    """The labels of a sample of texts, each once; the name is the sheet's, or "labels-" and a digest."""

    name: str
    texts: Sequence[Labelled]


@dataclass(frozen=True)
class Population:
    """All texts that are scored, one per image, from which the labelled texts were drawn."""

    texts: Sequence[str]
    ids: Sequence[str]  # of the images

    @cached_property
    def rows(self) -> dict[str, int]:
        """The sha256 of each text -> the first row that has it."""
        rows: dict[str, int] = {}
        for row, text in enumerate(self.texts):
            rows.setdefault(digest(text), row)
        return rows

    @property
    def name(self) -> str:
        """The name that identifies these texts, in any order."""
        return name_of(self.rows)


def digest(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal digits."""
    return sha256(text).hex()


def name_of(digests: Iterable[str]) -> str:
    """Return the name that identifies texts by their sha256s."""
    return data_of("texts", ([digest] for digest in digests))


def check_texts(labelled: Iterable[str], known: Mapping[str, Any], where: str) -> None:
    """Check that labelled texts are among those that are scored."""
    if others := [text for text in labelled if text not in known]:
        raise ValueError(
            f"{where} has labels for {len(others):,} texts that are not among the {len(known):,} different texts of "
            f"the responses, such as the text with the sha256 {others[0][:12]}.... Expected labels for texts of "
            "these responses."
        )


def read(path: Path, population: Population, vocabulary: Vocabulary, allow_unmarked: bool = False) -> Labels:
    """Read labels of the population's texts, from JSON lines or from a sheet, perhaps without its unmarked texts."""
    labels = (
        _of_lines(path, population, vocabulary)
        if path.suffix in JSON
        else _of_sheet(read_sheet(path, allow_unmarked), population, vocabulary)
    )
    check_texts((labelled.text for labelled in labels.texts), population.rows, str(path))
    return labels


def summary(sheet: Sheet) -> dict[str, Any]:
    """Count how much of a sheet is marked: texts, and the rows of those texts whose rows are all marked."""
    complete, left = _by_text(sheet)
    counts = Counter(entry["mark"] for entries in complete.values() for entry in entries)
    return {
        "sheet": sheet.name,
        "texts": len(complete) + len(left),
        "unmarked_texts": len(left),
        "marked": counts.total(),
        "marks": {mark: counts[mark] for mark in (*sheet.marks, *OTHERS)},
        "signature": signature("review", data=sheet.name, marks=IMPLIED),
    }


def _by_text(sheet: Sheet) -> tuple[dict[str, list[Entry]], set[str]]:
    """Return the rows of each text whose rows are all marked, and the other texts."""
    left = {entry["text"] for entry in sheet.left}
    complete: dict[str, list[Entry]] = {}
    for entry in sheet.entries:
        if entry["text"] not in left:
            complete.setdefault(entry["text"], []).append(entry)
    return complete, left


def _of_sheet(sheet: Sheet, population: Population, vocabulary: Vocabulary) -> Labels:
    if sheet.kind != IMPLIED:
        raise ValueError(
            f"The sheet {sheet.name} has the marks {', '.join(sheet.marks)}; expected one made with --marks {IMPLIED}."
        )
    complete, left = _by_text(sheet)
    if not complete:
        raise ValueError(
            f"No text of the sheet {sheet.name} has a mark in each of its rows; mark all rows of at least one text."
        )
    if (drawn_from := sheet.entries[0]["drawn_from"]) != population.name:
        raise ValueError(
            f"The sheet {sheet.name} was drawn from {short_repr(drawn_from)}, but the responses are "
            f"{population.name}. The "
            "sheet's weights hold only for the texts that it was drawn from; name the same responses and the same part."
        )
    share = len(complete) / (len(complete) + len(left))  # other texts count as never drawn
    labels = []
    for text, entries in complete.items():
        implied = _implied(entries, vocabulary, sheet)
        chance = share * _chance(entries[0], sheet)
        answers = {name: name in implied for name in vocabulary.classes}
        labels.append(Labelled(text, answers, dict.fromkeys(vocabulary.classes, chance)))
    return Labels(sheet.name, labels)


def _implied(entries: Sequence[Entry], vocabulary: Vocabulary, sheet: Sheet) -> set[str]:
    """Return the classes that a text implies, by the marks of its rows."""
    marks = {entry["class"]: entry["mark"] for entry in entries}
    last = next(entry for entry in entries if not entry["class"])
    where = f"Row {last['row']} of the sheet {sheet.name}"
    classes = {name.casefold(): name for name in vocabulary.classes}
    others = []
    for name in filter(None, map(str.strip, last["note"].split(","))):
        if name.casefold() not in classes:
            raise ValueError(
                f"{where} names {short_repr(name)}, which is not a class of the vocabulary {vocabulary.name!r}."
                f"{nearest(name, vocabulary.classes)} Correct the note."
            )
        others.append(classes[name.casefold()])
    if (last["mark"] == OTHERS[1]) != bool(others):
        raise ValueError(
            f"{where} is marked {last['mark']!r}, but its note is {short_repr(last['note'])}; expected the names of "
            f"classes with {OTHERS[1]!r}, and no note with {OTHERS[0]!r}."
        )
    if denied := [name for name in others if marks.get(name) == sheet.marks[1]]:
        raise ValueError(
            f"{where} names {short_repr(denied[0])}, which has a row of its own that is marked {sheet.marks[1]!r}. "
            "Correct one of the two."
        )
    return {*others, *(name for name, mark in marks.items() if name and mark == sheet.marks[0])}


def _chance(entry: Entry, sheet: Sheet) -> float:
    try:
        chance = float(entry["chance"].replace(",", "."))
    except ValueError:
        chance = 0.0
    if not 0 < chance <= 1:
        raise ValueError(
            f"Row {entry['row']} of the sheet {sheet.name} has the chance {short_repr(entry['chance'])}; expected the "
            "number between 0 and 1 that the sheet was made with."
        )
    return chance


@dataclass(frozen=True)
class _Line:
    """A line of JSON with a label; its weight is 0 if the line gives none."""

    text: str
    name: str
    implied: bool
    weight: float


def _of_lines(path: Path, population: Population, vocabulary: Vocabulary) -> Labels:
    digests = dict(zip(population.ids, map(digest, population.texts), strict=True))
    lines: dict[tuple[str, str], _Line] = {}
    for where, row in json_rows(path):
        line = _line(row, where, digests, vocabulary)
        if lines.setdefault((line.text, line.name), line) != line:
            raise ValueError(
                f"{where}: an earlier line gives another label of the class {short_repr(line.name)} for the same text; "
                "expected one label. Remove one of the two."
            )
    if not lines:
        raise ValueError(f"{path} holds no labels; expected JSON lines with id or text, class and answer.")
    texts: dict[str, list[_Line]] = {}
    for line in lines.values():
        texts.setdefault(line.text, []).append(line)
    weighted = sum(line.weight > 0 for line in lines.values())
    if weighted not in (0, len(lines)):
        raise ValueError(
            f"{path} has a weight in {weighted:,} of {len(lines):,} lines; expected a weight in all lines or in none."
        )
    part = [text for text, own in texts.items() if len(own) < len(vocabulary.classes)]
    if not weighted and part:
        raise ValueError(
            f"{path} has no weights, and {len(part):,} of its {len(texts):,} texts do not have a label for all "
            f"{len(vocabulary.classes):,} classes. The choice of classes would then bias each estimate: label every "
            "class of these texts, or give each line its weight, 1 / the probability that the label was asked for."
        )
    evenly = len(texts) / len(population.rows)
    name = hashlib.sha256(repr(sorted(map(repr, lines.values()))).encode()).hexdigest()[:8]
    labels = [
        Labelled(
            text,
            {line.name: line.implied for line in own},
            {line.name: 1 / line.weight if line.weight else evenly for line in own},
        )
        for text, own in texts.items()
    ]
    return Labels(f"labels-{name}", labels)


def _line(row: Any, where: str, digests: Mapping[str, str], vocabulary: Vocabulary) -> _Line:
    expected = "expected an object with id or text, class, answer (yes or no) and perhaps weight"
    if not isinstance(row, dict) or ("id" in row) == ("text" in row):
        raise ValueError(f"{where}: {expected}; got {short_repr(row)}.")
    name, answer = row.get("class"), row.get("answer")
    if name not in vocabulary.classes:
        raise ValueError(
            f"{where}: class is {short_repr(name)}, which the vocabulary {vocabulary.name!r} does not have."
        )
    if not isinstance(answer, str | bool | int) or answer not in ANSWERS:
        raise ValueError(f"{where}: answer is {short_repr(answer)}; expected yes or no.")
    weight = finite("weight", row["weight"], 1, LARGEST_WEIGHT) if "weight" in row else 0.0
    if "text" in row:
        if not isinstance(row["text"], str):
            raise ValueError(f"{where}: text is {short_repr(row['text'])}; expected a text.")
        return _Line(digest(row["text"]), name, ANSWERS[answer], weight)
    if str(row["id"]) not in digests:
        raise ValueError(
            f"{where}: no response has the id {short_repr(row['id'])}; expected one of the responses' ids."
        )
    return _Line(digests[str(row["id"])], name, ANSWERS[answer], weight)
