"""`halluscope agree FIRST SECOND`: tells how often two methods read the same classes, and which one errs.

Source: THRONE, supplement, section 4. `halluscope review read` reads the marked sheet.
"""

import argparse
from pathlib import Path

from halluscope.cli import common
from halluscope.files.writing import json_line, new_file
from halluscope.reliability import agreement
from halluscope.reliability.agreement import AND, Method, Pair
from halluscope.reliability.review.sheet import READING
from halluscope.reporting.formats import JSON
from halluscope.responses.thoughts import without
from halluscope.runs.folder import folders
from halluscope.runs.verifying import check
from halluscope.sanitize import one_line
from halluscope.terminal import tell


def add(parser: argparse.ArgumentParser) -> None:
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
        **common.FILE,
        help="write what each method reads from each response, as JSON lines",
    )
    option(
        "--out",
        **common.FOLDER,
        help="write page.html and sheet.csv here, to mark the methods' errors on",
    )
    option(
        "--agreeing",
        **common.COUNT,
        default=5,
        help="how many responses to draw per LVLM on which the methods agree (default: 5)",
    )
    option(
        "--disagreeing",
        **common.COUNT,
        default=10,
        help="how many to draw on which they disagree (default: 10)",
    )
    common.add_seed(parser, "the draw")
    option(
        "--dataset",
        metavar="DATASET",
        help="a dataset whose images the sheet shows; its rows have image_id, and image or file_name",
    )
    option(
        "--images",
        **common.FOLDER,
        help="the folder of the image files that the rows of --dataset name",
    )
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
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
    common.output(given, lambda: {**result, "sheet": sheet or None}, lambda: agreement.report(result))
    if sheet and given.format != JSON:
        tell(f"{one_line(given.out)}: the sheet {sheet}. {common.how_to_mark(given.out)}")


def _method(word: str) -> Method:
    name, equals, folder = word.partition("=")
    path = Path(folder if equals and name and not Path(word).exists() else word)
    runs = map(check, folders([path]))
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    return agreement.method(path.resolve().name if path == Path(word) else name, rows)


def _sheet(given: argparse.Namespace, both: Pair) -> str:
    from halluscope.reliability.review import sampling

    drawn = agreement.draw(
        both,
        {key: without(reading.text) for key, reading in both.first.readings.items()},
        given.agreeing,
        given.disagreeing,
        given.seed,
        sampling.image_by_id(given.dataset, given.images) if given.dataset else lambda image: None,
    )
    return sampling.write(drawn, given.out, READING, f"Review of {AND.join(both.names)}")
