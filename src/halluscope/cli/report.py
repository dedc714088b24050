"""`halluscope report RUN...`: writes a page that shows what went wrong: scores, figures, each response's errors."""

import argparse
from collections.abc import Mapping

from halluscope.answering.sources import find_images
from halluscope.cli import common
from halluscope.errors import RunError
from halluscope.reading.credits import credits
from halluscope.reporting.page.content import Picture
from halluscope.reporting.page.pictures import pictures
from halluscope.reporting.page.writing import write
from halluscope.runs.comparing import Comparison, compare
from halluscope.runs.folder import checked
from halluscope.runs.page import all_shown, page
from halluscope.runs.run import Run, benchmark_of
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import is_quiet, say, tell


def add(parser: argparse.ArgumentParser) -> None:
    common.add_runs(parser, " of one benchmark, or folders of such runs")
    option = parser.add_argument
    option("--out", required=True, **common.FILE, help="write the page to this new file, such as report.html")
    option("--dataset", metavar="DATASET", help="show the images of this built dataset: a folder or a Hub id")
    option(
        "--images",
        metavar="FOLDER",
        help="the folder of the image files, if --dataset was built without them, or if they are named by image number",
    )
    option(
        "--credits",
        **common.FILE,
        help="COCO's annotation file, which names each image's owner and licence",
    )
    common.add_intervals(parser, "resamples for comparing several runs; 0 for no comparison")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    common.check_output(given, "out")
    runs = checked(given.folders)
    benchmark = benchmark_of(runs.values())
    models = all_shown(runs)
    wanted = {item.image for model in models for item in model.items if item.image is not None}
    made = _pictures(given, wanted)
    compared, why = _compared(runs, Bootstrap(given.bootstrap, given.seed))
    facts = {"Not compared": why} if why else {}
    write(page(benchmark, models, made, compared, facts), given.out)
    say(f"{given.out}: {sum(len(model.items) for model in models):,} responses, {len(made):,} images")


def _compared(runs: Mapping[str, Run], resampling: Bootstrap) -> tuple[Comparison | None, str]:
    if len(runs) < 2 or not resampling.resamples:
        return None, ""
    try:
        return compare(runs, [], resampling), ""
    except RunError as error:
        tell(f"Not compared: {error}")
        return None, str(error)


def _pictures(given: argparse.Namespace, wanted: set[str]) -> dict[str, Picture]:
    if not (given.dataset or given.images):
        if given.credits:
            raise ValueError("--credits is about images; give --dataset or --images too.")
        return {}
    known, find = find_images(given.dataset, given.images, wanted)
    there = sorted(wanted & known.keys())
    if missing := sorted(wanted - known.keys()):
        where = given.dataset or given.images
        if not there:
            raise ValueError(
                f"{one_line(where)} has none of the {len(wanted):,} images, such as {one_line(missing[0], 80)}; "
                "expected the images of the dataset that was scored."
            )
        tell(f"{len(missing):,} of {len(wanted):,} images are not in {one_line(where)}.")
    owners = credits(given.credits) if given.credits else {}
    if given.credits and not owners.keys() & {*there}:
        tell(f"{one_line(given.credits)} names no licence for any of these images.")
    return pictures(there, lambda name: find(known[name]), owners, not is_quiet())
