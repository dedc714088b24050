"""Review by people: draws a sample of rows, writes sheets as a page and as CSV, and says what marked sheets say."""

import csv
import io
import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.files.writing import new_folder
from halluscope.reading.datasets import Source, picture_columns, read_rows, without_pictures
from halluscope.reading.pictures import open_named, open_stored
from halluscope.reliability import agreement, certificate, hqm
from halluscope.reliability.parallel import ANSWERS, OPTIONS, QUESTIONS, Row
from halluscope.reliability.sheet import (
    AGREE,
    COLUMNS,
    IMPLIED,
    MARKS,
    OTHERS,
    READING,
    VALID,
    VERDICT,
    Drawn,
    Sheet,
    cells,
    marks_of,
    name_of,
)
from halluscope.reporting.formats import aligned
from halluscope.reporting.page.html_template import data_uri, template
from halluscope.reporting.tables import percent
from halluscope.responses import files
from halluscope.responses.files import TEXTS
from halluscope.sanitize import encodable, one_line
from halluscope.signature import signature
from halluscope.stats.samples import error_rate, share

IDS = ("question_id", "id", "image_id")
FILES = ("file_name", "filename", "image")
LARGEST_SIDE = 1280
SHEET, PAGE = "sheet.csv", "page.html"

# The marks -> the question at the top of a page.
ASKS = {
    VALID: "Are the question and its answer right, clear and unambiguous?",
    READING: "Mark it right if the response says or implies it. If it is right but not annotated, it may be a "
    "hallucination (nothing like it is there) or a misclassification (something else is there).",
    IMPLIED: "Does the response say or imply that this is in the image? In the last row, mark whether it implies "
    "any other class of the list, and name each one.",
    VERDICT: "Judge the response by each criterion, as the benchmark's paper asks its judge to.",
}


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
    """Draw a sample of rows, in the order of the dataset; with `stratum`, a column, of each of its values.

    With `responses` (model -> its responses), each drawn row is on the sheet once per model, in an order that the
    reviewer cannot guess.
    """
    table = without_pictures(rows)
    generator = random.Random(seed)
    keys = [generator.random() for _ in range(len(table))]
    strata: dict[str, list[int]] = {}
    for index, row in enumerate(table):
        if stratum is not None and row.get(stratum) in (None, ""):
            raise ValueError(
                f"rows[{index}] has no {stratum!r:.80}, the column of strata, only {list(row)!r:.120}."
            )
        strata.setdefault("" if stratum is None else str(row[stratum]), []).append(index)
    most = max(map(len, strata.values()))
    if not 1 <= sample <= most:
        raise ValueError(f"The sample is {sample:,}; expected 1 to {most:,} rows.")
    chosen = sorted(
        (index, name)
        for name, indices in strata.items()
        for index in sorted(indices, key=keys.__getitem__)[:sample]
    )
    key, texts = _by_key(responses, table[0]) if responses else ("", {})
    drawn: list[Drawn] = []
    for index, name in chosen:
        row = table[index]
        entry = identify(row, index)
        if stratum is not None:
            entry |= {"stratum": name, "stratum_rows": str(len(strata[name]))}
        image = _image(rows, index, row, images, folder)
        if not texts:
            drawn.append((entry, image))
        for model in sorted(texts, key=lambda _: generator.random()):
            response = texts[model].get(str(row.get(key)))
            if response is None:
                raise ValueError(
                    f"{model} has no response to the drawn row with the {key} {row.get(key)!r:.80}."
                )
            drawn.append((entry | {"model": model, "response": response}, image))
    return drawn


def write(drawn: Sequence[Drawn], folder: Path, marks: str, title: str, classes: Sequence[str] = ()) -> str:
    """Write a sheet into a folder as sheet.csv and page.html, both or neither, and return its name.

    Rows about one text follow each other; `classes` are suggested where other classes may be named.
    """
    check_folder(folder)
    texts = [{column: encodable(cell) for column, cell in entry.items()} for entry, _ in drawn]
    name = name_of(texts, marks)
    entries = [
        {**entry, "sheet": name, "row": str(number), "mark": "", "note": ""}
        for number, entry in enumerate(texts, 1)
    ]
    columns = [
        column
        for column in COLUMNS
        if column in ("mark", "note") or any(entry.get(column) for entry in entries)
    ]
    lines = [cells(entry, columns) for entry in entries]
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([columns, *lines])
    pictures = {
        image: index for index, image in enumerate(dict.fromkeys(image for _, image in drawn if image))
    }
    rows = [
        (entry, pictures.get(image or ""), marks_of(marks, entry))
        for entry, (_, image) in zip(entries, drawn, strict=True)
    ]
    # A card holds the rows about one text, or any other row by itself.
    cards = groupby(rows, lambda row: row[0].get("text") or row[0]["row"])
    page = template(__package__).render(
        title=title,
        asks=ASKS.get(marks, f"Do you agree with the {'response' if 'response' in columns else 'answer'}?"),
        marks=marks_of(marks, entries[0]) if marks == VERDICT else MARKS[marks],
        cards=[list(card) for _, card in cards],
        count=len(entries),
        others=OTHERS,
        data={"columns": columns, "rows": lines, "pictures": list(pictures), "classes": list(classes)},
        sheet=name,
    )
    with new_folder(folder) as new:
        (new / SHEET).write_text(file.getvalue(), encoding="utf-8-sig", newline="")
        (new / PAGE).write_text(page, encoding="utf-8", newline="")
    return name


def check_folder(folder: Path) -> None:
    for what, file in (("sheet", folder / SHEET), ("page", folder / PAGE)):
        if os.path.lexists(file):
            raise ValueError(
                f"{folder} holds a {what} already; name another folder, so that no marks are lost."
            )


def read_responses(words: Sequence[str]) -> dict[str, list[Row]]:
    """Read files of models' responses, each under its own name; each text is in `response`."""
    return {
        file.name: [{**response.row, "response": response.text} for response in file.each]
        for file in files.read(words)
    }


def identify(row: Row, index: int) -> dict[str, str]:
    """Return the columns of a row that a reviewer sees."""
    labels = (*ANSWERS, *(room.target for room in registry.rooms()))  # may hold a row's right answer
    question = next((row[name] for name in QUESTIONS if isinstance(row.get(name), str)), None)
    response = next(
        (row[name] for name in TEXTS if name not in labels and isinstance(row.get(name), str)), ""
    )
    if question is None and not response:
        raise ValueError(
            f"rows[{index}] has no question, only {list(row)!r:.120}; expected {' or '.join(QUESTIONS)}."
        )
    answer = next((row[name] for name in labels if row.get(name) is not None), "")
    options: list[str] = next((row[name] for name in OPTIONS if row.get(name)), [])
    return {
        "id": str(next((row[name] for name in IDS if row.get(name) is not None), index)),
        "question": "\n".join([question or "", *map(str, options)]).strip(),
        "answer": ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer),
        "response": "" if response == question else response,
    }


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
        own = texts.setdefault(model, {})
        for number, response in enumerate(rows):
            if str(response[key]) in own:
                raise ValueError(
                    f"{model}, response {number} is the second with the {key} {response[key]!r:.80}; expected one."
                )
            own[str(response[key])] = response["response"]
    return key, texts


def _image(rows: Any, index: int, row: Row, images: Path | None, folder: Path | None) -> str | None:
    """Return the image as a data URI, at most `LARGEST_SIDE` pixels wide and high; None if the row has none."""
    name = f"The image of rows[{index}]"
    stored = next((rows[index][column] for column in picture_columns(rows)[:1]), None)
    file = next((row[column] for column in FILES if isinstance(row.get(column), str)), None)
    if stored:
        picture = open_stored(stored, images or folder, name).copy()
    elif images is not None and file is not None:
        picture = open_named(file, images, name).copy()
    else:
        return None
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    encoded = io.BytesIO()
    picture.save(encoded, "JPEG", quality=88)
    return data_uri(encoded.getvalue(), "image/jpeg")


def image_by_id(dataset: str, folder: Path | None) -> Callable[[str], str | None]:
    """Return a function that finds the image of a dataset with a given `image_id`."""
    rows = read_rows(dataset)
    table = without_pictures(rows)
    indices = {str(table[index].get("image_id")): index for index in range(len(table))}

    def picture(image: str) -> str | None:
        if image not in indices:
            raise ValueError(
                f"{dataset} has no row with the image_id {image:.80}; expected the images that were scored."
            )
        index = indices[image]
        return _image(rows, index, table[index], folder, Source.of(dataset).folder)

    return picture


# What a marked sheet says


def rejected(rows: Sequence[Row], sheet: Sheet) -> dict[int, str]:
    """Return the indices of the rows that no person marked valid on a sheet made of them, with the reasons."""
    sheet.check(VALID)

    def key(entry: Mapping[str, str]) -> tuple[str, str]:
        return entry["id"], " ".join(entry["question"].split())

    marks = {key(entry): valid for entry, valid in zip(sheet.entries, sheet.ones(), strict=True)}
    found = [marks.get(key(identify(row, index))) for index, row in enumerate(rows)]
    if not any(mark is not None for mark in found):
        raise ValueError(
            f"The sheet {sheet.name} has none of the {len(rows):,} rows; expected a sheet that `halluscope review "
            "make` made from this parallel form, with the same seed and model."
        )
    reasons = {
        None: "it is not on the marked sheet, or has no mark there",
        0: "a person marked it as not valid",
    }
    return {index: reasons[mark] for index, mark in enumerate(found) if not mark}


def summary(sheet: Sheet) -> Any:
    """Return what a sheet says as JSON has it: for models' responses, the list that `halluscope reliability` takes."""
    if sheet.kind == READING:
        return agreement.summary(sheet)
    if sheet.kind == IMPLIED:
        return certificate.summary(sheet)
    if sheet.kind == VERDICT:
        marks: dict[str, Counter[str]] = defaultdict(Counter)
        for entry in sheet.entries:
            marks[entry["class"]][entry["mark"]] += 1
        return {
            "sheet": sheet.name,
            "marked": len(sheet.entries),
            "unmarked": len(sheet.left),
            "marks": {name: dict(sorted(of.items())) for name, of in marks.items()},
        }
    return _models(sheet) or _overall(sheet)


def lines(sheet: Sheet) -> list[str]:
    """Return what a sheet says as text."""
    result = summary(sheet)
    if sheet.kind == READING:
        return _readings(result)
    if sheet.kind == VERDICT:
        return [
            f"{result['marked']:,} rows are marked, {result['unmarked']:,} are not",
            "Compare them with the judge's verdicts: `halluscope certify SHEET --run RUN`.",
        ]
    if sheet.kind != IMPLIED:
        return _marks(sheet)
    texts, unmarked = result["texts"], result["unmarked_texts"]
    left = f"{unmarked:,} texts have rows without a mark; `certify --allow-unmarked` leaves them out"
    return [
        f"{texts - unmarked:,} of {texts:,} texts are marked; these have {result['marked']:,} rows",
        ", ".join(f"{mark}: {count:,}" for mark, count in result["marks"].items()),
        *([left] if unmarked else []),
        f"signature: {result['signature']}",
    ]


def _marks(sheet: Sheet) -> list[str]:
    result, (first, second) = _overall(sheet), sheet.marks
    lines = [f"{result['marked']:,} rows: {result[first]:,} {first}, {result['other']:,} {second}"]
    if sheet.left:
        lines.append(f"{len(sheet.left):,} rows without a mark are left out")
    lines.append(f"{result['name']}: {_interval(result)}")
    if models := _models(sheet):
        cells = [
            [row["responses"], row["rows"], percent(row["agree"]), percent(row["disagree"])] for row in models
        ]
        lines.append("\n" + aligned(cells, ["model", "rows", f"{first} %", f"{second} %"], left=4))
    if strata := sheet.strata():  # THRONE, supplement, Table 3
        total = sum(stratum.rows for stratum in strata.values())
        cells = [
            [name, rows, percent(rows / total), judgements, errors, percent(errors / judgements)]
            for name, (rows, judgements, errors) in strata.items()
        ]
        header = ["stratum", "rows", "share %", "marked", "errors", "error rate %"]
        lines.append("\n" + aligned(cells, header, left=6))
        lines.append(f"error rate over all rows: {_interval(error_rate(list(strata.values())))}")
    return [*lines, f"signature: {result['signature']}"]


def _overall(sheet: Sheet) -> dict[str, Any]:
    """Return the share with the first mark, over all rows if there are strata (content validity, for "valid")."""
    ones, strata = sheet.ones(), sheet.strata()
    is_content = sheet.kind == VALID
    estimate = hqm.content(ones, strata) if is_content else _agreement(sheet)
    rate = error_rate(list(strata.values())) if strata else {}
    return {
        "sheet": sheet.name,
        "name": "content validity" if is_content else "agreement",
        "value": estimate["content" if is_content else "value"],
        "low": estimate["low"],
        "high": estimate["high"],
        "marked": len(ones),
        sheet.marks[0]: sum(ones),
        "other": len(ones) - sum(ones),
        "unmarked": len(sheet.left),
        "signature": estimate["signature"],
        **{f"error_{'rate' if key == 'value' else key}": number for key, number in rate.items()},
    }


def _models(sheet: Sheet) -> list[dict[str, Any]]:
    """Return how people marked each model, as `halluscope reliability --criterion` takes it."""
    rows = []
    for model, part in sheet.models().items():
        estimate = _agreement(part)
        scores = {"agree": estimate["value"], "disagree": 1 - estimate["value"]}
        rows.append(
            {"responses": model, **scores, "rows": len(part.entries), "signature": estimate["signature"]}
        )
    return rows


def _agreement(sheet: Sheet) -> dict[str, Any]:
    ones, strata = sheet.ones(), sheet.strata()
    weighted = {"strata": len(strata)} if strata else {}
    choices = {"marks": AGREE, "rows": len(ones), **weighted, "interval": "0.95,wilson"}
    return {**share(ones, strata), "signature": signature("review", data=sheet.name, **choices)}


def _readings(result: Mapping[str, Any]) -> list[str]:
    """Return THRONE's Tables 3 and 4 (supplement), and the error rates that follow from Table 3."""
    counts = ("methods", "stratum", "responses", "share", "evaluated", "judgements", "errors", "error_rate")
    rates = ("share", "error_rate")
    table = [
        [percent(row[name]) if name in rates else row[name] for name in counts] for row in result["table"]
    ]
    header = [f"{name.replace('_', ' ')} %" if name in rates else name for name in counts]
    lines = [aligned(table, header, left=2)]
    if result["unmarked"]:
        lines += ["", f"{result['unmarked']:,} rows without a mark are left out"]
    lines.append("")
    lines += [
        f"error rate of {one_line(name)}: {_interval(rate)}" for name, rate in result["error_rates"].items()
    ]
    marks = result["false_positives"]
    counted = ", ".join(f"{mark} {marks[mark]:,}" for mark in (*agreement.FALSE_POSITIVES, "neither"))
    lines += ["", f"false positives in the {marks['responses']:,} responses: {counted}"]
    if without := [
        one_line(f"{row['methods']}, {row['stratum']}") for row in result["table"] if not row["errors"]
    ]:
        lines.append(f"No error is marked for {'; '.join(without)}: the interval is too narrow there.")
    return [*lines, f"signature: {result['signature']}"]


def _interval(rate: Mapping[str, float]) -> str:
    return f"{percent(rate['value'])} % ({percent(rate['low'])} to {percent(rate['high'])})"
