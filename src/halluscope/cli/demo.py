"""Shows on a benchmark's embedded example what scoring and a report are, and says what to type next."""

import hashlib
from pathlib import Path

from halluscope import registry
from halluscope.cli.parameters import File
from halluscope.files.writing import check_new, new_file
from halluscope.reporting.page.writing import parts
from halluscope.runs.page import page
from halluscope.sanitize import one_line
from halluscope.terminal import say, say_coloured

BENCHMARK = "throne"  # it has a module `demo`

OUT = Path("demo-report.html")

# The end of a demo's page
MADE = "\n<!-- written by halluscope demo, which replaces it while the sha256 of all above is {} -->\n"


def demo(*, out: File = OUT) -> None:
    """Score a benchmark's embedded example, show it, and say what to type next.

    Args:
        out: write the page here (default: demo-report.html); a page that a demo wrote there is replaced
    """
    from halluscope.reporting.formats import TABLE, written
    from halluscope.reporting.marked_text import LEGEND, marked

    if not _is_ours(out):
        check_new(out)
    benchmark = registry.benchmark(BENCHMARK)
    example = benchmark.module("demo")
    shown = example.shown()
    say(f"{benchmark.title} on {len(shown.items)} embedded descriptions, in percent\n")
    say(written(benchmark.module("report").report([(shown.name, shown.scores)]), TABLE))
    say(f"\nThe descriptions: {LEGEND}")
    for item in shown.items:
        say(f"\nimage {item.id}: {', '.join(item.errors) or 'nothing wrong'}")
        say_coloured(marked(item))
    report = page([shown], example.pictures())
    headlines = []
    for headline in report.headlines:
        warnings = [example.WARNING]
        warnings += headline.warnings
        headlines.append(headline._replace(warnings=warnings))
    with new_file(out) as file:
        file.write(_sealed("".join(parts(report._replace(headlines=headlines)))))
    say(f"\n{one_line(out)} shows all this with the pictures; open it in a browser.")
    say(f"\nNext, a model and images of your own:\n\n{example.NEXT}\n\n{example.ABOUT_NEXT}")


def _is_ours(path: Path) -> bool:
    """Whether a demo wrote the page at `path`, and nobody changed it."""
    if not path.is_file():
        return False
    content = path.read_text("utf-8", "replace")
    start_of_mark = MADE.partition("{")[0]
    return content == _sealed(content.rpartition(start_of_mark)[0])


def _sealed(content: str) -> str:
    """Return a page with the mark by which a demo knows it again."""
    digest = hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()
    return content + MADE.format(digest)
