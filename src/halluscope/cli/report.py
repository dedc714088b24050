"""Writes a page that shows what went wrong in runs, and figures of them."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from halluscope.benchmark import Benchmark
from halluscope.cli.parameters import File, Folder, Resampling, Runs
from halluscope.cli.printing import check_output
from halluscope.cli.report_pictures import Wanted, find_pictures
from halluscope.errors import RunError
from halluscope.files.writing import check_new, new_folder
from halluscope.reporting.page.writing import write
from halluscope.reporting.report_items import Shown
from halluscope.runs.folder import benchmark_of, checked
from halluscope.runs.page import UNCOMPARED, all_shown, page
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell

PAGE = Path("report.html")

CAPTIONS = "captions.txt"

FORMATS = ("svg", "pdf")


def report(
    runs: Runs,
    /,
    *,
    out: File | None = None,
    figures: Folder | None = None,
    dataset: Annotated[str | None, Parameter(metavar="DATASET")] = None,
    images: Annotated[str | None, Parameter(metavar="FOLDER")] = None,
    credits: File | None = None,
    resampling: Resampling = Resampling(),
) -> None:
    """Write a page that shows what went wrong: scores, figures, each response's errors.

    Args:
        runs: runs of `halluscope score NAME ... --out FOLDER` of one benchmark, or folders of such runs
        out: write the page to this new file (default: report.html; with --figures, no page)
        figures: write the figures to this new folder, as svg and pdf, each with a caption
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
    models = all_shown(scored)
    if figures is not None:
        draw(models, benchmark_of(scored), figures)
    if out is None:
        return
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


def draw(models: list[Shown], benchmark: Benchmark, folder: Path) -> None:
    """Write the figures that runs allow as files, each titled with the question it answers."""
    from halluscope.reporting.figures.plots import FIGURES, able

    plots, lacking = able(list(FIGURES), models, benchmark)
    for name, why in lacking.items():
        tell(f"{name} is not drawn: {why}.")
    if not plots:
        raise RunError(f"There is nothing to draw, so {folder} was not written.")
    captions = []
    with new_folder(folder) as new:
        for plot in plots:
            captions.append(f"{plot.name}: {plot.title}\n{plot.caption}\n")
            for style in FORMATS:
                (new / f"{plot.name}.{style}").write_bytes(plot.saved(style))
        (new / CAPTIONS).write_text("\n".join(captions), "utf-8", "backslashreplace", "\n")
    for plot in plots:
        names = ", ".join(f"{plot.name}.{style}" for style in FORMATS)
        say(f"{one_line(folder)}: {names}: {plot.title}")
    say(f"{one_line(folder / CAPTIONS)} says what the figures show, and how it was counted")
