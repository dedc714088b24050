"""Sheets on which people mark which classes a response implies; the marks show a judge's errors.

People read each whole text. There is one row per class that a judge read out of the text, or that the text has a word
for; the last row of a text asks about all other classes. So every class of a marked text has a label, and the chance
that the label was asked for is the chance that the text was drawn. Texts are in random order: a person who stops early
has marked a random part of the sample.
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.foreign import brief
from halluscope.options import nearest
from halluscope.reliability.review.making import Drawn, whole
from halluscope.reliability.review.readings import words_of
from halluscope.reliability.review.sheet import IMPLIED, OTHERS, Entry, Sheet
from halluscope.signature import signature
from halluscope.vocabularies import Vocabulary

ANY_OTHER = "Any other class?"


@dataclass(frozen=True)
class ToRead:
    """A text that was drawn.

    Attributes:
        id: the id of its image.
        text: the LVLM's response.
        digest: the sha256 of the text, in hexadecimal digits.
        chance: the probability that the text was drawn, in (0, 1].
        candidates: the names of the classes that have a row of their own.
    """

    id: str
    text: str
    digest: str
    chance: float
    candidates: Collection[str]


@dataclass(frozen=True)
class Answers:
    """The classes that a text implies, by people's marks.

    Attributes:
        text: the sha256 of the text, in hexadecimal digits.
        chance: the probability that the text was drawn and marked, in (0, 1].
        implied: all classes that the text implies.
    """

    text: str
    chance: float
    implied: frozenset[str]


def rows(drawn: Sequence[ToRead], vocabulary: Vocabulary, drawn_from: str, seed: int = 0) -> list[Drawn]:
    """Return the rows of a sheet, with the rows of each text together and the texts in random order.

    Args:
        drawn: the texts.
        vocabulary: the classes that are asked about.
        drawn_from: the name of the texts from which these were drawn.
        seed: the seed of the order.
    """
    order = random.Random(seed)
    words = words_of({*vocabulary.classes})
    found = []
    for one in sorted(drawn, key=lambda _: order.random()):
        of = {"id": one.id, "drawn_from": drawn_from, "text": one.digest, "chance": _plain(one.chance)}
        named = [name for name in vocabulary.classes if name in one.candidates]
        entries = [{"class": name, "question": words.get(name, name)} for name in named]
        entries.append({"class": "", "question": ANY_OTHER})
        entries[0]["response"] = one.text
        found += [Drawn(whole(of | entry), None) for entry in entries]
    return found


def answers(sheet: Sheet, vocabulary: Vocabulary) -> list[Answers]:
    """Return the marks of each text whose rows are all marked.

    The chance of each such text is multiplied by the share of texts that are fully marked: the others count as never
    drawn.

    Raises:
        ValueError: for a sheet of another kind, a class that the vocabulary does not have, marks that contradict each
            other, or no text that is fully marked.
    """
    if sheet.kind != IMPLIED:
        raise ValueError(
            f"The sheet {sheet.name} has the marks {', '.join(sheet.marks)}; expected one made with --marks {IMPLIED}."
        )
    left = _left(sheet)
    read = {text: entries for text, entries in _by_text(sheet.entries).items() if text not in left}
    if not read:
        raise ValueError(
            f"No text of the sheet {sheet.name} has a mark in each of its rows; mark all rows of at least one text."
        )
    share = len(read) / len(read.keys() | left)
    return [
        Answers(text, share * _chance(entries[0], sheet), _implied(entries, vocabulary, sheet))
        for text, entries in read.items()
    ]


def summary(sheet: Sheet) -> dict[str, Any]:
    """Count how much of a sheet is marked.

    Returns:
        `sheet`, its name; `texts`, the number of texts; `unmarked_texts`, how many of them have a row without a mark;
        `marked`, the number of rows of the other texts; `marks`, how many of these rows have each mark; `signature`.
    """
    left = _left(sheet)
    marked = [entry for entry in sheet.entries if entry["text"] not in left]
    counts = Counter(entry["mark"] for entry in marked)
    return {
        "sheet": sheet.name,
        "texts": len(_by_text(sheet.entries).keys() | left),
        "unmarked_texts": len(left),
        "marked": len(marked),
        "marks": {mark: counts[mark] for mark in (*sheet.marks, *OTHERS)},
        "signature": signature("review", data=sheet.name, marks=IMPLIED),
    }


def drawn_from(sheet: Sheet) -> str:
    """Return the name of the texts from which a sheet's texts were drawn."""
    return sheet.entries[0]["drawn_from"]


def _by_text(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    texts: dict[str, list[Entry]] = {}
    for entry in entries:
        texts.setdefault(entry["text"], []).append(entry)
    return texts


def _left(sheet: Sheet) -> set[str]:
    """Return the texts that have a row without a mark."""
    return {entry["text"] for entry in sheet.left}


def _implied(entries: Sequence[Entry], vocabulary: Vocabulary, sheet: Sheet) -> frozenset[str]:
    """Return the classes that a text implies, by the marks of its rows."""
    marks = {entry["class"]: entry["mark"] for entry in entries}
    last = next(entry for entry in entries if not entry["class"])
    where = f"Row {last['row']} of the sheet {sheet.name}"
    others = [_known(name, vocabulary, where) for name in map(str.strip, last["note"].split(",")) if name]
    if (last["mark"] == OTHERS[1]) != bool(others):
        raise ValueError(
            f"{where} is marked {last['mark']!r}, but its note is {brief(last['note'])}; expected the names of classes "
            f"with {OTHERS[1]!r}, and no note with {OTHERS[0]!r}."
        )
    if denied := [name for name in others if marks.get(name) == sheet.marks[1]]:
        raise ValueError(
            f"{where} names {brief(denied[0])}, which has a row of its own that is marked {sheet.marks[1]!r}. Correct "
            "one of the two."
        )
    return frozenset({*others, *(name for name, mark in marks.items() if name and mark == sheet.marks[0])})


def _known(name: str, vocabulary: Vocabulary, where: str) -> str:
    """Return a class by its name, in upper or lower case."""
    found = next((cls for cls in vocabulary.classes if cls.casefold() == name.casefold()), None)
    if found is None:
        raise ValueError(
            f"{where} names {brief(name)}, which is not a class of the vocabulary {vocabulary.name!r}."
            f"{nearest(name, vocabulary.classes)} Correct the note."
        )
    return found


def _plain(chance: float) -> str:
    """Return a chance in plain digits, which no spreadsheet rewrites."""
    return f"{chance:.9f}".rstrip("0").rstrip(".")


def _chance(entry: Entry, sheet: Sheet) -> float:
    try:
        chance = float(entry["chance"].replace(",", "."))
    except ValueError:
        chance = 0.0
    if not 0 < chance <= 1:
        raise ValueError(
            f"Row {entry['row']} of the sheet {sheet.name} has the chance {brief(entry['chance'])}; expected the "
            "number between 0 and 1 that the sheet was made with."
        )
    return chance
