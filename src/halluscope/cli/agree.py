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
from halluscope.reliability import agreement
from halluscope.reliability.agreement import AND, Method, Pair
from halluscope.reliability.review.sheet import READING
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Notes, Table, share, to_json
from halluscope.responses.thoughts import without
from halluscope.runs.folder import folders
from halluscope.runs.verifying import check
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell

SHOWN = 15  # how many classes are printed; --json gives all


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
    both = agreement.pair(_method(given.first), _method(given.second))
    result = agreement.compare(both)
    sheet = _sheet(given, both) if given.out else ""
    if given.each:
        with new_file(given.each) as lines:
            lines.writelines(map(json_line, agreement.each(both)))
    if given.format == JSON:
        say(to_json({**result, "sheet": sheet or None}))
        return
    common.show(_report(result), given)
    if sheet:
        tell(f"{one_line(given.out)}: the sheet {sheet}. {common.how_to_mark(given.out)}")


def _method(word: str) -> Method:
    """Return what a method read, from the runs that an argument names."""
    name, equals, folder = word.partition("=")
    path = Path(folder if equals and name and not Path(word).exists() else word)
    runs = map(check, folders([path]))
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    return agreement.method(path.resolve().name if path == Path(word) else name, rows)


def _sheet(given: argparse.Namespace, both: Pair) -> str:
    """Draw and write a sheet, and return its name."""
    from halluscope.reliability.review import sampling

    drawn = agreement.draw(
        both,
        {key: without(reading.text) for key, reading in both.first.readings.items()},
        given.agreeing,
        given.disagreeing,
        given.seed,
        _pictures(given.dataset, given.images) if given.dataset else lambda image: None,
    )
    return sampling.write(drawn, given.out, READING, f"Review of {AND.join(both.names)}")


def _pictures(dataset: str, folder: Path | None) -> Callable[[str], str | None]:
    """Return a function that finds an image by its id."""
    from halluscope.reading.datasets import Source, read_rows, without_pictures
    from halluscope.reliability.review.sampling import image_of

    rows = read_rows(dataset)
    table = without_pictures(rows)
    indices = {str(table[index].get("image_id")): index for index in range(len(table))}

    def picture(image: str) -> str | None:
        if image not in indices:
            raise ValueError(
                f"{dataset} has no row with the image_id {image:.80}; expected the images that were scored."
            )
        index = indices[image]
        return image_of(rows, index, table[index], folder, Source.of(dataset).folder)

    return picture


def _report(result: Mapping[str, Any]) -> list[Table | Notes]:
    rows = [
        [row["responses"], row["images"], row["agree"], share(row["agreement"])]
        for row in (*result["models"], {"responses": "all", **result})
    ]
    report: list[Table | Notes] = [Table("agreement", ["responses", "images", "agree", "agree %"], rows)]
    differ = [(name, *counts.values()) for name, counts in result["classes"].items()]
    differ = [row for row in differ if row[2] + row[3]]
    if differ:
        first, second = result["methods"]
        report.append(
            Table("classes", ["read by", "both", f"only {first}", f"only {second}"], differ[:SHOWN])
        )
    if differ[SHOWN:]:
        report.append(
            Notes([f"and {len(differ[SHOWN:])} more classes on which they differ; --json gives all"])
        )
    return [*report, Notes([f"signature: {result['signature']}"])]
