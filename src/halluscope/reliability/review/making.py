"""Makes review sheets: a sample of rows, drawn by a seed, as a page for the browser and as CSV."""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.files.writing import new_folder
from halluscope.reading.pictures import open_named, open_stored
from halluscope.reading.rows import picture_columns, without_pictures
from halluscope.reliability.parallel import ANSWERS, OPTIONS, QUESTIONS
from halluscope.reliability.review.sheet import (
    COLUMNS,
    IMPLIED,
    MARKS,
    OTHERS,
    READING,
    Entry,
    cells,
    marks_of,
    name_of,
    to_csv,
)
from halluscope.reporting.page.sealed import data_uri, template
from halluscope.responses import files
from halluscope.responses.files import TEXTS, text_of

IDS = ("question_id", "id", "image_id")
FILES = ("file_name", "filename", "image")
LARGEST_SIDE = 1280
SHEET, PAGE = "sheet.csv", "page.html"

ASKS = {
    "valid": "Are the question and its answer right, clear and unambiguous?",
    READING: "Mark it right if the response says or implies it. If it is right but not annotated, it may be a "
    "hallucination (nothing like it is there) or a misclassification (something else is there).",
    IMPLIED: "Does the response say or imply that this is in the image? In the last row, mark whether it implies "
    "any other class of the list, and name each one.",
}
"""The marks -> the question at the top of a page."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A row of a sheet, and its image, if it has one, as a data URI."""

    entry: dict[str, str]
    image: str | None


def draw(
    rows: Any,
    sample: int,
    seed: int = 0,
    *,
    stratum: str | None = None,
    responses: Mapping[str, Sequence[Row]] | None = None,
    images: Path | None = None,
    folder: Path | None = None,
) -> list[Drawn]:
    """Draw a sample of rows.

    Args:
        rows: rows from `halluscope.reading.rows.read_rows`.
        sample: how many rows to draw; with `stratum`, how many from each stratum (all rows, if it has fewer).
        seed: the seed of the draw.
        stratum: the column that names the stratum of a row.
        responses: a model's name -> its responses; the sheet then has one row per model and drawn row, with the models
            in an order that the reviewer cannot guess.
        images: the folder of the image files that rows name.
        folder: the dataset's own folder, if it has one, which may also hold image files.

    Returns:
        The rows in the order of the dataset.

    Raises:
        ValueError: for more rows than there are, a row without the stratum or a question, a response that is missing or
            repeated, or an image that is missing.
    """
    table = without_pictures(rows)
    generator = random.Random(seed)
    keys = [generator.random() for _ in range(len(table))]
    strata: dict[str, list[int]] = {}
    for place, row in enumerate(table):
        strata.setdefault(_stratum(row, stratum, place), []).append(place)
    most = len(table) if stratum is None else max(map(len, strata.values()))
    if not 1 <= sample <= most:
        raise ValueError(f"The sample is {sample:,}; expected 1 to {most:,} rows.")
    of = {name: sorted(places, key=keys.__getitem__)[:sample] for name, places in strata.items()}
    drawn = sorted((place, name) for name, places in of.items() for place in places)
    key, said = _by_key(responses or {}, table[0])
    found = []
    for place, name in drawn:
        row = table[place]
        entry = identify(row, place) | (
            {} if stratum is None else {"stratum": name, "stratum_rows": str(len(strata[name]))}
        )
        image = image_of(rows, place, row, images, folder)
        for model in sorted(said, key=lambda _: generator.random()):
            answer = said[model].get(str(row.get(key)))
            if answer is None:
                raise ValueError(
                    f"{model} has no response to the drawn row with the {key} {row.get(key)!r:.80}."
                )
            found.append(Drawn(whole(entry | {"model": model, "response": answer}), image))
        if not said:
            found.append(Drawn(whole(entry), image))
    return found


def write(drawn: Sequence[Drawn], folder: Path, marks: str, title: str, classes: Sequence[str] = ()) -> str:
    """Write the sheet into a folder as sheet.csv and page.html, both or neither, and return its name.

    Args:
        drawn: the rows of the sheet; rows about one text follow each other.
        folder: the folder for the files.
        marks: which of `MARKS` the sheet offers.
        title: the title of the page.
        classes: the classes that the page suggests where other classes may be named.

    Raises:
        ValueError: for unknown marks, or a folder that holds a sheet or a page already.
        OSError: if they cannot be written.
    """
    if marks not in MARKS:
        raise ValueError(f"marks is {marks!r:.80}; expected {' or '.join(MARKS)}.")
    check_folder(folder)
    name = name_of([one.entry for one in drawn], marks)
    entries = [
        {**one.entry, "sheet": name, "row": str(number), "mark": "", "note": ""}
        for number, one in enumerate(drawn, 1)
    ]
    columns = [
        column
        for column in COLUMNS
        if column in ("mark", "note") or any(entry.get(column) for entry in entries)
    ]
    page = _page(entries, [one.image for one in drawn], columns, marks, title, classes)
    with new_folder(folder) as new:
        (new / SHEET).write_text(to_csv(entries, columns), encoding="utf-8-sig", newline="")
        (new / PAGE).write_text(page, encoding="utf-8", newline="")
    return name


def check_folder(folder: Path) -> None:
    """Check that a folder holds no sheet yet.

    Raises:
        ValueError: if it holds one.
    """
    for what, file in (("sheet", folder / SHEET), ("page", folder / PAGE)):
        if os.path.lexists(file):
            raise ValueError(
                f"{folder} holds a {what} already; name another folder, so that no marks are lost."
            )


def read_responses(given: Sequence[str]) -> dict[str, list[Row]]:
    """Read files of models' responses, each under its own name; each text is in `response`.

    Raises:
        ValueError: as `halluscope.responses.files.read`.
    """
    return {
        one.name: [{**response.row, "response": response.text} for response in one.each]
        for one in files.read(given)
    }


def _page(
    entries: Sequence[Entry],
    images: Sequence[str | None],
    columns: Sequence[str],
    marks: str,
    title: str,
    classes: Sequence[str],
) -> str:
    pictures = {image: place for place, image in enumerate(dict.fromkeys(filter(None, images)))}
    return template(__package__).render(
        title=title,
        asks=ASKS.get(marks, f"Do you agree with the {'response' if 'response' in columns else 'answer'}?"),
        marks=MARKS[marks],
        cards=[
            [(entry, pictures.get(image or ""), marks_of(marks, entry)) for entry, image in card]
            for card in _cards(entries, images)
        ],
        count=len(entries),
        others=OTHERS,
        data={
            "columns": list(columns),
            "rows": [cells(entry, columns) for entry in entries],
            "pictures": list(pictures),
            "classes": list(classes),
        },
        sheet=entries[0]["sheet"],
    )


def _cards(entries: Sequence[Entry], images: Sequence[str | None]) -> list[list[tuple[Entry, str | None]]]:
    """Group the rows for the cards of a page: rows about one text together, and any other row by itself."""
    numbered = enumerate(zip(entries, images, strict=True))
    by_text = groupby(numbered, lambda one: one[1][0].get("text") or one[0])
    return [[row for _, row in card] for _, card in by_text]


@cache
def _labels() -> tuple[str, ...]:
    """Return the columns that may hold a row's right answer, in the order of preference."""
    return (*ANSWERS, *(room.target for room in registry.rooms()))


def identify(row: Row, place: int) -> dict[str, str]:
    """Return the columns of a row that a reviewer sees."""
    question = next((row[name] for name in QUESTIONS if isinstance(row.get(name), str)), None)
    response = next(
        (row[name] for name in TEXTS if name not in _labels() and isinstance(row.get(name), str)), ""
    )
    if question is None and not response:
        raise ValueError(
            f"rows[{place}] has no question, only {list(row)!r:.120}; expected {' or '.join(QUESTIONS)}."
        )
    answer = next((row[name] for name in _labels() if row.get(name) is not None), "")
    options: list[str] = next((row[name] for name in OPTIONS if row.get(name)), [])
    shown = "\n".join([question or "", *map(str, options)]).strip()
    return {
        "id": str(next((row[name] for name in IDS if row.get(name) is not None), place)),
        "question": shown,
        "answer": ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer),
        "response": "" if response == question else response,
    }


def _stratum(row: Row, column: str | None, place: int) -> str:
    if column is None:
        return ""
    if row.get(column) in (None, ""):
        raise ValueError(
            f"rows[{place}] has no {column!r:.80}, the column of strata, only {list(row)!r:.120}."
        )
    return str(row[column])


def _by_key(responses: Mapping[str, Sequence[Row]], row: Row) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the column that matches responses to rows, and each model's responses by its value."""
    given = [answer for answers in responses.values() for answer in answers]
    key = next((name for name in IDS if name in row and all(name in answer for answer in given)), None)
    if not responses:
        return "", {}
    if key is None:
        raise ValueError(
            f"None of the columns {', '.join(IDS)} is in the rows and in all responses; add one."
        )
    said: dict[str, dict[str, str]] = {}
    for model, answers in responses.items():
        texts = said.setdefault(model, {})
        for number, answer in enumerate(answers):
            where = f"{model}, response {number}"
            text, _ = text_of(answer, where)
            if str(answer[key]) in texts:
                raise ValueError(f"{where} is the second with the {key} {answer[key]!r:.80}; expected one.")
            texts[str(answer[key])] = text
    return key, said


def image_of(rows: Any, place: int, row: Row, images: Path | None, folder: Path | None) -> str | None:
    """Return the image as a data URI, at most `LARGEST_SIDE` pixels wide and high; None if the row has none."""
    name = f"The image of rows[{place}]"
    stored = next((rows[place][column] for column in picture_columns(rows)[:1]), None)
    file = next((row[column] for column in FILES if isinstance(row.get(column), str)), None)
    if stored:
        picture = open_stored(stored, images or folder, name).copy()
    elif images is not None and file is not None:
        picture = open_named(file, images, name).copy()
    else:
        return None
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    encoded = BytesIO()
    picture.save(encoded, "JPEG", quality=88)
    return data_uri(encoded.getvalue(), "image/jpeg")


def whole(entry: Mapping[str, str]) -> dict[str, str]:
    """Replace each unpaired surrogate, which no file can hold, by a question mark."""
    return {name: text.encode("utf-8", "replace").decode() for name, text in entry.items()}
