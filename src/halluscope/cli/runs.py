"""Commands about runs that `halluscope score --out` wrote: checks, comparisons, a page, figures; and the demo."""

import hashlib
from argparse import ArgumentParser, Namespace
from itertools import islice
from pathlib import Path

from halluscope import registry
from halluscope.cli import common
from halluscope.cli.report_pictures import find_pictures
from halluscope.errors import RunError
from halluscope.files.writing import check_new, new_file, new_folder
from halluscope.options import check_names
from halluscope.reporting.formats import JSON, LATEX, text_notes
from halluscope.reporting.page.writing import parts, write
from halluscope.reporting.tables import Notes, Report, Table
from halluscope.runs import results
from halluscope.runs.comparison_report import MOST
from halluscope.runs.folder import benchmark_of, checked
from halluscope.runs.page import UNCOMPARED, all_shown, page
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.studies import items as row_items
from halluscope.studies import swap as swaps
from halluscope.terminal import say, say_coloured, tell, tell_error

SHOWN = 10  # how many differences of one run are printed


def verify(args: Namespace) -> None:
    """Score each run again from what its judges said; no judge is asked."""
    found, bad = results.verify(args.folders), 0
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


def compare(args: Namespace) -> None:
    """Tell whether one model is better than another, on the rows that all runs have."""
    resampling = Bootstrap(args.bootstrap, args.seed, args.level)
    is_short = args.format == LATEX and not args.all
    found = results.compare(args.folders, args.scores, resampling, None if args.all else MOST)
    if args.format == JSON:
        tell(text_notes(found.report))
    common.output(args, found, lambda: _for_a_paper(found.report) if is_short else found.report)


def _for_a_paper(report: Report) -> Report:
    """Return the table of differences alone, with the names of its runs in the place of letters, and the notes."""
    runs, differences, *others = report
    assert isinstance(runs, Table) and isinstance(differences, Table)
    names = {letter: name for letter, name, *_ in runs.rows}
    rows = [
        [score, " - ".join(str(names[of]) for of in str(two).split("-")), *cells, names.get(better)]
        for score, two, *cells, better in differences.rows
    ]
    return [differences._replace(rows=rows), *(part for part in others if isinstance(part, Notes))]


def swap(args: Namespace) -> None:
    """Tell what another judge of the same responses changes."""
    resampling = Bootstrap(args.bootstrap, args.seed)
    common.output(args, swaps.swap(args.first, args.second, args.scores, resampling))


def items(args: Namespace) -> None:
    """Show how hard each row is, and how well it tells models apart."""
    common.output(args, row_items.items(args.folders, args.score, args.top, args.seed))


# report

CAPTIONS = "captions.txt"


def report(args: Namespace) -> None:
    """Write a page that shows what went wrong: scores, figures, each response's errors."""
    common.check_output(args, args.out)
    runs = checked(args.folders)
    models = all_shown(runs)
    wanted = {item.image for model in models for item in model.items if item.image is not None}
    made = find_pictures(args, runs, wanted)
    whole = page(models, made, runs, Bootstrap(args.bootstrap, args.seed))
    tell("".join(": ".join(fact) for fact in whole.facts.items() if UNCOMPARED in fact))
    write(whole, args.out)
    say(f"{args.out}: {sum(len(model.items) for model in models):,} responses, {len(made):,} images")


# plot


def plot(args: Namespace) -> None:
    """Write the figures of runs as files."""
    from halluscope.reporting.figures.plots import FIGURES, able

    check_names("There is no figure", args.figures, FIGURES)
    check_new(args.out)
    runs = checked(args.folders)
    benchmark = benchmark_of(runs)
    plots, lacking = able(args.figures, all_shown(runs), benchmark)
    for name, why in lacking.items():
        tell(f"{name} is not drawn: {why}.")
    if not plots:
        raise RunError(f"There is nothing to draw, so {args.out} was not written.")
    styles = [*dict.fromkeys(args.format)]
    with new_folder(args.out) as new:
        for plot in plots:
            for style in styles:
                (new / f"{plot.name}.{style}").write_bytes(plot.saved(style))
        captions = "\n".join(f"{plot.name}: {plot.title}\n{plot.caption}\n" for plot in plots)
        (new / CAPTIONS).write_text(captions, "utf-8", "backslashreplace", "\n")
    for plot in plots:
        names = ", ".join(f"{plot.name}.{style}" for style in styles)
        say(f"{one_line(args.out)}: {names}: {plot.title}")
    say(f"{one_line(args.out / CAPTIONS)} says what the figures show, and how it was counted")


# demo

# The end of a demo's page
MADE = "\n<!-- written by halluscope demo, which replaces it while the sha256 of all above is {} -->\n"


def parser_demo(parser: ArgumentParser, _: None) -> None:
    (names,) = (action for action in parser._actions if action.dest == "name")
    names.choices = [one.name for one in registry.benchmarks() if (one.folder / "demo").is_dir()]
    names.default = names.choices[0]


def demo(args: Namespace) -> None:
    """Score a benchmark's embedded example, show it, and say what to type next."""
    from halluscope.reporting.formats import TABLE, written
    from halluscope.reporting.marked_text import LEGEND, marked

    out: Path = args.out
    if not _is_ours(out):
        check_new(out)
    benchmark = registry.benchmark(args.name)
    example = benchmark.module("demo")
    shown, images = example.shown(), example.pictures()
    say(f"{benchmark.title} on {len(shown.items)} embedded descriptions, in percent\n")
    say(written(benchmark.module("report").report([(shown.name, shown.scores)]), TABLE))
    say(f"\nThe descriptions: {LEGEND}")
    for item in shown.items:
        say(f"\nimage {item.id}: {', '.join(item.errors) or 'nothing wrong'}")
        say_coloured(marked(item))
    made = page([shown], images)
    warned = [one._replace(warnings=[example.WARNING, *one.warnings]) for one in made.headlines]
    with new_file(out) as file:
        file.write(_marked("".join(parts(made._replace(headlines=warned)))))
    say(f"\n{one_line(out)} shows all this with the pictures; open it in a browser.")
    say(f"\nNext, a model and images of your own:\n\n{example.NEXT}\n\n{example.ABOUT_NEXT}")


def _is_ours(path: Path) -> bool:
    """Whether a demo wrote the page at `path`, and nobody changed it."""
    content = path.read_text("utf-8", "replace") if path.is_file() else ""
    return content == _marked(content.rpartition(MADE.partition("{")[0])[0])


def _marked(content: str) -> str:
    return content + MADE.format(hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest())
