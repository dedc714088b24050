"""Commands about runs that `halluscope score --out` wrote."""

from argparse import Namespace
from itertools import islice

from halluscope.cli import common
from halluscope.errors import RunError
from halluscope.reporting.formats import JSON, LATEX
from halluscope.reporting.tables import Notes, Report, Table
from halluscope.runs import comparing, exporting, folder, results
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, tell, tell_error

SHOWN = 10  # how many differences of one run are printed


def verify(given: Namespace) -> None:
    """Score each run again from what its judges said; no judge is asked."""
    found, bad = results.verify(given.folders), 0
    for path, differences in found.items():
        name, first = one_line(path), list(islice(differences, SHOWN))
        for difference in first:
            tell_error(f"{name}: {difference}")
        if more := sum(1 for _ in differences):
            tell_error(f"{name}: {more:,} more")
        if not first:
            say(f"{name}: unchanged, and its scores follow from its rows")
        bad += bool(first)
    if bad:
        raise RunError(f"{bad} of {len(found)} runs did not pass.")


def compare(given: Namespace) -> None:
    """Tell whether one model is better than another, on the rows that all runs have."""
    resampling = Bootstrap(given.bootstrap, given.seed, given.level)
    is_short = given.format == LATEX and not given.all
    found = results.compare(given.folders, given.scores, resampling, None if given.all else comparing.MOST)
    if given.format == JSON:
        tell("\n".join(line for part in found.report if isinstance(part, Notes) for line in part.lines))
    common.output(given, found, lambda: _for_a_paper(found.report) if is_short else found.report)


def _for_a_paper(report: Report) -> Report:
    """Return the table of differences alone, with the names of its runs, and the notes."""
    runs, differences, *others = report
    assert isinstance(runs, Table)
    letters = [f"{letter} is {one_line(name)}" for letter, name, *_ in runs.rows]
    return [differences, Notes(letters), *(part for part in others if isinstance(part, Notes))]


def swap(given: Namespace) -> None:
    """Tell what another judge of the same responses changes."""
    resampling = Bootstrap(given.bootstrap, given.seed)
    common.output(given, comparing.swap(given.first, given.second, given.scores, resampling))


def items(given: Namespace) -> None:
    """Show how hard each row is, and how well it tells models apart."""
    common.output(given, comparing.items(given.folders, given.score, given.top, given.seed))


def export(given: Namespace) -> None:
    """Write a run in a format that others read."""
    run = folder.check(given.folder)
    for file in exporting.export(run, given.model, given.by, given.relation, given.out):
        say(one_line(file))


def leaderboard(given: Namespace) -> None:
    """Show the results on the Hub for a benchmark, beside the user's runs and the paper's rows."""
    from halluscope.hub.results import entries, report

    runs = folder.checked(given.runs) if given.runs else {}
    found = entries(given.repository)
    common.output(given, found, lambda: list(report(found, given.repository, runs, given.scores)))
