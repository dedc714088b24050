"""`halluscope demo [NAME]`: scores a benchmark's embedded example, shows it, and says what to type next."""

import argparse
import hashlib
from dataclasses import replace
from pathlib import Path

from halluscope import registry
from halluscope.files.writing import check_new, new_file
from halluscope.registry import Benchmark
from halluscope.reporting.formats import TABLE, written
from halluscope.reporting.marked_text import LEGEND, marked
from halluscope.reporting.page.content import Page
from halluscope.reporting.page.writing import parts
from halluscope.reporting.report_items import Shown
from halluscope.runs.page import page
from halluscope.sanitize import one_line
from halluscope.terminal import say, say_coloured

PAGE = Path("demo-report.html")

# The end of a demo's page
MADE = "\n<!-- written by halluscope demo, which replaces it while the sha256 of all above is {} -->\n"


def add(parser: argparse.ArgumentParser) -> None:
    known = [benchmark.name for benchmark in registry.benchmarks() if (benchmark.folder / "demo").is_dir()]
    parser.set_defaults(run=run)
    parser.add_argument(
        "name", nargs="?", choices=known, default=known[0], help="the benchmark (default: %(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=PAGE,
        metavar="FILE",
        help="write the page here (default: %(default)s); a page that a demo wrote there is replaced",
    )


def run(options: argparse.Namespace) -> None:
    if not _is_ours(options.out):
        check_new(options.out)
    benchmark = registry.benchmark(options.name)
    demo = benchmark.module("demo")
    shown, pictures = demo.shown(), demo.pictures()
    _say(benchmark, shown)
    _write(_warned(page(benchmark, [shown], pictures), demo.WARNING), options.out)
    say(f"\n{one_line(options.out)} shows all this with the pictures; open it in a browser.")
    say(f"\nNext, a model and images of your own:\n\n{demo.NEXT}\n\n{demo.ABOUT_NEXT}")


def _say(benchmark: Benchmark, shown: Shown) -> None:
    named = [(shown.name, shown.scores)]
    say(f"{benchmark.title} on {len(shown.items)} embedded descriptions, in percent\n")
    say(written(benchmark.module("report").report(named), TABLE)[0])
    say(f"\nThe descriptions: {LEGEND}")
    for item in shown.items:
        say(f"\nimage {item.id}: {', '.join(item.errors) or 'nothing wrong'}")
        say_coloured(marked(item))


def _is_ours(path: Path) -> bool:
    """Whether a demo wrote the page at `path`, and nobody changed it."""
    if not path.is_file():
        return False
    content = path.read_text("utf-8", "replace")
    start = content.rfind(MADE.partition("{")[0])
    return start >= 0 and content[start:] == _made(content[:start])


def _warned(made: Page, warning: str) -> Page:
    return replace(
        made, headlines=[replace(one, warnings=[warning, *one.warnings]) for one in made.headlines]
    )


def _write(made: Page, path: Path) -> None:
    content = "".join(parts(made))
    with new_file(path, newline="") as file:
        file.write(content + _made(content))


def _made(content: str) -> str:
    return MADE.format(hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest())
