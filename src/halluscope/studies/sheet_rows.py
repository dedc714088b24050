"""Draws rows of a dataset for a review sheet, with their images and models' responses."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.reading.datasets import Source, picture_columns, read_rows, without_pictures
from halluscope.reading.pictures import open_named, open_stored
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.page.pictures import picture as small
from halluscope.responses.names import TEXTS
from halluscope.studies.parallel.form import ANSWERS, OPTIONS, QUESTIONS, Row
from halluscope.studies.sheet import Entry
from halluscope.validation import ids, whole

IDS = ("question_id", "id", "image_id")
FILES = ("file_name", "filename", "image")
LARGEST_SIDE = 1280


class Images:
    """The images of a dataset's rows, in the rows or as files in a folder."""

    def __init__(self, rows: Any, named_folder: Path | None = None, own_folder: Path | None = None) -> None:
        """Take the rows, the folder of images that the user names, and the dataset's own folder."""
        self.rows = rows
        self.table = without_pictures(rows)
        self.named_folder = named_folder
        self.own_folder = own_folder
        self.column = next(iter(picture_columns(rows)), None)

    def entry(self, index: int) -> Entry:
        """Return a sheet's column "image", at most `LARGEST_SIDE` pixels wide and high; empty if the row has none."""
        name = f"The image of rows[{index}]"
        file = _first(self.table[index], FILES, str)
        stored = None
        if self.column:
            stored = self.rows[index][self.column]
        if stored:
            picture = open_stored(stored, self.named_folder or self.own_folder, name)
        elif self.named_folder is not None and file is not None:
            picture = open_named(file, self.named_folder, name)
        else:
            return {}
        return {"image": data_uri(small(picture, LARGEST_SIDE).content, "image/webp")}


def image_by_id(dataset: str | None, folder: Path | None) -> Callable[[str], Entry]:
    """Return a function that finds the column "image" by `image_id` or file name; without a dataset it is empty."""
    if dataset is None:
        return lambda image: {}
    images = Images(read_rows(dataset), folder, Source.of(dataset).folder)
    indices: dict[str, int] = {}
    for index, row in enumerate(images.table):
        for column in ("image_id", *FILES):
            if row.get(column) is not None:
                indices.setdefault(str(row[column]), index)

    def entry(image: str) -> Entry:
        if image not in indices:
            raise ValueError(
                f"{dataset} has no row with the image {image:.80}; expected the images that were scored."
            )
        return images.entry(indices[image])

    return entry


def draw(
    images: Images,
    sample: int,
    seed: int = 0,
    stratum: str | None = None,
    responses: Mapping[str, Sequence[Row]] | None = None,
) -> list[Entry]:
    """Draw a sample of rows, in the order of the dataset; with `stratum`, a column, of each of its values.

    With `responses` (model -> its responses), each drawn row is on the sheet once per model, in an order that the
    reviewer cannot guess.
    """
    table = images.table
    generator = random.Random(seed)
    # stratum -> a random number and the index of each of its rows
    strata: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for index, row in enumerate(table):
        strata[_stratum(row, index, stratum)].append((generator.random(), index))
    most = max(len(rows) for rows in strata.values())
    whole("sample", sample, 1, most, "a number of rows")
    stratum_of = {}  # index of a drawn row -> its stratum
    for name, rows in strata.items():
        for _, index in sorted(rows)[:sample]:
            stratum_of[index] = name
    answered = None
    if responses:
        answered = _answered(responses, table)
    entries: list[Entry] = []
    for index, name in sorted(stratum_of.items()):
        entry = identify(table[index], index)
        entry.update(images.entry(index))
        if stratum is not None:
            entry["stratum"] = name
            entry["stratum_rows"] = str(len(strata[name]))
        if answered is None:
            entries.append(entry)
            continue
        for model in sorted(answered.texts, key=lambda _: generator.random()):
            response = answered.response(model, table[index])
            entries.append(entry | {"model": model, "response": response})
    return entries


def _stratum(row: Row, index: int, column: str | None) -> str:
    if column is None:
        return ""
    if row.get(column) in (None, ""):
        raise ValueError(
            f"rows[{index}] has no {column!r:.80}, the column of strata, only {list(row)!r:.120}."
        )
    return str(row[column])


def identify(row: Row, index: int) -> dict[str, str]:
    """Return the columns of a row that a reviewer sees."""
    labels = list(ANSWERS)  # may hold a row's right answer
    for record in registry.records():
        labels.append(record.target)
    question = _first(row, QUESTIONS, str)
    response = _first(row, [name for name in TEXTS if name not in labels], str)
    if question is None and not response:
        raise ValueError(
            f"rows[{index}] has no question, only {list(row)!r:.120}; expected {' or '.join(QUESTIONS)}."
        )
    answer = _first(row, labels)
    if answer is None:
        answer = ""
    if isinstance(answer, list):
        answer = ", ".join(map(str, answer))
    if response is None or response == question:
        response = ""
    own_id = _first(row, IDS)
    if own_id is None:
        own_id = index
    lines = [question or ""]
    options = _first(row, OPTIONS)
    if isinstance(options, list):
        lines += map(str, options)
    elif options is not None:
        lines.append(str(options))
    return {
        "id": str(own_id),
        "question": "\n".join(lines).strip(),
        "answer": str(answer),
        "response": response,
    }


def _first(row: Row, columns: Iterable[str], kind: type = object) -> Any:
    """Return the first of these columns that holds something of a kind."""
    for name in columns:
        value = row.get(name)
        if value is not None and isinstance(value, kind):
            return value
    return None


@dataclass(frozen=True)
class Answered:
    """Models' responses to a dataset's rows."""

    key: str  # the column that matches responses to rows
    texts: Mapping[str, Mapping[str, str]]  # model -> value of `key` -> response

    def response(self, model: str, row: Row) -> str:
        """Return a model's response to a row."""
        response = self.texts[model].get(str(row.get(self.key)))
        if response is None:
            raise ValueError(
                f"{model} has no response to the drawn row with the {self.key} {row.get(self.key)!r:.80}."
            )
        return response


def _answered(responses: Mapping[str, Sequence[Row]], table: Sequence[Row]) -> Answered:
    """Match responses by the first id that they share with the rows of a dataset, and that no two rows have."""
    shared = [name for name in IDS if name in table[0]]
    for rows in responses.values():
        for response in rows:
            shared = [name for name in shared if name in response]
    keys = []
    for name in shared:
        distinct = {str(row.get(name)) for row in table}
        if len(distinct) == len(table):
            keys.append(name)
    if not keys:
        raise ValueError(
            f"None of the columns {', '.join(IDS)} is in the rows and in all responses, with another value in each "
            "row; add one."
        )
    key = keys[0]
    texts = {}
    for model, rows in responses.items():
        values = [response[key] for response in rows]
        own_ids = ids(f"{key} of {model}", values, len(rows), unique=True)
        texts[model] = {str(name): row["response"] for name, row in zip(own_ids, rows, strict=True)}
    return Answered(key, texts)
