"""`halluscope review make ROWS` and `review read SHEET.csv`: has people mark rows, readings, or texts."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.arguments import whole
from halluscope.cli import common
from halluscope.reliability import agreement, indicators
from halluscope.reliability.certifying import labels
from halluscope.reliability.review.sheet import AGREE, IMPLIED, READING, VALID, Sheet, read_sheet
from halluscope.reporting.formats import aligned
from halluscope.reporting.tables import percent, to_json
from halluscope.sanitize import one_line
from halluscope.signature import signature
from halluscope.stats.strata import error_rate, share
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    """Add the two commands."""
    commands = parser.add_subparsers(required=True, metavar="make | read")
    _add_make(commands.add_parser("make", help="draw a sample, and write a page and a CSV to mark it on"))
    _add_read(commands.add_parser("read", help="print what a marked sheet says"))


def _add_make(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=make)
    option = parser.add_argument
    option("rows", help="JSON lines, a .parquet file, or a dataset (folder or Hub id; name:config)")
    option("--out", required=True, type=Path, metavar="FOLDER", help="write page.html and sheet.csv here")
    option(
        "--sample",
        required=True,
        type=whole,
        metavar="N",
        help="how many rows to draw; with --stratum, how many per stratum; with --marks implied, how many texts",
    )
    option("--seed", type=whole, default=0, help="seed of the draw (default: 0)")
    option(
        "--marks",
        choices=(VALID, AGREE, IMPLIED),
        default=VALID,
        help="valid: are question and right answer valid? agree: do you agree with the response, or with its verdict? "
        "implied: which classes does a response imply? (for `certify`; responses of one LVLM)",
    )
    option("--stratum", metavar="COLUMN", help="draw from each value of this column")
    option(
        "--responses",
        nargs="+",
        default=[],
        metavar="FILE",
        help="files of models' responses, each of which is marked (for `reliability --criterion`)",
    )
    option("--images", type=Path, metavar="FOLDER", help="the folder of the image files that the rows name")
    judging = parser.add_argument_group(
        "with --marks implied", "the judges whose votes guide the draw of texts, and how responses are read"
    )
    benchmark = common.certified()
    parser.set_defaults(name=benchmark.name)
    common.add_options(judging, benchmark)
    common.add_reading(judging, benchmark)


def _add_read(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=read)
    option = parser.add_argument
    option("sheet", type=Path, help="the CSV that the page saved, or a spreadsheet")
    option("--allow-unmarked", action="store_true", help="leave out rows without a mark")
    option(
        "--json",
        action="store_true",
        help="print JSON instead of tables; for models' responses, the list that `reliability` takes",
    )


def make(options: argparse.Namespace) -> None:
    """Draw a sheet, and write it."""
    if options.marks == IMPLIED:
        _make_implied(options)
        return
    if asked := [option.name for option in common.certified().options if hasattr(options, option.name)]:
        raise ValueError(f"{asked[0]} is for the judges of --marks {IMPLIED}; the marks are {options.marks}.")
    from halluscope.reading.datasets import Source, read_rows
    from halluscope.reliability.review import sampling

    drawn = sampling.draw(
        read_rows(options.rows),
        options.sample,
        options.seed,
        stratum=options.stratum,
        responses=sampling.read_responses(options.responses),
        images=options.images,
        folder=Source.of(options.rows).folder,
    )
    name = sampling.write(drawn, options.out, options.marks, f"Review of {Path(options.rows).name}")
    shown = sum(image is not None for _, image in drawn)
    say(f"{one_line(options.out)}: the sheet {name}, {len(drawn):,} rows, {shown:,} with an image")
    say(common.how_to_mark(options.out))


def _make_implied(options: argparse.Namespace) -> None:
    """Draw texts by the judges' votes."""
    from halluscope.reliability.certifying.sampling import sheet
    from halluscope.reliability.review import sampling
    from halluscope.stats.corrected import FEWEST_TEXTS

    if options.stratum or options.images:
        raise ValueError("--stratum and --images are for rows; expected neither with --marks implied.")
    sampling.check_folder(options.out)
    benchmark = common.certified()
    ready, ids, judging = common.judged_texts(options, [options.rows], benchmark)
    judgement = benchmark.module("metric").judge(ready.matched.texts, ready.inputs["references"], **judging)
    drawn = sheet(judgement, ids, options.sample, options.seed)
    title = f"What the responses of {ready.matched.name} imply"
    name = sampling.write(drawn, options.out, IMPLIED, title, judgement.vocabulary.classes)
    say(f"{one_line(options.out)}: the sheet {name}, {options.sample:,} texts, {len(drawn):,} rows")
    if options.sample < min(FEWEST_TEXTS, len(judgement.texts)):
        say(f"This is enough to certify a judge; to correct scores, label at least {FEWEST_TEXTS} texts.")
    say(common.how_to_mark(options.out))


def read(options: argparse.Namespace) -> None:
    """Read a sheet, and print what it says."""
    sheet = read_sheet(options.sheet, options.allow_unmarked)
    if sheet.kind in (READING, IMPLIED):
        summary, show = {READING: (agreement.summary, _readings), IMPLIED: (labels.summary, _implied)}[
            sheet.kind
        ]
        result = summary(sheet)
        say(to_json(result) if options.json else "\n".join(show(result)))
        return
    models = _models(sheet)
    result = _overall(sheet)
    strata = sheet.strata()
    if strata:
        rate = error_rate(list(strata.values()))
        result |= {f"error_{'rate' if name == 'value' else name}": value for name, value in rate.items()}
    if options.json:
        say(to_json(models or result))
        return
    first, second = sheet.marks
    say(f"{result['marked']:,} rows: {result[first]:,} {first}, {result['other']:,} {second}")
    if sheet.unmarked:
        say(f"{len(sheet.unmarked):,} rows without a mark are left out")
    say(f"{result['name']}: {_interval(result)}")
    if models:
        cells = [
            [row["responses"], row["rows"], percent(row["agree"]), percent(row["disagree"])] for row in models
        ]
        say(_plain(cells, ["model", "rows", f"{first} %", f"{second} %"]))
    if strata:  # THRONE, supplement, Table 3
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
        say(_plain(cells, ["stratum", "rows", "share %", "marked", "errors", "error rate %"]))
        say(f"error rate over all rows: {_interval(rate)}")
    say(f"signature: {result['signature']}")


def _overall(sheet: Sheet) -> dict[str, Any]:
    """Return the share with the first mark, over all rows if there are strata (content validity, for "valid")."""
    ones = sheet.ones()
    if sheet.kind == VALID:
        estimate = indicators.content(ones, sheet.strata())
        name, value = "content validity", estimate["content"]
    else:
        estimate = _agreement(sheet)
        name, value = "agreement", estimate["value"]
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
