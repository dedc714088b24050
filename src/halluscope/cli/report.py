"""Writes a page that shows what went wrong in runs, and figures of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from halluscope.cli.parameters import File, Folder, Resampling, Runs, Scores
from halluscope.cli.printing import check_output
from halluscope.cli.report_pictures import Wanted, find_pictures
from halluscope.errors import RunError
from halluscope.files.writing import check_new
from halluscope.reporting.figures import CAPTIONS, FORMATS
from halluscope.reporting.figures import write as write_figures
from halluscope.reporting.page.writing import write
from halluscope.runs.figures import draw
from halluscope.runs.folder import checked
from halluscope.runs.page import UNCOMPARED, all_shown, page
from halluscope.runs.run import Run
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell

PAGE = Path("report.html")

# The group of options of figures
FIGURES = Group("Figures", sort_key=6)


def report(
    runs: Runs,
    /,
    *,
    out: File | None = None,
    figures: Annotated[Folder | None, Parameter(group=FIGURES)] = None,
    scores: Annotated[Scores, Parameter(group=FIGURES)] = (),
    format: Annotated[Sequence[str], Parameter(choices=FORMATS, group=FIGURES)] = ("svg", "pdf"),
    dataset: Annotated[str | None, Parameter(metavar="DATASET")] = None,
    images: Annotated[str | None, Parameter(metavar="FOLDER")] = None,
    credits: File | None = None,
    resampling: Resampling = Resampling(),
) -> None:
    """Write a page that shows what went wrong: scores, figures, each response's errors.

    Args:
        runs: runs of `halluscope score NAME ... --out FOLDER` of one benchmark, or folders of such runs; figures also
            draw two benchmarks against each other
        out: write the page to this new file (default: report.html; with --figures, no page)
        figures: write figures to this new folder, each with a caption: scores, errors by class and along the text, or
            two benchmarks against each other
        scores: the scores to draw (default: all of the principal score's kind; of two benchmarks the principal scores)
        format: the formats of the figures' files (default: svg pdf)
        dataset: show the images of this dataset: a folder or a Hub id; a file needs --images (default: the dataset
            that the run names, if it is here); none shows none
        images: the folder of the image files, if --dataset was built without them, or if they are named by image
            number
        credits: COCO's annotation file, which names each image's owner and licence
    """
    if figures is None:
        out = out or PAGE
    else:
        check_new(figures)
    if out is not None:
        check_output(out)
    scored = checked(runs)
    if figures is not None:
        draw_figures(scored, scores, format, figures)
    if out is None:
        return
    models = all_shown(scored)
    responses = 0
    names: set[str] = set()
    for model in models:
        responses += len(model.items)
        names.update(item.image for item in model.items if item.image is not None)
    pictures = find_pictures(Wanted(dataset, images, credits), scored, names)
    whole = page(models, pictures, scored, resampling.bootstrapped())
    if UNCOMPARED in whole.facts:
        tell(f"{UNCOMPARED}: {whole.facts[UNCOMPARED]}")
    write(whole, out)
    say(f"{out}: {responses:,} responses, {len(pictures):,} images")


def draw_figures(
    runs: Mapping[str, Run], scores: Sequence[str], formats: Sequence[str], folder: Path
) -> None:
    """Write the figures that runs allow as files."""
    figures = draw(runs, scores)
    if not figures:
        raise RunError(
            f"There is nothing to draw, so {folder} was not written: the runs have no defined score."
        )
    formats = list(dict.fromkeys(formats))
    write_figures(figures, folder, formats)
    for figure in figures:
        files = ", ".join(f"{figure.name}.{form}" for form in formats)
        say(f"{one_line(folder)}: {files}: {figure.title}")
    say(f"{one_line(folder / CAPTIONS)} says what the figures show, and how it was counted")
