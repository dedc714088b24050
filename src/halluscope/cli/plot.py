"""`halluscope plot RUN...`: writes the figures of runs as files."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from halluscope.cli import common
from halluscope.errors import RunError
from halluscope.files.writing import check_no_folder, new_folder
from halluscope.reporting.figures.plots import FIGURES, Plot, able, check
from halluscope.reporting.figures.style import FORMATS
from halluscope.runs import folder
from halluscope.runs.page import all_shown
from halluscope.runs.run import benchmark_of
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell

CAPTIONS = "captions.txt"


def add(parser: argparse.ArgumentParser) -> None:
    common.add_runs(parser, " of one benchmark, or folders of such runs")
    option = parser.add_argument
    option("--out", required=True, **common.FOLDER, help="a new folder for the figures")
    option(
        "--figures",
        nargs="+",
        default=[*FIGURES],
        metavar="FIGURE",
        help=f"the figures to draw (default: all that the runs allow of {', '.join(FIGURES)})",
    )
    option(
        "--format",
        nargs="+",
        choices=FORMATS,
        default=["svg", "pdf"],
        metavar="FORMAT",
        help=f"the formats of the files: {', '.join(FORMATS)} (default: svg pdf)",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    check(given.figures)
    check_no_folder(given.out)
    runs = folder.checked(given.folders)
    benchmark = benchmark_of(runs.values())
    plots, lacking = able(given.figures, all_shown(runs), benchmark)
    for name, why in lacking.items():
        tell(f"{name} is not drawn: {why}.")
    if not plots:
        raise RunError(f"There is nothing to draw, so {given.out} was not written.")
    with new_folder(given.out) as new:
        for plot in plots:
            _write(plot, given.format, new)
        (new / CAPTIONS).write_text("\n".join(map(_caption, plots)), "utf-8", "backslashreplace", "\n")
    for plot in plots:
        names = ", ".join(f"{plot.name}.{style}" for style in dict.fromkeys(given.format))
        say(f"{one_line(given.out)}: {names}: {plot.title}")
    say(f"{one_line(given.out / CAPTIONS)} says what the figures show, and how it was counted")


def _write(plot: Plot, styles: Sequence[str], folder: Path) -> None:
    for style in dict.fromkeys(styles):
        (folder / f"{plot.name}.{style}").write_bytes(plot.saved(style))


def _caption(plot: Plot) -> str:
    return f"{plot.name}: {plot.title}\n{plot.caption}\n"
