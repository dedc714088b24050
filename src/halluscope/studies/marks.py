"""What a marked sheet says, as JSON has it and as a report; and which rows of a parallel form people reject."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, share
from halluscope.signature import signature
from halluscope.stats.indicators import content_validity
from halluscope.stats.samples import Stratum, share_of_ones
from halluscope.studies import agreement, hqm
from halluscope.studies.marked_sheet import Sheet, left_out, with_ends
from halluscope.studies.parallel.form import Row
from halluscope.studies.sheet import AGREE, IMPLIED, READING, VALID, VERDICT, signed
from halluscope.studies.sheet_rows import identify

NOT_MARKED = "it is not on the marked sheet, or has no mark there"
NOT_VALID = "a person marked it as not valid"


@dataclass(frozen=True)
class Said:
    """What a marked sheet says."""

    data: Any  # as JSON has it
    report: Report


def says(sheet: Sheet) -> Said:
    """Return what a sheet says; for models' responses, the data are the list that `study reliability` takes."""
    if sheet.kind == READING:
        result = agreement.summary(sheet)
        return Said(result, agreement.summary_report(result))
    if sheet.kind in (IMPLIED, VERDICT):
        return _of_texts(sheet)
    return _of_rows(sheet)


def _of_texts(sheet: Sheet) -> Said:
    """Count how much of a sheet is marked: texts, and the rows of those texts whose rows are all marked."""
    texts = sheet.texts()
    unmarked = len(sheet.unfinished)
    marks: Counter[str] = Counter()
    for entries in texts.values():
        marks.update(entry["mark"] for entry in entries)
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
    lines.append(f"signature: {result['signature']}")
    return Said(result, [Notes(lines)])


def _of_rows(sheet: Sheet) -> Said:
    """Return the share with the first mark; and by model, if the sheet names any."""
    first, second = sheet.marks
    result = _share_of_first(sheet)
    lines = [f"{result['marked']:,} rows: {result[first]:,} {first}, {result['other']:,} {second}"]
    lines += left_out(len(sheet.unmarked))
    lines.append(f"{result['name']}: {with_ends(result)}")
    report: list[Table | Notes] = [Notes(lines)]
    models = _by_model(sheet)
    if models:
        report.append(_models_table(models, sheet.marks))
    strata = sheet.strata()
    if strata:
        report.append(_strata_table(strata, second))
    report.append(Notes([f"signature: {result['signature']}"]))
    return Said(models or result, report)


def _share_of_first(sheet: Sheet) -> Json:
    """Return the share of rows with the first mark, over all rows if there are strata, and how many have which mark."""
    first, _ = sheet.marks
    ones = sheet.ones()
    result: Json = {"sheet": sheet.name, "name": "agreement"}
    result.update(_agreement(sheet))
    result["marked"] = len(ones)
    result[first] = sum(ones)
    result["other"] = len(ones) - sum(ones)
    result["unmarked"] = len(sheet.unmarked)
    if sheet.kind == VALID:
        result["name"] = "content validity"
        result["signature"] = content_validity(ones, sheet.strata())["signature"]
    return result


def _by_model(sheet: Sheet) -> list[Json]:
    """Return with what share of each model's rows people agree."""
    models = []
    for model in dict.fromkeys(entry["model"] for entry in sheet.entries if entry["model"]):
        part = replace(sheet, entries=[entry for entry in sheet.entries if entry["model"] == model])
        agree = _agreement(part)
        models.append(
            {
                "responses": model,
                hqm.AGREE: agree["value"],
                hqm.DISAGREE: 1 - agree["value"],
                "rows": len(part.entries),
                "signature": agree["signature"],
            }
        )
    return models


def _agreement(sheet: Sheet) -> Json:
    is_first = sheet.ones()
    strata = sheet.strata()
    choices: dict[str, Any] = {"marks": AGREE, "rows": len(is_first)}
    if strata:
        choices["strata"] = len(strata)
    result: Json = dict(share_of_ones(is_first, strata))
    result["signature"] = signature("review", data=sheet.name, **choices, interval="0.95,wilson")
    return result


def _models_table(models: Sequence[Json], marks: Sequence[str]) -> Table:
    rows: list[list[Cell]] = []
    for model in models:
        rows.append([model["responses"], model["rows"], share(model[hqm.AGREE]), share(model[hqm.DISAGREE])])
    return Table("models", ["model", "rows", f"{marks[0]} %", f"{marks[1]} %"], rows)


def _strata_table(strata: Mapping[str, Stratum], error: str) -> Table:
    """Return THRONE's Table 3 (supplement)."""
    total = sum(stratum.rows for stratum in strata.values())
    rows: list[list[Cell]] = []
    for name, stratum in strata.items():
        rows.append(
            [
                name,
                int(stratum.rows),
                share(stratum.rows / total),
                stratum.judgements,
                stratum.errors,
                share(stratum.errors / stratum.judgements),
            ]
        )
    header = ["stratum", "rows", "share %", "marked", error, f"{error} %"]
    return Table("strata", header, rows)


def rejected(rows: Sequence[Row], sheet: Sheet) -> dict[int, str]:
    """Return the indices of the rows that no person marked valid on a sheet made of them, with the reasons."""
    sheet.check(VALID)
    is_valid = {}
    for entry, one_or_zero in zip(sheet.entries, sheet.ones(), strict=True):
        is_valid[_key(entry)] = bool(one_or_zero)
    marks = [is_valid.get(_key(identify(row, index))) for index, row in enumerate(rows)]
    if set(marks) == {None}:
        raise ValueError(
            f"The sheet {sheet.name} has none of the {len(rows):,} rows; expected a sheet that `halluscope study sheet "
            "make` made from this parallel form, with the same seed and model."
        )
    reasons = {}
    for index, mark in enumerate(marks):
        if mark is None:
            reasons[index] = NOT_MARKED
        elif not mark:
            reasons[index] = NOT_VALID
    return reasons


def _key(entry: Mapping[str, str]) -> tuple[str, str]:
    return signed("id", entry["id"]), signed("question", entry["question"])
