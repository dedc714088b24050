"""Writes a page as one file of HTML in which foreign text stays text, and shows it in a notebook."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from halluscope.files.writing import check_new, new_file
from halluscope.reporting.page.content import Page
from halluscope.reporting.page.html_template import data_uri, template
from halluscope.reporting.page.packing import pack
from halluscope.sanitize import printable

# The most credits of images that the page lists at its end; each is also shown below its image.
CREDITS = 40


HEIGHT = 800  # of a page's frame in a notebook, in pixels


@dataclass(frozen=True)
class Report:
    """A report, which a notebook shows if it is the last value of a cell, and which can be saved as a file."""

    page: Page  # the content of its page

    def save(self, file: str | Path) -> Path:
        """Write the report as a new file, which a browser opens without a network.

        Returns:
            The file.

        Raises:
            OutputError: if the file exists.
            OSError: if it cannot be written.
        """
        check_new(Path(file))
        write(self.page, Path(file))
        return Path(file)

    def __repr__(self) -> str:
        lines = (f"{one.name}: {one.score} {one.value}. {one.meaning}" for one in self.page.headlines)
        return "\n".join([self.page.title, *lines])

    def frame(self, height: int = HEIGHT) -> str:
        """Return HTML of the page in its own frame, which reaches neither the page around it nor a network."""
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.page.title)}" width="100%" height="{height}" '
            f'style="border: 1px solid #8886; border-radius: 8px" '
            f'srcdoc="{escape("".join(parts(self.page)))}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.frame()


def write(page: Page, path: Path) -> None:
    """Write a page; it appears at `path` when it is complete, and replaces an existing file."""
    with new_file(path, newline="") as file:
        file.writelines(parts(page))


def parts(page: Page) -> Iterator[str]:
    """Yield the page as consecutive texts; it is never in memory as a whole."""
    packed = pack(page)
    return template(__package__, finalize=_shown).generate(
        page=page,
        shared=_shared([one.warnings for one in page.headlines]),
        drawings=[data_uri(one.svg.encode("utf-8", "replace"), "image/svg+xml") for one in page.figures],
        packed=packed,
        choices=_choices(packed.index["parts"]),
        disputes=any(item.disputed for run in page.runs for item in run.items),
        credits=_credits(page),
        tells=bool(page.facts or page.headlines or page.citation or page.pictures),
    )


def _shown(value: Any) -> Any:
    """Return a value for the template; all but our own HTML is made printable."""
    return value if isinstance(value, Markup) else printable(value)


def _shared(warnings: Sequence[Sequence[str]]) -> list[str]:
    """Return the warnings that all runs share, which are shown once."""
    first = warnings[0] if warnings else ()
    return [one for one in dict.fromkeys(first) if all(one in each for each in warnings)]


def _choices(parts: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the values of each part by which the items can be filtered."""
    found: dict[str, list[str]] = {}
    for name, value in parts:
        found.setdefault(name, []).append(value)
    return {name: sorted(values) for name, values in found.items() if len(values) > 1}


def _credits(page: Page) -> Mapping[str, int]:
    """Return how many images each credit is for; {} if there are too many credits to list."""
    found = Counter(picture.credit for picture in page.pictures.values() if picture.credit)
    return found if len(found) <= CREDITS else {}
