"""Makes sheets on which people mark rows, and reads the marked sheets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from halluscope.cli.certify import judged_texts, labelled_benchmark
from halluscope.cli.parameters import File, Folder, Whole, declared, for_name
from halluscope.cli.printing import Output
from halluscope.cli.responses import MATCHING, Chosen, chosen
from halluscope.judging.verdicts import RUN
from halluscope.paths import path_of
from halluscope.reading.datasets import Source, read_rows
from halluscope.responses import reading
from halluscope.runs.folder import check
from halluscope.sanitize import one_line
from halluscope.stats.corrected import FEWEST_TEXTS
from halluscope.stats.samples import FEWEST_MARKED
from halluscope.studies import graders, labels, sheet_rows
from halluscope.studies.judgement import judge
from halluscope.studies.marked_sheet import read_partly_marked, read_sheet
from halluscope.studies.marks import says
from halluscope.studies.sheet import (
    AGREE,
    IMPLIED,
    VALID,
    VERDICT,
    Draft,
    check_folder,
    marks_in_words,
    write,
)
from halluscope.terminal import say

# The group of options that matter only to --marks implied
IMPLYING = Group("With --marks implied, the judges whose votes guide the draw", sort_key=9)

ROWS = (VALID, AGREE)  # the marks of a dataset's rows
# an option of `sheet make` -> the marks that it is for
MARKS_OF_OPTION = {
    "stratum": ROWS,
    "responses": (AGREE, IMPLIED),
    "images": (VALID, AGREE, VERDICT),
    "dataset": (VERDICT,),
    "like": (IMPLIED,),
}

# how many marks are needed to correct scores by them
FEWEST = {VERDICT: FEWEST_MARKED, IMPLIED: FEWEST_TEXTS}


def command() -> Callable[..., None]:
    """Return the command `sheet make`, with the options of the judges whose votes guide the draw of texts."""
    benchmark = labelled_benchmark()
    options = declared(MATCHING, IMPLYING) + declared(benchmark.options, IMPLYING)
    return for_name(make, benchmark.name, options)


@dataclass(frozen=True)
class Sample:
    """What a sheet is drawn from, and how."""

    rows: str
    size: int  # how many are drawn; 0 where `like` says it
    like: Path | None  # the sheet whose images are drawn
    seed: int
    stratum: str | None
    responses: Sequence[str]
    images: Path | None
    dataset: str | None


def make(
    name: str,
    rows: str,
    /,
    *,
    out: Folder,
    sample: Whole | None = None,
    like: File | None = None,
    seed: Whole = 0,
    marks: Annotated[str, Parameter(choices=(VALID, AGREE, IMPLIED, VERDICT))] = VALID,
    stratum: Annotated[str | None, Parameter(metavar="COLUMN")] = None,
    responses: Annotated[Sequence[str], Parameter(metavar="FILE...")] = (),
    images: Folder | None = None,
    dataset: Annotated[str | None, Parameter(metavar="DATASET")] = None,
    **options: Any,
) -> None:
    """Draw a sample, and write a page and a CSV to mark it on.

    Args:
        rows: JSON lines, a .parquet file, or a dataset (folder or Hub id; name:config); a run with --marks verdict
        out: write page.html and sheet.csv here
        sample: how many rows to draw; with --stratum, how many per stratum; with --marks implied or verdict, how many
            responses
        like: in place of --sample, with --marks implied: draw the responses to the images of this sheet, which was made
            for another LVLM; `study certify --certificate` then compares the two more closely
        seed: seed of the draw (default: 0)
        marks: valid: are question and right answer valid? agree: do you agree with the response, or with its verdict?
            implied: which classes does a response imply? (for `study certify`; responses of one LVLM); verdict: how do
            you judge a response that a grader judged? (for `study certify --run`)
        stratum: draw from each value of this column
        responses: with --marks agree: files of models' responses, each of which is marked (for `study reliability
            --criterion`); with --marks implied: one such file
        images: the folder of the image files that the rows name
        dataset: with --marks verdict: the dataset, to show its images
    """
    values = {
        "stratum": stratum,
        "responses": responses or None,
        "images": images,
        "dataset": dataset,
        "like": like,
    }
    for option, value in values.items():
        if value is not None and marks not in MARKS_OF_OPTION[option]:
            of_option = " or ".join(MARKS_OF_OPTION[option])
            raise ValueError(f"--{option} is for --marks {of_option}; the marks are {marks}.")
    for option in options:
        if marks != IMPLIED:
            raise ValueError(f"--{option.replace('_', '-')} is for --marks {IMPLIED}; the marks are {marks}.")
    if (sample is None) == (like is None):
        raise ValueError("Expected --sample, how many to draw, or --like, a sheet whose images are drawn.")
    check_folder(out)
    source = Sample(rows, sample or 0, like, seed, stratum, responses, images, dataset)
    if marks == VERDICT:
        draft = _verdicts(source)
    elif marks == IMPLIED:
        draft = _texts(source, chosen(labelled_benchmark(), name, options))
    else:
        draft = _rows(source)
    sheet = write(draft, out, marks)
    pictured = sum("image" in row for row in draft.rows)
    say(f"{one_line(out)}: the sheet {sheet}, {len(draft.rows):,} rows, {pictured:,} with an image")
    fewest = FEWEST.get(marks, 0)
    if sample is not None and sample < fewest:
        say(f"This shows how the judge errs; to correct scores, mark at least {fewest} responses, or all.")
    say(how_to_mark(out, marks))


def _rows(sample: Sample) -> Draft:
    if (path_of(sample.rows) / RUN).is_file():
        raise ValueError(
            f"{one_line(sample.rows)} is a run; expected rows or a dataset. Mark its verdicts with --marks {VERDICT}."
        )
    texts = {}
    for file in reading.read(sample.responses):
        reading.check_complete(file)
        rows_of_file = zip(file.table.rows(), file.texts, strict=True)
        texts[file.name] = [{**row, "response": text} for row, text in rows_of_file]
    images = sheet_rows.Images(read_rows(sample.rows), sample.images, Source.of(sample.rows).folder)
    rows = sheet_rows.draw(images, sample.size, sample.seed, sample.stratum, texts)
    return Draft(rows, f"Review of {Path(sample.rows).name}")


def _verdicts(sample: Sample) -> Draft:
    """Draw a run's responses by their verdicts."""
    run = check(path_of(sample.rows))
    image = sheet_rows.image_by_id(sample.dataset, sample.images)
    rows = graders.draw_sheet(run, sample.size, sample.seed, image)
    return Draft(rows, f"Verdicts on the responses of {run.name}")


def _texts(sample: Sample, choice: Chosen) -> Draft:
    """Draw texts by the judges' votes."""
    ready, ids = judged_texts(choice, sample.responses, [sample.rows])
    judgement = judge(ready.matched.texts, ready.inputs["references"], choice.options)
    if sample.like is None:
        rows = labels.draw_sheet(judgement, ids, sample.size, sample.seed)
    else:
        rows = labels.draw_like(judgement, ids, read_partly_marked(sample.like))
    return Draft(rows, f"What the responses of {ready.matched.name} imply", judgement.vocabulary.classes)


def read(sheet: File, /, *, allow_unmarked: bool = False, output: Output = Output()) -> None:
    """Print what a marked sheet says.

    Args:
        sheet: the CSV that the page saved, or a spreadsheet
        allow_unmarked: leave out rows without a mark
    """
    said = says(read_sheet(sheet, allow_unmarked))
    output.show(said.data, lambda: said.report)


def how_to_mark(folder: Path, kind: str) -> str:
    """Say how a sheet of a kind in a folder is marked."""
    out = one_line(folder)
    return (
        f"Open {out}/page.html in a browser, or fill the column mark of {out}/sheet.csv in a spreadsheet "
        f"({marks_in_words(kind)})."
    )
