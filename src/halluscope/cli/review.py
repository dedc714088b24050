"""`halluscope review make ROWS` and `review read SHEET.csv`: has people mark rows, readings, or texts."""

import argparse
from pathlib import Path

from halluscope.cli import common
from halluscope.reliability.sheet import AGREE, IMPLIED, VALID, VERDICT, read_sheet
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="make | read")
    _add_make(commands.add_parser("make", help="draw a sample, and write a page and a CSV to mark it on"))
    _add_read(commands.add_parser("read", help="print what a marked sheet says"))


def _add_make(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=make)
    option = parser.add_argument
    option(
        "rows",
        help="JSON lines, a .parquet file, or a dataset (folder or Hub id; name:config); a run with --marks verdict",
    )
    option("--out", required=True, **common.FOLDER, help="write page.html and sheet.csv here")
    option(
        "--sample",
        required=True,
        **common.COUNT,
        help="how many rows to draw; with --stratum, how many per stratum; with --marks implied or verdict, how many "
        "responses",
    )
    common.add_seed(parser, "the draw")
    option(
        "--marks",
        choices=(VALID, AGREE, IMPLIED, VERDICT),
        default=VALID,
        help="valid: are question and right answer valid? agree: do you agree with the response, or with its verdict? "
        "implied: which classes does a response imply? (for `certify`; responses of one LVLM); verdict: how do you "
        "judge a response that a grader judged? (for `certify --run`)",
    )
    option("--stratum", metavar="COLUMN", help="draw from each value of this column")
    option(
        "--responses",
        nargs="+",
        default=[],
        metavar="FILE",
        help="files of models' responses, each of which is marked (for `reliability --criterion`)",
    )
    option("--images", **common.FOLDER, help="the folder of the image files that the rows name")
    option("--dataset", metavar="DATASET", help="with --marks verdict: the dataset, to show its images")
    judging = parser.add_argument_group(
        "with --marks implied", "the judges whose votes guide the draw of texts, and how responses are read"
    )
    benchmark = common.certified()
    parser.set_defaults(name=benchmark.name)
    common.add_options(judging, benchmark)
    common.add_reading(judging, benchmark)


def _add_read(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=read)
    option = parser.add_argument
    option("sheet", type=Path, help="the CSV that the page saved, or a spreadsheet")
    option("--allow-unmarked", action="store_true", help="leave out rows without a mark")
    option(
        "--json",
        action="store_true",
        help="print JSON instead of tables; for models' responses, the list that `reliability` takes",
    )


def make(options: argparse.Namespace) -> None:
    if options.marks == IMPLIED:
        _make_implied(options)
        return
    if asked := [option.name for option in common.certified().options if hasattr(options, option.name)]:
        raise ValueError(f"{asked[0]} is for the judges of --marks {IMPLIED}; the marks are {options.marks}.")
    if options.marks == VERDICT:
        _make_verdicts(options)
        return
    if options.dataset:
        raise ValueError(f"--dataset is for --marks {VERDICT}; the marks are {options.marks}.")
    from halluscope.reading.datasets import Source, read_rows
    from halluscope.reliability import review

    drawn = review.draw(
        read_rows(options.rows),
        options.sample,
        options.seed,
        stratum=options.stratum,
        responses=review.read_responses(options.responses),
        images=options.images,
        folder=Source.of(options.rows).folder,
    )
    name = review.write(drawn, options.out, options.marks, f"Review of {Path(options.rows).name}")
    shown = sum(image is not None for _, image in drawn)
    say(f"{one_line(options.out)}: the sheet {name}, {len(drawn):,} rows, {shown:,} with an image")
    say(common.how_to_mark(options.out))


def _make_verdicts(options: argparse.Namespace) -> None:
    """Draw a run's responses by their verdicts."""
    from halluscope.reliability import review
    from halluscope.runs.certifying import sheet
    from halluscope.runs.folder import check
    from halluscope.stats.samples import FEWEST_MARKED

    if options.stratum or options.responses:
        raise ValueError(f"--stratum and --responses are for rows; expected neither with --marks {VERDICT}.")
    review.check_folder(options.out)
    run = check(Path(options.rows))
    image = review.image_by_id(options.dataset, options.images) if options.dataset else None
    drawn = sheet(run, options.sample, options.seed, image)
    name = review.write(drawn, options.out, VERDICT, f"Verdicts on the responses of {run.name}")
    say(f"{one_line(options.out)}: the sheet {name}, {options.sample:,} responses, {len(drawn):,} rows")
    if options.sample < FEWEST_MARKED:
        say(f"This shows how the judge errs; to correct scores, mark at least {FEWEST_MARKED} responses.")
    say(common.how_to_mark(options.out))


def _make_implied(options: argparse.Namespace) -> None:
    """Draw texts by the judges' votes."""
    from halluscope.reliability import review
    from halluscope.reliability.certificate import sheet
    from halluscope.stats.corrected import FEWEST_TEXTS

    if options.stratum or options.images:
        raise ValueError("--stratum and --images are for rows; expected neither with --marks implied.")
    review.check_folder(options.out)
    benchmark = common.certified()
    ready, ids, judging = common.judged_texts(options, benchmark, [options.rows])
    judgement = benchmark.module("metric").judge(ready.matched.texts, ready.inputs["references"], **judging)
    drawn = sheet(judgement, ids, options.sample, options.seed)
    title = f"What the responses of {ready.matched.name} imply"
    name = review.write(drawn, options.out, IMPLIED, title, judgement.vocabulary.classes)
    say(f"{one_line(options.out)}: the sheet {name}, {options.sample:,} texts, {len(drawn):,} rows")
    if options.sample < min(FEWEST_TEXTS, len(judgement.texts)):
        say(f"This is enough to certify a judge; to correct scores, label at least {FEWEST_TEXTS} texts.")
    say(common.how_to_mark(options.out))


def read(options: argparse.Namespace) -> None:
    from halluscope.reliability import review

    sheet = read_sheet(options.sheet, options.allow_unmarked)
    say(to_json(review.summary(sheet)) if options.json else "\n".join(review.lines(sheet)))
