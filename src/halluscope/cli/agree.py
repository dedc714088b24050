"""Compares how two methods read classes from the same responses.

Source: THRONE, supplement, section 4. `study sheet read` reads the marked sheet.
"""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from halluscope.cli.parameters import File, Folder, Whole
from halluscope.cli.printing import Output, check_output
from halluscope.cli.sheets import how_to_mark
from halluscope.files.writing import json_line, new_file
from halluscope.paths import path_of
from halluscope.reporting.formats import JSON
from halluscope.runs.folder import checked
from halluscope.sanitize import one_line
from halluscope.studies import agreement
from halluscope.studies.sheet import READING, Draft, write
from halluscope.studies.sheet_rows import image_by_id
from halluscope.terminal import tell


def agree(
    first: str,
    second: str,
    /,
    *,
    each: File | None = None,
    out: Folder | None = None,
    agreeing: Whole = 5,
    disagreeing: Whole = 10,
    seed: Whole = 0,
    dataset: Annotated[str | None, Parameter(metavar="DATASET")] = None,
    images: Folder | None = None,
    output: Output = Output(),
) -> None:
    """Tell how often two methods read the same classes, and which one errs.

    Args:
        first: a run, or a folder of runs, that `halluscope score NAME ... --out FOLDER` wrote; METHOD=FOLDER names the
            method (default: the folder's name)
        second: the same by another method
        each: write what each method reads from each response, as JSON lines
        out: write page.html and sheet.csv here, to mark the methods' errors on
        agreeing: how many responses to draw per LVLM on which the methods agree (default: 5)
        disagreeing: how many to draw on which they disagree (default: 10)
        seed: seed of the draw (default: 0)
        dataset: a dataset whose images the sheet shows; its rows have image_id, and image or file_name
        images: the folder of the image files that the rows of --dataset name
    """
    if (dataset and not out) or (images and not dataset):
        raise ValueError(
            "--dataset needs --out, because its images go on the sheet; --images needs --dataset, whose files it holds."
        )
    if each:
        check_output(each)
    first_method = read_method(first)
    second_method = read_method(second)
    names = (first_method.name, second_method.name)
    compared = agreement.pair(names, first_method.readings, second_method.readings)
    result = agreement.compare(names, compared)
    sheet = None
    if out:
        picture = image_by_id(dataset, images)
        most = {agreement.AGREE: agreeing, agreement.DISAGREE: disagreeing}
        rows = agreement.draw(names, compared, most, seed, picture)
        sheet = write(Draft(rows, f"Review of {agreement.AND.join(names)}"), out, READING)
    if each:
        with new_file(each) as lines:
            for row in compared:
                lines.write(json_line(row.as_json()))
    output.show({**result, "sheet": sheet}, lambda: agreement.report(result))
    if sheet and out and output.style != JSON:
        tell(f"{one_line(out)}: the sheet {sheet}. {how_to_mark(out, READING)}")


@dataclass(frozen=True)
class Method:
    """What a method reads from responses."""

    name: str
    readings: dict[agreement.Key, agreement.Reading]


def read_method(word: str) -> Method:
    """Read the runs of a method, which the user names as FOLDER or METHOD=FOLDER."""
    path = path_of(word)
    name, equals, folder = word.partition("=")
    if equals and name and not path.exists():
        path = path_of(folder)
    else:
        name = path.resolve().name
    rows = []
    for run in checked([path]).values():
        for text, reading in zip(run.ready.matched.texts, run.found, strict=True):
            rows.append((run.name, text, reading))
    return Method(name, agreement.readings(rows))
