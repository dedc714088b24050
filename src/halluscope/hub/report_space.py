"""A Space that shows the report of runs: the page as it is, without pictures."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from halluscope.hub.publisher import CARD, Publication
from halluscope.reporting.page.writing import write
from halluscope.runs.comparing import compare
from halluscope.runs.folder import checked
from halluscope.runs.page import all_shown, page
from halluscope.runs.run import benchmark_of
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap

PAGE = "index.html"


def read(folders: Sequence[Path], space: str) -> Publication:
    """Return the Space of a report on runs of one benchmark."""
    runs = checked(folders)
    benchmark = benchmark_of(runs.values())
    compared = compare(runs, [], Bootstrap(RESAMPLES)) if len(runs) > 1 else None
    with TemporaryDirectory() as here:
        write(page(benchmark, all_shown(runs), {}, compared), Path(here) / PAGE)
        content = (Path(here) / PAGE).read_bytes()
    names = one_line(", ".join(runs), 80)
    card = (
        f"---\ntitle: {benchmark.title} report\nsdk: static\npinned: false\n---\n{benchmark.title}: {names}\n"
    )
    return Publication(
        "space",
        space,
        f"Report on {names}",
        {CARD: card.encode(), PAGE: content},
        sdk="static",
        notes=("The page has no pictures: their owners decide who may show them.",),
    )
