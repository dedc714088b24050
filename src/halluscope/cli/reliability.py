"""`halluscope reliability FIRST.json`: measures how reliable a benchmark is, in the columns of HQM's Table I.

The files hold what `halluscope score NAME ... --json` printed for the same models. In a second run the models responded
again (`halluscope answer --sample --seed N`), or a judge judged again (`halluscope score --seed N`, or `--fresh`).
"""

import argparse
from pathlib import Path

from halluscope.cli import common
from halluscope.registry import LOWER
from halluscope.reliability import hqm
from halluscope.reliability.hqm import AGREE, CONTENT, CRITERION, DISAGREE, PARALLEL, RETEST
from halluscope.reliability.sheet import VALID, read_sheet
from halluscope.reporting.results import read_results
from halluscope.stats.bootstrap import Bootstrap


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    option = parser.add_argument
    option("first", type=Path, help="what `halluscope score ... --json` printed for three models or more")
    option("--retest", type=Path, metavar="FILE", help="the same for a second run with other seeds")
    option("--parallel", type=Path, metavar="FILE", help="the same for the parallel form")
    option(
        "--criterion",
        type=Path,
        metavar="FILE",
        help="the models' scores by people, as `review read --json` prints them",
    )
    option(
        "--content", type=Path, metavar="SHEET", help="a marked review sheet of questions and right answers"
    )
    option(
        "--by", metavar="SCORE", help="the score that is compared (default: the benchmark's principal one)"
    )
    option(
        "--criterion-by",
        metavar="SCORE",
        help=f"the score in --criterion (default: {AGREE}; {DISAGREE} if lower is better for --by); if higher is "
        "better for one of the two and lower for the other, the sign of one is reversed",
    )
    option("--published", action="store_true", help="show the paper's results too (Table I)")
    common.add_intervals(parser)
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    first = read_results(given.first)
    benchmark = hqm.benchmark_of(first)
    by = given.by or hqm.principal(benchmark)
    # people's score that is better in the same direction
    human = given.criterion_by or (DISAGREE if hqm.direction(first, by) == LOWER else AGREE)
    files = {RETEST: given.retest, PARALLEL: given.parallel, CRITERION: given.criterion}
    others = {name: read_results(path) for name, path in files.items() if path}
    if not others and not given.content:
        raise ValueError("Nothing to compare with; name --retest, --parallel, --criterion or --content.")
    resampling = Bootstrap(given.bootstrap, given.seed)
    found = {
        name: hqm.measure(name, first, second, by, human if name == CRITERION else by, resampling)
        for name, second in others.items()
    }
    if given.content:
        sheet = read_sheet(given.content)
        sheet.check(VALID)
        found[CONTENT] = hqm.content(sheet.ones(), sheet.strata())
    forms = (first, others[PARALLEL]) if PARALLEL in others else None
    common.output(
        given,
        lambda: {"benchmark": benchmark, "by": by, **found},
        lambda: hqm.report(benchmark, by, found, forms, given.published),
    )
