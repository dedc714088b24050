"""Writes a page as one file of HTML in which foreign text stays text, and shows it in a notebook."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from markupsafe import Markup

from halluscope.files.writing import check_new, new_file
from halluscope.paths import path_of
from halluscope.reporting.page.content import Book, Figure, Headline, Page
from halluscope.reporting.page.drawings import drawing
from halluscope.reporting.page.html_template import template
from halluscope.reporting.page.packing import Packed, pack
from halluscope.reporting.report_items import Item
from halluscope.sanitize import one_line, printable

CREDITS = 40  # the most credits of images that the page lists at its end; each is also shown below its image
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
        path = path_of(file)
        check_new(path)
        write(self.page, path)
        return path

    def __repr__(self) -> str:
        lines = [self.page.title]
        for headline in self.page.headlines:
            name = one_line(headline.name)
            lines.append(f"{name}: {headline.score} {headline.value}. {headline.meaning}")
        return "\n".join(lines)

    def frame(self, height: int = HEIGHT) -> str:
        """Return HTML of the page in its own frame, which reaches neither the page around it nor a network."""
        page = "".join(parts(self.page))
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.page.title)}" width="100%" height="{height}" '
            'style="box-sizing: border-box; border: 1px solid #8886; border-radius: 8px" '
            f'srcdoc="{escape(page)}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.frame()


def write(page: Page | Book, path: Path) -> None:
    """Write a page; it appears at `path` when it is complete, and replaces an existing file."""
    with new_file(path) as file:
        file.writelines(parts(page))


def parts(page: Page | Book) -> Iterator[str]:
    """Yield the page as consecutive texts; it is never in memory as a whole."""
    book = page if isinstance(page, Book) else Book(page.title, [page])
    sections = []
    for number, page_of_benchmark in enumerate(book.pages):
        sections.append(_section(page_of_benchmark, number))
    return template(__package__, finalize=_printable).generate(
        book=book,
        sections=sections,
        drawings=_drawings(book.figures),
    )


@dataclass(frozen=True)
class Section:
    """A benchmark's part of a page, ready for the template."""

    page: Page
    suffix: str  # of its elements' ids: "" for the first section, "-1" for the second
    shared: Sequence[str]  # the warnings that all runs share, which are shown once
    drawings: Sequence[Markup]  # of the page's figures
    packed: Packed
    choices: dict[str, list[str]]  # part -> its values, by which the items can be filtered
    disputes: bool  # whether judges disagree on any item
    unread: bool  # whether any judge's reply is unreadable
    credits: dict[str, int]  # credit -> its number of images


def _section(page: Page, number: int) -> Section:
    packed = pack(page)
    return Section(
        page=page,
        suffix=f"-{number}" if number else "",
        shared=_shared_warnings(page.headlines),
        drawings=_drawings(page.figures),
        packed=packed,
        choices=_choices(packed.index["parts"]),
        disputes=any(item.disputed for item in _items(page)),
        unread=any(item.unread for item in _items(page)),
        credits=_credits(page),
    )


def _items(page: Page) -> Iterator[Item]:
    for run in page.runs:
        yield from run.items


def _credits(page: Page) -> dict[str, int]:
    """Return how many images have each credit; {} if there are too many credits to list."""
    credits: Counter[str] = Counter()
    for picture in page.pictures.values():
        if picture.credit:
            credits[picture.credit] += 1
    if len(credits) > CREDITS:
        return {}
    return credits


def _shared_warnings(headlines: Sequence[Headline]) -> list[str]:
    shared: dict[str, None] = {}
    for headline in headlines[:1]:
        shared.update(dict.fromkeys(headline.warnings))
    for headline in headlines[1:]:
        for warning in list(shared):
            if warning not in headline.warnings:
                del shared[warning]
    return list(shared)


def _choices(parts_of_items: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the values of each part that has several."""
    values: dict[str, list[str]] = {}
    for name, value in parts_of_items:
        values.setdefault(name, []).append(value)
    choices = {}
    for name, several in values.items():
        if len(several) > 1:
            choices[name] = sorted(several)
    return choices


def _drawings(figures: Sequence[Figure]) -> list[Markup]:
    return [drawing(figure.svg) for figure in figures]


def _printable(value: Any) -> Any:
    """Return a value for the template; all but our own HTML is made printable."""
    if isinstance(value, Markup):
        return value
    return printable(value)
