"""A page within a notebook."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from halluscope.files.writing import check_new
from halluscope.reporting.page.content import Page
from halluscope.reporting.page.writing import text, write

HEIGHT = 800
"""Pixels of its frame."""


@dataclass(frozen=True)
class Report:
    """A report: shown where a notebook's cell ends with it, or saved as a file.

    Attributes:
        page: what stands on it.
    """

    page: Page

    def save(self, file: str | Path) -> Path:
        """Write it as a new file, which a browser opens without a network.

        Raises:
            OutputError: if something lies there.
            OSError: if it cannot be written.
        """
        check_new(Path(file))
        write(self.page, Path(file))
        return Path(file)

    def __repr__(self) -> str:
        lines = (f"{one.name}: {one.score} {one.value}. {one.meaning}" for one in self.page.headlines)
        return "\n".join([self.page.title, *lines])

    def _repr_html_(self) -> str:
        """The page in a frame of its own, in which it can reach neither the notebook nor a network."""
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.page.title)}" width="100%" height="{HEIGHT}" '
            f'srcdoc="{escape("".join(text(self.page)))}"></iframe>'
        )
