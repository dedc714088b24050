"""`halluscope review make ROWS` and `review read SHEET.csv`: has people mark rows, readings, or texts."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.arguments import whole
from halluscope.cli import common
from halluscope.foreign import one_line
from halluscope.reliability import indicators
from halluscope.reliability.review import implied, readings
from halluscope.reliability.review.sheet import IMPLIED, OF_ROWS, READING, Sheet, read_sheet
from halluscope.reporting.formats import aligned
from halluscope.reporting.tables import percent, to_json
from halluscope.signature import signature
from halluscope.stats.strata import Stratum, error_rate, share
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
        choices=(*OF_ROWS, IMPLIED),
        default="valid",
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
    _make_of_rows(options)


def _make_implied(given: argparse.Namespace) -> None:
    """Draw texts by the judges' votes."""
    from halluscope.reliability.certifying import sampling
    from halluscope.reliability.review import making
    from halluscope.stats.corrected import FEWEST_TEXTS

    if given.stratum or given.images:
        raise ValueError("--stratum and --images are for rows; expected neither with --marks implied.")
    making.check_folder(given.out)
    benchmark = common.certified()
    ready, ids, options = common.judged_texts(given, [given.rows], benchmark)
    judgement = benchmark.module("metric").judge(ready.matched.texts, ready.inputs["references"], **options)
    drawn = sampling.sheet(judgement, ids, given.sample, given.seed)
    title = f"What the responses of {ready.matched.name} imply"
    name = making.write(drawn, given.out, IMPLIED, title, judgement.vocabulary.classes)
    out = one_line(given.out)
    say(f"{out}: the sheet {name}, {given.sample:,} texts, {len(drawn):,} rows")
    if given.sample < min(FEWEST_TEXTS, len(judgement.texts)):
        say(f"This is enough to certify a judge; to correct scores, label at least {FEWEST_TEXTS} texts.")
    say(f"Open {out}/page.html in a browser, or mark {out}/sheet.csv in a spreadsheet.")


def _make_of_rows(options: argparse.Namespace) -> None:
    from halluscope.reading.rows import Source, read_rows
    from halluscope.reliability.review import making

    drawn = making.draw(
        read_rows(options.rows),
        options.sample,
        options.seed,
        stratum=options.stratum,
        responses=making.read_responses(options.responses),
        images=options.images,
        folder=Source.of(options.rows).folder,
    )
    title = f"Review of {Path(options.rows).name}"
    name = making.write(drawn, options.out, options.marks, title)
    shown = sum(one.image is not None for one in drawn)
    out = one_line(options.out)
    say(f"{out}: the sheet {name}, {len(drawn):,} rows, {shown:,} with an image")
    say(f"Open {out}/page.html in a browser, or mark {out}/sheet.csv in a spreadsheet.")


def read(options: argparse.Namespace) -> None:
    """Read a sheet, and print what it says."""
    sheet = read_sheet(options.sheet, options.allow_unmarked)
    if sheet.kind == IMPLIED:
        _print_implied(implied.summary(sheet), options.json)
        return
    if sheet.kind == READING:
        _print_readings(readings.summary(sheet), options.json)
        return
    models = _models(sheet)
    strata = sheet.strata()
    result = _overall(sheet, strata)
    if strata:
        rate = error_rate(list(strata.values()))
        result |= {"error_rate": rate["value"], "error_low": rate["low"], "error_high": rate["high"]}
    if options.json:
        say(to_json(models or result))
        return
    say(
        f"{result['marked']:,} rows: {result[sheet.marks[0]]:,} {sheet.marks[0]}, {result['other']:,} {sheet.marks[1]}"
    )
    if sheet.unmarked:
        say(f"{len(sheet.unmarked):,} rows without a mark are left out")
    say(f"{result['name']}: {_interval(result['value'], result['low'], result['high'])}")
    if models:
        rows = [
            [one["responses"], one["rows"], percent(one["agree"]), percent(one["disagree"])] for one in models
        ]
        say(_plain(rows, ["model", "rows", *(f"{mark} %" for mark in sheet.marks)]))
    if strata:
        _print_strata(strata)
        say(f"error rate over all rows: {_interval(rate['value'], rate['low'], rate['high'])}")
    say(f"signature: {result['signature']}")


def _overall(sheet: Sheet, strata: Mapping[str, Stratum]) -> dict[str, Any]:
    """Return the share with the first mark, over all rows if there are strata (content validity, for "valid")."""
    ones = sheet.ones()
    found: Mapping[str, Any]
    if sheet.kind == "valid":
        found = indicators.content(ones, strata)
        name, value, line = "content validity", found["content"], found["signature"]
    else:
        found = share(ones, strata)
        name, value, line = (
            "agreement",
            found["value"],
            _signature(strata, sheet, marks="agree", rows=len(ones)),
        )
    return {
        "sheet": sheet.name,
        "name": name,
        "value": value,
        "low": found["low"],
        "high": found["high"],
        "marked": len(ones),
        sheet.marks[0]: sum(ones),
        "other": len(ones) - sum(ones),
        "unmarked": len(sheet.unmarked),
        "signature": f"{line}",
    }


def _models(sheet: Sheet) -> list[dict[str, Any]]:
    """Return how people marked each model, as `halluscope reliability --criterion` takes it."""
    rows = []
    for model, of in sheet.models().items():
        ones, strata = of.ones(), of.strata()
        agree = share(ones, strata)["value"]
        rows.append(
            {
                "responses": model,
                "agree": agree,
                "disagree": 1 - agree,
                "rows": len(ones),
                "signature": _signature(strata, of, marks="agree", rows=len(ones)),
            }
        )
    return rows


def _signature(strata: Mapping[str, Stratum], sheet: Sheet, **choices: Any) -> str:
    weighted = {"strata": len(strata)} if strata else {}
    return str(signature("review", data=sheet.name, **choices, **weighted, interval="0.95,wilson"))


def _print_strata(strata: dict[str, Any]) -> None:
    """Print the error rate of each stratum. Source: THRONE, supplement, Table 3."""
    total = sum(stratum.rows for stratum in strata.values())
    rows = [
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
    say(_plain(rows, ["stratum", "rows", "share %", "marked", "errors", "error rate %"]))


def _print_readings(found: Mapping[str, Any], as_json: bool) -> None:
    """Print THRONE's Tables 3 and 4 (supplement), and the error rates that follow from Table 3."""
    if as_json:
        say(to_json(found))
        return
    rows = [
        [
            *(one[name] for name in ("methods", "stratum", "responses")),
            percent(one["share"]),
            *(one[name] for name in ("evaluated", "judgements", "errors")),
            percent(one["error_rate"]),
        ]
        for one in found["table"]
    ]
    header = (
        "methods",
        "stratum",
        "responses",
        "share %",
        "evaluated",
        "judgements",
        "errors",
        "error rate %",
    )
    say(aligned(rows, header, left=2))
    if found["unmarked"]:
        say(f"\n{found['unmarked']:,} rows without a mark are left out")
    say()
    for method, rate in found["error_rates"].items():
        say(f"error rate of {one_line(method)}: {_interval(rate['value'], rate['low'], rate['high'])}")
    marks = found["false_positives"]
    said = ", ".join(f"{mark} {marks[mark]:,}" for mark in (*readings.FALSE_POSITIVES, "neither"))
    say(f"\nfalse positives in the {marks['responses']:,} responses: {said}")
    if without := [
        one_line(f"{one['methods']}, {one['stratum']}") for one in found["table"] if not one["errors"]
    ]:
        say(f"No error is marked for {'; '.join(without)}: the interval is too narrow there.")
    say(f"signature: {found['signature']}")


def _print_implied(found: Mapping[str, Any], as_json: bool) -> None:
    """Print what is marked, and what is left to mark."""
    if as_json:
        say(to_json(found))
        return
    marked, texts = found["marked"], found["texts"]
    say(f"{texts - found['unmarked_texts']:,} of {texts:,} texts are marked; these have {marked:,} rows")
    say(", ".join(f"{mark}: {count:,}" for mark, count in found["marks"].items()))
    if found["unmarked_texts"]:
        say(
            f"{found['unmarked_texts']:,} texts have rows without a mark; `certify --allow-unmarked` leaves them out"
        )
    say(f"signature: {found['signature']}")


def _plain(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> str:
    """Return a table of text after an empty line."""
    return "\n" + aligned(rows, header, left=len(header))


def _interval(value: float, low: float, high: float) -> str:
    return f"{percent(value)} % ({percent(low)} to {percent(high)})"
