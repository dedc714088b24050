"""Writes a page that shows what went wrong in runs, figures of them, and their worst responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from halluscope.cli.parameters import File, Folder, Resampling, Runs, Scores, Whole
from halluscope.cli.printing import check_output
from halluscope.cli.report_pictures import Wanted, find_pictures
from halluscope.errors import RunError
from halluscope.files.writing import check_new, new_file
from halluscope.reporting.figures import CAPTIONS, FORMATS
from halluscope.reporting.figures import write as write_figures
from halluscope.reporting.page.writing import write
from halluscope.reporting.report_items import Shown
from halluscope.reporting.worst import worst_csv, worst_text
from halluscope.runs.figures import against_each_other, draw
from halluscope.runs.folder import checked
from halluscope.runs.page import UNCOMPARED, all_shown, book, by_benchmark, page
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, say_coloured, tell

PAGE = Path("report.html")
WORST_FILE = ".csv"  # the ending of a file for the worst responses

# The group of options of figures
FIGURES = Group("Figures", sort_key=6)


def report(
    runs: Runs,
    /,
    *,
    out: File | None = None,
    worst: Whole = 0,
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
        runs: runs of `halluscope score NAME ... --out FOLDER`, or folders of such runs; on the page each benchmark has
            a tab
        out: write the page to this new file (default: report.html; with --figures, no page)
        worst: print the N worst responses of each model instead of a page; with --out FILE.csv, write them as CSV
        figures: write figures to this new folder, each with a caption: of each benchmark scores, and errors by class
            and along the text; and two benchmarks against each other
        scores: the scores to draw (default: all of the principal score's kind; against each other the principal
            scores); of two benchmarks, one or two to draw against each other
        format: the formats of the figures' files (default: svg pdf)
        dataset: show the images of this dataset: a folder or a Hub id; a file needs --images (default: the dataset
            that the run names, if it is here); none shows none
        images: the folder of the image files, if --dataset was built without them, or if they are named by image
            number
        credits: COCO's annotation file, which names each image's owner and licence
    """
    if figures is not None:
        check_new(figures)
    if worst < 0:
        raise ValueError(f"--worst is {worst}; expected how many responses of each model, 1 or more.")
    if worst:
        _check_worst_file(out)
    elif figures is None and out is None:
        out = PAGE
    if out is not None:
        check_output(out)
    scored = checked(runs)
    if figures is not None:
        draw_figures(scored, scores, format, figures)
    if worst:
        show_worst(scored, worst, out)
    elif out is not None:
        where = Wanted(dataset, images, credits)
        write_page(runs, scored, where, resampling.bootstrapped(), out)


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


# The worst responses


def _check_worst_file(out: Path | None) -> None:
    if out is not None and out.suffix.lower() != WORST_FILE:
        raise ValueError(
            f"--worst writes CSV; got --out {one_line(out)}, expected a name that ends in {WORST_FILE}."
        )


def show_worst(runs: Mapping[str, Run], count: int, out: Path | None) -> None:
    """Print the worst responses of each model, or write them as CSV."""
    models_of: dict[str, list[Shown]] = {}
    for group in by_benchmark(runs).values():
        title = benchmark_of(group).title
        models_of[title] = all_shown(group)
        if out is None:
            say_coloured(worst_text(title, models_of[title], count))
    if out is None:
        return
    with new_file(out) as file:
        file.write(f"{worst_csv(models_of, count)}\n")
    say(f"{one_line(out)}: the worst responses, at most {count:,} of each model")


# The page


@dataclass(frozen=True)
class Content:
    """What a page shows of a benchmark."""

    runs: Mapping[str, Run]
    models: Sequence[Shown]

    @property
    def responses(self) -> int:
        return sum(len(model.items) for model in self.models)

    @property
    def images(self) -> set[str]:
        """The names of the images that the models were shown."""
        names: set[str] = set()
        for model in self.models:
            for item in model.items:
                if item.image is not None:
                    names.add(item.image)
        return names


def write_page(
    paths: Sequence[Path], runs: Mapping[str, Run], where: Wanted, resampling: Bootstrap, out: Path
) -> None:
    """Write a page of runs; each benchmark has a tab if there are several."""
    contents = [Content(group, all_shown(group)) for group in by_benchmark(runs).values()]
    images = sum(len(content.images) for content in contents)
    responses = 0
    pictures_shown = 0
    pages = []
    for content in contents:
        pictures = find_pictures(where, content.runs, content.images, images)
        page_of_benchmark = page(content.models, pictures, content.runs, resampling)
        if UNCOMPARED in page_of_benchmark.facts:
            tell(f"{UNCOMPARED}: {page_of_benchmark.facts[UNCOMPARED]}")
        pages.append(page_of_benchmark)
        responses += content.responses
        pictures_shown += len(pictures)
    if len(pages) == 1:
        write(pages[0], out)
    else:
        figures = [figure.on_page for figure in against_each_other(runs)]
        write(book(pages, runs, paths, figures), out)
    say(f"{one_line(out)}: {responses:,} responses, {pictures_shown:,} images")
