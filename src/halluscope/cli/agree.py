"""`halluscope agree FIRST SECOND`: tells how often two methods read the same classes, and which one errs.

Source: THRONE, supplement, section 4. `halluscope review read` reads the marked sheet.
"""

import argparse
from pathlib import Path

from halluscope.cli import common
from halluscope.files.writing import json_line, new_file
from halluscope.reliability import agreement
from halluscope.reliability.agreement import AND, Key, Pair, Reading
from halluscope.reliability.sheet import READING
from halluscope.reporting.formats import JSON
from halluscope.runs.folder import check, folders
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
    both = _pair(given.first, given.second)
    result = agreement.compare(both)
    sheet = _sheet(given, both) if given.out else ""
    if given.each:
        with new_file(given.each) as lines:
            lines.writelines(map(json_line, agreement.each(both)))
    common.output(given, lambda: {**result, "sheet": sheet or None}, lambda: agreement.report(result))
    if sheet and given.format != JSON:
        tell(f"{one_line(given.out)}: the sheet {sheet}. {common.how_to_mark(given.out)}")


def _pair(first: str, second: str) -> Pair:
    (one, ours), (two, theirs) = _method(first), _method(second)
    return agreement.pair((one, two), ours, theirs)


def _method(word: str) -> tuple[str, dict[Key, Reading]]:
    name, equals, folder = word.partition("=")
    path = Path(folder if equals and name and not Path(word).exists() else word)
    runs = map(check, folders([path]))
    rows = ((run.name, *row) for run in runs for row in zip(run.ready.matched.texts, run.found, strict=True))
    method = path.resolve().name if path == Path(word) else name
    return method, agreement.readings(method, rows)


def _sheet(given: argparse.Namespace, both: Pair) -> str:
    from halluscope.reliability import review

    drawn = agreement.draw(
        both,
        given.agreeing,
        given.disagreeing,
        given.seed,
        review.image_by_id(given.dataset, given.images) if given.dataset else lambda image: None,
    )
    return review.write(drawn, given.out, READING, f"Review of {AND.join(both.names)}")
