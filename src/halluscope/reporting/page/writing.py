"""Writes a page as one file of HTML that needs no network, and in which foreign text stays text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from halluscope.files.writing import new_file
from halluscope.foreign import printable
from halluscope.reporting.page.content import Page
from halluscope.reporting.page.packing import pack
from halluscope.reporting.page.sealed import data_uri, template

CREDITS = 40
"""The most credits of images that the page lists at its end; each is also shown below its image."""


def write(page: Page, path: Path) -> None:
    """Write a page; it appears at `path` when it is complete, and replaces an existing file.

    Raises:
        OSError: if it cannot be written.
    """
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
