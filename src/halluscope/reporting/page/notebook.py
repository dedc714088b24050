"""Shows a page within a notebook."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from halluscope.files.writing import check_new
from halluscope.reporting.page.content import Page
from halluscope.reporting.page.writing import parts, write

HEIGHT = 800
"""The default height of a page's frame, in pixels."""


@dataclass(frozen=True)
class Report:
    """A report, which a notebook shows if it is the last value of a cell, and which can be saved as a file.

    Attributes:
        page: the content of its page.
    """

    page: Page

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
        """Return HTML of the page in its own frame, which reaches neither the page around it nor a network.

        Args:
            height: in pixels.
        """
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.page.title)}" width="100%" height="{height}" '
            f'style="border: 1px solid #8886; border-radius: 8px" '
            f'srcdoc="{escape("".join(parts(self.page)))}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.frame()
