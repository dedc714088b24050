"""What a marked sheet says: shares of marks with their intervals, by model and by stratum; as data, and as lines."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.reliability import agreement, indicators
from halluscope.reliability.certifying import labels
from halluscope.reliability.review.sheet import AGREE, IMPLIED, READING, VALID, VERDICT, Sheet
from halluscope.reporting.formats import aligned
from halluscope.reporting.tables import percent
from halluscope.sanitize import one_line
from halluscope.signature import signature
from halluscope.stats.samples import error_rate, share


def listed(sheet: Sheet) -> Any:
    """Return what a sheet says as JSON has it: for models' responses, the list that `halluscope reliability` takes."""
    if sheet.kind == READING:
        return agreement.summary(sheet)
    if sheet.kind == IMPLIED:
        return labels.summary(sheet)
    return _verdicts(sheet) if sheet.kind == VERDICT else _models(sheet) or _overall(sheet)


def lines(sheet: Sheet) -> list[str]:
    """Return what a sheet says as text."""
    if sheet.kind == READING:
        return _readings(agreement.summary(sheet))
    if sheet.kind == VERDICT:
        found = _verdicts(sheet)
        marked = f"{found['marked']:,} rows are marked, {found['unmarked']:,} are not"
        return [marked, "Compare them with the judge's verdicts: `halluscope certify SHEET --run RUN`."]
    return _implied(labels.summary(sheet)) if sheet.kind == IMPLIED else _marks(sheet)


def _verdicts(sheet: Sheet) -> dict[str, Any]:
    """Count how often each mark was given, by criterion."""
    marks: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in sheet.entries:
        marks[entry["class"]][entry["mark"]] += 1
    counted = {name: dict(sorted(of.items())) for name, of in marks.items()}
    return {
        "sheet": sheet.name,
        "marked": len(sheet.entries),
        "unmarked": len(sheet.unmarked),
        "marks": counted,
    }


def _marks(sheet: Sheet) -> list[str]:
    result, (first, second) = _overall(sheet), sheet.marks
    lines = [f"{result['marked']:,} rows: {result[first]:,} {first}, {result['other']:,} {second}"]
    if sheet.unmarked:
        lines.append(f"{len(sheet.unmarked):,} rows without a mark are left out")
    lines.append(f"{result['name']}: {_interval(result)}")
    if models := _models(sheet):
        cells = [
            [row["responses"], row["rows"], percent(row["agree"]), percent(row["disagree"])] for row in models
        ]
        lines.append(_plain(cells, ["model", "rows", f"{first} %", f"{second} %"]))
    if strata := sheet.strata():  # THRONE, supplement, Table 3
        total = sum(stratum.rows for stratum in strata.values())
        cells = [
            [
                name,
                one.rows,
                percent(one.rows / total),
                one.judgements,
                one.errors,
                percent(one.errors / one.judgements),
            ]
            for name, one in strata.items()
        ]
        lines.append(_plain(cells, ["stratum", "rows", "share %", "marked", "errors", "error rate %"]))
        lines.append(f"error rate over all rows: {_interval(error_rate(list(strata.values())))}")
    return [*lines, f"signature: {result['signature']}"]


def _overall(sheet: Sheet) -> dict[str, Any]:
    """Return the share with the first mark, over all rows if there are strata (content validity, for "valid")."""
    ones = sheet.ones()
    if sheet.kind == VALID:
        estimate = indicators.content(ones, sheet.strata())
        name, value = "content validity", estimate["content"]
    else:
        estimate = _agreement(sheet)
        name, value = "agreement", estimate["value"]
    strata = list(sheet.strata().values())
    rate = error_rate(strata) if strata else {}
    return {
        "sheet": sheet.name,
        "name": name,
        "value": value,
        "low": estimate["low"],
        "high": estimate["high"],
        "marked": len(ones),
        sheet.marks[0]: sum(ones),
        "other": len(ones) - sum(ones),
        "unmarked": len(sheet.unmarked),
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


def _implied(result: Mapping[str, Any]) -> list[str]:
    """Return what is marked, and what is left to mark."""
    marked, texts, unmarked = result["marked"], result["texts"], result["unmarked_texts"]
    lines = [
        f"{texts - unmarked:,} of {texts:,} texts are marked; these have {marked:,} rows",
        ", ".join(f"{mark}: {count:,}" for mark, count in result["marks"].items()),
    ]
    if unmarked:
        lines.append(
            f"{unmarked:,} texts have rows without a mark; `certify --allow-unmarked` leaves them out"
        )
    return [*lines, f"signature: {result['signature']}"]


def _plain(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> str:
    """Return a table of text after an empty line."""
    return "\n" + aligned(rows, header, left=len(header))


def _interval(rate: Mapping[str, float]) -> str:
    return f"{percent(rate['value'])} % ({percent(rate['low'])} to {percent(rate['high'])})"
