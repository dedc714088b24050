"""Shows on a benchmark's embedded example what scoring and a report are, and says what to type next."""

import hashlib
from pathlib import Path

from halluscope import registry
from halluscope.benchmarks import LISTED
from halluscope.cli.parameters import File
from halluscope.files.writing import check_new, new_file
from halluscope.options import check_names
from halluscope.paths import PACKAGE
from halluscope.reporting.page.writing import parts
from halluscope.runs.page import page
from halluscope.sanitize import one_line
from halluscope.terminal import say, say_coloured

OUT = Path("demo-report.html")

# The end of a demo's page
MADE = "\n<!-- written by halluscope demo, which replaces it while the sha256 of all above is {} -->\n"


def demo(name: str = "throne", /, *, out: File = OUT) -> None:
    """Score a benchmark's embedded example, show it, and say what to type next.

    Args:
        name: the benchmark (default: throne)
        out: write the page here (default: demo-report.html); a page that a demo wrote there is replaced
    """
    from halluscope.reporting.formats import TABLE, written
    from halluscope.reporting.marked_text import LEGEND, marked

    examples = [listed.name for listed in LISTED if (PACKAGE / "benchmarks" / listed.name / "demo").is_dir()]
    check_names("There is no example of", [name], examples)
    if not _is_ours(out):
        check_new(out)
    benchmark = registry.benchmark(name)
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
