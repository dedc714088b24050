"""Commands that show runs: a page, figures, and the demo."""

import hashlib
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from halluscope import registry
from halluscope.cli import common
from halluscope.errors import NoImages, RunError
from halluscope.files.writing import check_new, check_no_folder, new_file, new_folder
from halluscope.reporting.page.content import Picture
from halluscope.reporting.page.pictures import pictures
from halluscope.reporting.page.writing import parts, write
from halluscope.runs.folder import benchmark_of, checked
from halluscope.runs.page import all_shown, best_first, page
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import is_quiet, say, say_coloured, tell

CAPTIONS = "captions.txt"


def report(given: Namespace) -> None:
    """Write a page that shows what went wrong: scores, figures, each response's errors."""
    from halluscope.runs.comparing import compare

    common.check_output(given, given.out)
    runs = checked(given.folders)
    models = all_shown(runs)
    wanted = {item.image for model in models for item in model.items if item.image is not None}
    made = _pictures(given, wanted)
    compared, facts = None, {}
    if len(runs) > 1 and given.bootstrap:
        try:
            compared = compare(runs, [], Bootstrap(given.bootstrap, given.seed))
        except RunError as error:
            tell(f"Not compared: {error}")
            facts = {"Not compared": str(error)}
    write(page(benchmark_of(runs.values()), models, made, compared, facts), given.out)
    say(f"{given.out}: {sum(len(model.items) for model in models):,} responses, {len(made):,} images")


def _pictures(given: Namespace, wanted: set[str]) -> dict[str, Picture]:
    from halluscope.answering.sources import find_images
    from halluscope.reading.coco import credits
    from halluscope.reading.datasets import Source

    if not (given.dataset or given.images):
        if given.credits:
            raise ValueError("--credits is about images; give --dataset or --images too.")
        return {}
    # a file that `score --dataset` took holds no images of its own
    is_file = bool(given.dataset) and Path(Source.of(given.dataset).name).is_file()
    where = given.images if is_file else given.dataset or given.images
    try:
        if not where:
            raise NoImages(f"{given.dataset} is a file without images; --images FOLDER names them.")
        known, find = find_images(None if is_file else given.dataset, given.images, wanted)
    except NoImages as error:
        tell(f"The page has no pictures: {one_line(error, 300)}")
        return {}
    there = sorted(wanted & known.keys())
    if missing := sorted(wanted - known.keys()):
        which = "the" if not there else f"{len(missing):,} of the"
        lacking = "The page has no pictures: " * (not there)
        tell(
            f"{lacking}{which} {len(wanted):,} images, such as {one_line(missing[0], 80)}, are not in "
            f"{one_line(where)}."
        )
    owners = credits(given.credits) if given.credits else {}
    if given.credits and not owners.keys() & {*there}:
        tell(f"{one_line(given.credits)} names no licence for any of these images.")
    return pictures(there, lambda name: find(known[name]), owners, not is_quiet())


# plot


def parser_plot(parser: ArgumentParser, _: None) -> None:
    from halluscope.reporting.figures.plots import FIGURES

    figures = parser._option_string_actions["--figures"]
    figures.default = [*FIGURES]
    figures.help = f"{figures.help}: {', '.join(FIGURES)}"


def plot(given: Namespace) -> None:
    """Write the figures of runs as files."""
    from halluscope.reporting.figures.plots import able, check

    check(given.figures)
    check_no_folder(given.out)
    runs = checked(given.folders)
    benchmark = benchmark_of(runs.values())
    plots, lacking = able(given.figures, best_first(benchmark, all_shown(runs)), benchmark)
    for name, why in lacking.items():
        tell(f"{name} is not drawn: {why}.")
    if not plots:
        raise RunError(f"There is nothing to draw, so {given.out} was not written.")
    styles = [*dict.fromkeys(given.format)]
    with new_folder(given.out) as new:
        for plot in plots:
            for style in styles:
                (new / f"{plot.name}.{style}").write_bytes(plot.saved(style))
        captions = "\n".join(f"{plot.name}: {plot.title}\n{plot.caption}\n" for plot in plots)
        (new / CAPTIONS).write_text(captions, "utf-8", "backslashreplace", "\n")
    for plot in plots:
        names = ", ".join(f"{plot.name}.{style}" for style in styles)
        say(f"{one_line(given.out)}: {names}: {plot.title}")
    say(f"{one_line(given.out / CAPTIONS)} says what the figures show, and how it was counted")


# demo

# The end of a demo's page
MADE = "\n<!-- written by halluscope demo, which replaces it while the sha256 of all above is {} -->\n"


def parser_demo(parser: ArgumentParser, _: None) -> None:
    (names,) = (action for action in parser._actions if action.dest == "name")
    names.choices = [one.name for one in registry.benchmarks() if (one.folder / "demo").is_dir()]
    names.default = names.choices[0]


def demo(options: Namespace) -> None:
    """Score a benchmark's embedded example, show it, and say what to type next."""
    from halluscope.reporting.formats import TABLE, written
    from halluscope.reporting.marked_text import LEGEND, marked

    out: Path = options.out
    if not _is_ours(out):
        check_new(out)
    benchmark = registry.benchmark(options.name)
    example = benchmark.module("demo")
    shown, images = example.shown(), example.pictures()
    say(f"{benchmark.title} on {len(shown.items)} embedded descriptions, in percent\n")
    say(written(benchmark.module("report").report([(shown.name, shown.scores)]), TABLE)[0])
    say(f"\nThe descriptions: {LEGEND}")
    for item in shown.items:
        say(f"\nimage {item.id}: {', '.join(item.errors) or 'nothing wrong'}")
        say_coloured(marked(item))
    made = page(benchmark, [shown], images)
    warned = [replace(one, warnings=[example.WARNING, *one.warnings]) for one in made.headlines]
    content = "".join(parts(replace(made, headlines=warned)))
    with new_file(out, newline="") as file:
        file.write(content + _end(content))
    say(f"\n{one_line(out)} shows all this with the pictures; open it in a browser.")
    say(f"\nNext, a model and images of your own:\n\n{example.NEXT}\n\n{example.ABOUT_NEXT}")


def _is_ours(path: Path) -> bool:
    """Whether a demo wrote the page at `path`, and nobody changed it."""
    if not path.is_file():
        return False
    content = path.read_text("utf-8", "replace")
    start = content.rfind(MADE.partition("{")[0])
    return start >= 0 and content[start:] == _end(content[:start])


def _end(content: str) -> str:
    return MADE.format(hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest())
