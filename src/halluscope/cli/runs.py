"""Commands about runs that `halluscope score --out` wrote: checks and comparisons."""

from typing import Annotated

from cyclopts import Parameter

from halluscope.cli.parameters import INTERVALS, OUTPUT, Decimal, Folder, Resampling, Runs, Scores, Whole
from halluscope.cli.printing import Output
from halluscope.errors import RunError
from halluscope.reporting.formats import JSON, LATEX, text_notes
from halluscope.reporting.tables import Cell, Notes, Report, Table
from halluscope.runs import calls
from halluscope.runs.comparison_report import MOST
from halluscope.sanitize import one_line, typed
from halluscope.studies import items as row_items
from halluscope.studies import swap as swaps
from halluscope.terminal import say, tell, tell_error

SHOWN = 10  # how many differences of one run are printed


def verify(runs: Runs, /) -> None:
    """Score each run again from what its judges said; no judge is asked.

    Args:
        runs: what `halluscope score NAME ... --out FOLDER` wrote: a run, or a folder of runs
    """
    by_run = calls.verify(runs)
    bad = 0
    for path, differences in by_run.items():
        name = one_line(path)
        count = 0
        for difference in differences:
            count += 1
            if count <= SHOWN:
                tell_error(f"{name}: {difference}")
        if count > SHOWN:
            tell_error(f"{name}: {count - SHOWN:,} more")
        if count:
            bad += 1
        else:
            say(f"{name}: unchanged, and its scores follow from its rows")
    if bad:
        raise RunError(f"{bad} of {len(by_run)} runs did not pass.")


def compare(
    runs: Runs,
    /,
    *,
    scores: Annotated[Scores, Parameter(group=OUTPUT)] = (),
    all: Annotated[bool, Parameter(group=OUTPUT)] = False,
    level: Annotated[Decimal, Parameter(group=INTERVALS)] = 0.95,
    resampling: Resampling = Resampling(),
    output: Output = Output(),
) -> None:
    """Tell whether one model is better than another, on the rows that all runs have.

    Args:
        runs: runs of `halluscope score NAME ... --out FOLDER`, or folders of runs; at least two
        scores: the scores to compare (default: the principal score)
        all: show all significant differences in groups and classes, not only the 20 surest; in LaTeX, all tables
        level: level of the intervals, and 1 minus the significance level (default: 0.95)
    """
    is_short = output.style == LATEX and not all
    most = None if all else MOST
    result = calls.compare(runs, scores, resampling.bootstrapped(level), most)
    if output.style == JSON:
        tell(text_notes(result.report))
    if is_short:
        output.show(result, lambda: _for_a_paper(result.report))
    else:
        output.show(result)
    output.tell_of_long_names(result["of"])
    words = ["report"]
    words += map(str, runs)
    output.tell_next(f"`{typed(words)}` shows the responses that differ.")


def _for_a_paper(report: Report) -> Report:
    """Return the table of differences alone, with the names of its runs in the place of letters, and the notes."""
    runs, differences, *rest = report
    assert isinstance(runs, Table) and isinstance(differences, Table)
    names: dict[Cell, str] = {}
    for row in runs.rows:
        names[row[0]] = str(row[1])
    rows = []
    for score, letters, *cells, better in differences.rows:
        first, second = str(letters).split("-")
        rows.append([score, f"{names[first]} - {names[second]}", *cells, names.get(better)])
    notes = [part for part in rest if isinstance(part, Notes)]
    short: list[Table | Notes] = [differences._replace(rows=rows)]
    short += notes
    return short


def swap(
    first: Folder,
    second: Folder,
    /,
    *,
    scores: Annotated[Scores, Parameter(group=OUTPUT)] = (),
    resampling: Resampling = Resampling(),
    output: Output = Output(),
) -> None:
    """Tell what another judge of the same responses changes.

    Args:
        first: a run by the first judge, or a folder of such runs, one per LVLM
        second: a run by the second judge, or a folder of such runs, one per LVLM
        scores: the scores to compare (default: the principal score)
    """
    output.show(swaps.swap(first, second, scores, resampling.bootstrapped()))


def items(
    runs: Runs,
    /,
    *,
    scores: Annotated[str, Parameter(metavar="SCORE")] = "",
    top: Whole = 20,
    seed: Whole = 0,
    output: Output = Output(),
) -> None:
    """Show how hard each row is, and how well it tells models apart.

    Args:
        runs: runs of `halluscope score NAME ... --out FOLDER`, or folders of runs; at least three
        scores: the score of a row (default: the principal score, if rows have one)
        top: show this many suspects (default: 20)
        seed: seed of the random subsets (default: 0)
    """
    if top < 0:
        raise ValueError(f"--top is {top}; expected how many suspects to show, 0 or more.")
    output.show(row_items.items(runs, scores, top, seed))
