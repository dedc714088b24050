"""`halluscope agree FIRST SECOND`: tells how often two methods read the same classes, and which one errs.

Source: THRONE, supplement, section 4. `halluscope review read` reads the marked sheet.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from halluscope.arguments import whole
from halluscope.cli import common
from halluscope.files.writing import json_line, new_file
from halluscope.foreign import one_line
from halluscope.reliability import agreement
from halluscope.reliability.agreement import AND, Both, Method
from halluscope.reliability.review.sheet import READING
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Notes, Table, share, to_json
from halluscope.responses.thoughts import without
from halluscope.runs.folder import folders
from halluscope.runs.verifying import check
from halluscope.terminal import say, tell

SHOWN = 15
"""How many classes are printed; --json gives all."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the runs of two methods, and the options of a review sheet."""
    parser.set_defaults(run=run)
    option = parser.add_argument
    for which in ("first", "second"):
        option(
            which,
            metavar=which.upper(),
            help="a run, or a folder of runs, that `halluscope score NAME ... --out FOLDER` wrote; METHOD=FOLDER "
            "names the method (default: the folder's name)",
        )
    option(
        "--each",
        type=Path,
        metavar="FILE",
        help="write what each method reads from each response, as JSON lines",
    )
    option(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write page.html and sheet.csv here, to mark the methods' errors on",
    )
    option(
        "--agreeing",
        type=whole,
        default=5,
        metavar="N",
        help="how many responses to draw per LVLM on which the methods agree (default: 5)",
    )
    option(
        "--disagreeing",
        type=whole,
        default=10,
        metavar="N",
        help="how many to draw on which they disagree (default: 10)",
    )
    option("--seed", type=whole, default=0, help="seed of the draw (default: 0)")
    option(
        "--dataset",
        metavar="DATASET",
        help="a dataset whose images the sheet shows; its rows have image_id, and image or file_name",
    )
    option(
        "--images",
        type=Path,
        metavar="FOLDER",
        help="the folder of the image files that the rows of --dataset name",
    )
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    """Compare, and draw a sheet if one is asked for."""
    if (given.dataset and not given.out) or (given.images and not given.dataset):
        raise ValueError(
            "--dataset needs --out, because its images go on the sheet; --images needs --dataset, whose files it holds."
        )
    if given.each:
        common.check_output(given, "each")
    both = agreement.together(_method(given.first), _method(given.second))
    found = agreement.compare(both)
    sheet = _sheet(given, both) if given.out else ""
    if given.each:
        _write(given.each, both)
    if given.format == JSON:
        say(to_json({**found, "sheet": sheet or None}))
        return
    common.show(_report(found), given)
    if sheet:
        out = one_line(given.out)
        tell(
            f"{out}: the sheet {sheet}. Open {out}/page.html in a browser, or mark {out}/sheet.csv in a spreadsheet."
        )


def _method(given: str) -> Method:
    """Return what a method read, from the runs that an argument names."""
    name, equals, folder = given.partition("=")
    path = Path(folder if equals and name and not Path(given).exists() else given)
    runs = map(check, folders([path]))
    rows = ((run.name, *of) for run in runs for of in zip(run.ready.matched.texts, run.found, strict=True))
    return agreement.method(path.resolve().name if path == Path(given) else name, rows)


def _write(file: Path, both: Both) -> None:
    with new_file(file) as lines:
        lines.writelines(map(json_line, agreement.each(both)))


def _sheet(given: argparse.Namespace, both: Both) -> str:
    """Draw and write a sheet, and return its name."""
    from halluscope.reliability.review import making, readings

    drawn = readings.draw(
        both,
        {key: without(said.text) for key, said in both.first.said.items()},
        given.agreeing,
        given.disagreeing,
        given.seed,
        _pictures(given.dataset, given.images) if given.dataset else lambda image: None,
    )
    return making.write(drawn, given.out, READING, f"Review of {AND.join(both.names)}")


def _pictures(dataset: str, folder: Path | None) -> Callable[[str], str | None]:
    """Return a function that finds an image by its id."""
    from halluscope.reading.rows import Source, read_rows, without_pictures
    from halluscope.reliability.review.making import image_of

    rows = read_rows(dataset)
    table = without_pictures(rows)
    places = {str(table[place].get("image_id")): place for place in range(len(table))}

    def picture(image: str) -> str | None:
        if image not in places:
            raise ValueError(
                f"{dataset} has no row with the image_id {image:.80}; expected the images that were scored."
            )
        place = places[image]
        return image_of(rows, place, table[place], folder, Source.of(dataset).folder)

    return picture


def _report(found: Mapping[str, Any]) -> list[Table | Notes]:
    every: dict[str, Any] = {"responses": "all", **found}
    rows = [
        [one["responses"], one["images"], one["agree"], share(one["agreement"])]
        for one in (*found["models"], every)
    ]
    told: list[Table | Notes] = [Table("agreement", ["responses", "images", "agree", "agree %"], rows)]
    differ = [(name, of) for name, of in found["classes"].items() if of["first"] + of["second"]]
    if differ:
        first, second = found["methods"]
        cells = [[name, *(of[part] for part in ("both", "first", "second"))] for name, of in differ[:SHOWN]]
        told.append(Table("classes", ["read by", "both", f"only {first}", f"only {second}"], cells))
    if differ[SHOWN:]:
        told.append(Notes([f"and {len(differ[SHOWN:])} more classes on which they differ; --json gives all"]))
    return [*told, Notes([f"signature: {found['signature']}"])]
