"""Review by people: draws a sample of rows for a sheet, and says what marked sheets say."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.reading.datasets import Source, picture_columns, read_rows, without_pictures
from halluscope.reading.pictures import open_named, open_stored
from halluscope.reliability import agreement, hqm
from halluscope.reliability.parallel import ANSWERS, OPTIONS, QUESTIONS, Row
from halluscope.reliability.sheet import (
    AGREE,
    IMPLIED,
    READING,
    VALID,
    VERDICT,
    Entry,
    Sheet,
    left_out,
    with_ends,
)
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.page.pictures import picture as small
from halluscope.reporting.tables import Json, Notes, Report, Table, share
from halluscope.responses.names import TEXTS
from halluscope.signature import signature
from halluscope.stats.samples import share_of_ones
from halluscope.validation import ids, whole

IDS = ("question_id", "id", "image_id")
FILES = ("file_name", "filename", "image")
LARGEST_SIDE = 1280


class Images:
    """The images of a dataset's rows, in the rows or as files in a folder."""

    def __init__(self, rows: Any, images: Path | None = None, folder: Path | None = None) -> None:
        self.rows, self.table = rows, without_pictures(rows)
        self.images, self.folder = images, folder
        self.column = next(iter(picture_columns(rows)), None)

    def entry(self, index: int) -> Entry:
        """Return a sheet's column "image", at most `LARGEST_SIDE` pixels wide and high; empty if the row has none."""
        name, file = f"The image of rows[{index}]", _first(self.table[index], FILES, str)
        stored = self.rows[index][self.column] if self.column else None
        if stored:
            picture = open_stored(stored, self.images or self.folder, name)
        elif self.images is not None and file is not None:
            picture = open_named(file, self.images, name)
        else:
            return {}
        return {"image": data_uri(small(picture, LARGEST_SIDE).content, "image/webp")}


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
    table, generator = images.table, random.Random(seed)
    strata: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for index, row in enumerate(table):
        if stratum is not None and row.get(stratum) in (None, ""):
            raise ValueError(
                f"rows[{index}] has no {stratum!r:.80}, the column of strata, only {list(row)!r:.120}."
            )
        strata["" if stratum is None else str(row[stratum])].append((generator.random(), index))
    whole("sample", sample, 1, max(map(len, strata.values())), "a number of rows")
    chosen = sorted((index, name) for name, of in strata.items() for _, index in sorted(of)[:sample])
    key, texts = _by_key(responses, table[0]) if responses else ("", {})
    drawn: list[Entry] = []
    for index, name in chosen:
        row = table[index]
        entry = {**identify(row, index), **images.entry(index)}
        if stratum is not None:
            entry |= {"stratum": name, "stratum_rows": str(len(strata[name]))}
        if not texts:
            drawn.append(entry)
        for model in sorted(texts, key=lambda _: generator.random()):
            response = texts[model].get(str(row.get(key)))
            if response is None:
                raise ValueError(
                    f"{model} has no response to the drawn row with the {key} {row.get(key)!r:.80}."
                )
            drawn.append(entry | {"model": model, "response": response})
    return drawn


def identify(row: Row, index: int) -> dict[str, str]:
    """Return the columns of a row that a reviewer sees."""
    labels = [*ANSWERS, *(one.target for one in registry.records())]  # may hold a row's right answer
    question = _first(row, QUESTIONS, str)
    response = _first(row, (name for name in TEXTS if name not in labels), str)
    if question is None and not response:
        raise ValueError(
            f"rows[{index}] has no question, only {list(row)!r:.120}; expected {' or '.join(QUESTIONS)}."
        )
    answer, own = _first(row, labels), _first(row, IDS)
    return {
        "id": str(index if own is None else own),
        "question": "\n".join([question or "", *map(str, _first(row, OPTIONS) or [])]).strip(),
        "answer": ", ".join(map(str, answer))
        if isinstance(answer, list)
        else str("" if answer is None else answer),
        "response": "" if response in (None, question) else response,
    }


def _first(row: Row, columns: Iterable[str], kind: type = object) -> Any:
    """Return the first of these columns that holds something of a kind."""
    found = (row[name] for name in columns if row.get(name) is not None)
    return next((value for value in found if isinstance(value, kind)), None)


def _by_key(responses: Mapping[str, Sequence[Row]], row: Row) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the column that matches responses to rows, and each model's responses by its value."""
    every = [response for rows in responses.values() for response in rows]
    key = next((name for name in IDS if name in row and all(name in response for response in every)), None)
    if key is None:
        raise ValueError(
            f"None of the columns {', '.join(IDS)} is in the rows and in all responses; add one."
        )
    texts: dict[str, dict[str, str]] = {}
    for model, rows in responses.items():
        own = ids(f"{key} of {model}", [one[key] for one in rows], len(rows), unique=True)
        texts[model] = {str(name): one["response"] for name, one in zip(own, rows, strict=True)}
    return key, texts


def image_by_id(dataset: str | None, folder: Path | None) -> Callable[[str], Entry]:
    """Return a function that finds the column "image" for a given `image_id` of a dataset; without one, it is empty."""
    if dataset is None:
        return lambda image: {}
    images = Images(read_rows(dataset), folder, Source.of(dataset).folder)
    indices = {str(row.get("image_id")): index for index, row in enumerate(images.table)}

    def entry(image: str) -> Entry:
        if image not in indices:
            raise ValueError(
                f"{dataset} has no row with the image_id {image:.80}; expected the images that were scored."
            )
        return images.entry(indices[image])

    return entry


# What a marked sheet says


def rejected(rows: Sequence[Row], sheet: Sheet) -> dict[int, str]:
    """Return the indices of the rows that no person marked valid on a sheet made of them, with the reasons."""
    sheet.check(VALID)

    def key(entry: Mapping[str, str]) -> tuple[str, str]:
        return entry["id"], " ".join(entry["question"].split())

    marks = {key(entry): valid for entry, valid in zip(sheet.entries, sheet.ones(), strict=True)}
    found = [marks.get(key(identify(row, index))) for index, row in enumerate(rows)]
    if {*found} == {None}:
        raise ValueError(
            f"The sheet {sheet.name} has none of the {len(rows):,} rows; expected a sheet that `halluscope study sheet "
            "make` made from this parallel form, with the same seed and model."
        )
    reasons = {
        None: "it is not on the marked sheet, or has no mark there",
        0: "a person marked it as not valid",
    }
    return {index: reasons[mark] for index, mark in enumerate(found) if not mark}


def says(sheet: Sheet) -> tuple[Any, Report]:
    """Return what a sheet says as JSON has it, and as a report.

    For models' responses, the former is the list that `halluscope study reliability` takes.
    """
    if sheet.kind == READING:
        result = agreement.summary(sheet)
        return result, agreement.summary_report(result)
    return _texts(sheet) if sheet.kind in (IMPLIED, VERDICT) else _shares(sheet)


def _texts(sheet: Sheet) -> tuple[Json, Report]:
    """Count how much of a sheet is marked: texts, and the rows of those texts whose rows are all marked."""
    texts, unmarked = sheet.texts(), len({entry["text"] for entry in sheet.left})
    marks = Counter(entry["mark"] for entries in texts.values() for entry in entries)
    result: Json = {
        "sheet": sheet.name,
        "texts": len(texts) + unmarked,
        "unmarked_texts": unmarked,
        "marked": marks.total(),
        "marks": dict(sorted(marks.items())),
        "signature": signature("review", data=sheet.name, marks=sheet.kind),
    }
    lines = [
        f"{len(texts):,} of {result['texts']:,} texts are marked; these have {marks.total():,} rows",
        ", ".join(f"{mark}: {count:,}" for mark, count in result["marks"].items()),
    ]
    if unmarked:
        lines.append(
            f"{unmarked:,} texts have rows without a mark; `certify --allow-unmarked` leaves them out"
        )
    return result, [Notes([*lines, f"signature: {result['signature']}"])]


def _shares(sheet: Sheet) -> tuple[Any, Report]:
    """Return the share with the first mark, over all rows if there are strata; and by model, if the sheet names any."""
    ones, strata, (first, second) = sheet.ones(), sheet.strata(), sheet.marks
    counts = {
        "marked": len(ones),
        first: sum(ones),
        "other": len(ones) - sum(ones),
        "unmarked": len(sheet.left),
    }
    result = {"sheet": sheet.name, "name": "agreement", **_agreement(sheet), **counts}
    if sheet.kind == VALID:
        result |= {"name": "content validity", "signature": hqm.content(ones, strata)["signature"]}
    counted = f"{len(ones):,} rows: {sum(ones):,} {first}, {counts['other']:,} {second}"
    report: list[Table | Notes] = [
        Notes([counted, *left_out(len(sheet.left)), f"{result['name']}: {with_ends(result)}"])
    ]
    models = []
    for model in dict.fromkeys(entry["model"] for entry in sheet.entries if entry["model"]):
        part = sheet._replace(entries=[entry for entry in sheet.entries if entry["model"] == model])
        agree = _agreement(part)
        scores = {hqm.AGREE: agree["value"], hqm.DISAGREE: 1 - agree["value"], "rows": len(part.entries)}
        models.append({"responses": model, **scores, "signature": agree["signature"]})
    if models:
        cells = [
            [one["responses"], one["rows"], share(one[hqm.AGREE]), share(one[hqm.DISAGREE])] for one in models
        ]
        report.append(Table("models", ["model", "rows", f"{first} %", f"{second} %"], cells))
    if strata:  # THRONE, supplement, Table 3
        total = sum(sheet.sizes().values())
        cells = []
        for name, stratum in strata.items():
            of_rows = share(stratum.rows / total)
            of_judgements = share(stratum.errors / stratum.judgements)
            cells.append([name, stratum.rows, of_rows, stratum.judgements, stratum.errors, of_judgements])
        header = ["stratum", "rows", "share %", "marked", second, f"{second} %"]
        report.append(Table("strata", header, cells))
    return models or result, [*report, Notes([f"signature: {result['signature']}"])]


def _agreement(sheet: Sheet) -> Json:
    ones, strata = sheet.ones(), sheet.strata()
    weighted = {"strata": len(strata)} if strata else {}
    choices = {"marks": AGREE, "rows": len(ones), **weighted, "interval": "0.95,wilson"}
    return {**share_of_ones(ones, strata), "signature": signature("review", data=sheet.name, **choices)}
