"""How the result of a command is printed, and where it may be written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from halluscope.cli.parameters import OUTPUT
from halluscope.files.writing import check_new
from halluscope.judging.cache import default_path
from halluscope.paths import path_of
from halluscope.reporting.formats import CSV, FORMATS, JSON, LATEX, LONGEST, TABLE, text_notes, written
from halluscope.reporting.tables import Report, to_json
from halluscope.terminal import say, tell

JSON_HELP = "the same as --format json"
FORMAT_HELP = (
    "table: easy to read, shares in percent, as wide as the terminal (80 columns where that is unknown); csv: one "
    "table with all digits, fractions not in percent, notes on standard error; markdown, latex: to paste"
)


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class Output:
    """The format in which a result is printed."""

    format: Annotated[
        str,
        Parameter(
            choices=FORMATS,
            help=f"{FORMAT_HELP}; json: the full results",
        ),
    ] = TABLE
    json: Annotated[bool, Parameter(help=JSON_HELP)] = False

    @property
    def style(self) -> str:
        if self.json:
            return JSON
        return self.format

    def show(
        self, data: Any, report: Callable[[], Report] | None = None, with_intervals: bool | None = None
    ) -> None:
        """Print a result: its data as JSON, or its report (without `report`, the data's own).

        A table in LaTeX has no columns for intervals: unless an option says whether they are wanted, they stand beside
        their numbers.
        """
        if self.style == JSON:
            say(to_json(data))
            return
        if with_intervals is None:
            with_intervals = self.style == LATEX
        parts = report() if report else data.report
        say(written(parts, self.style, with_intervals))
        if self.style == CSV:
            tell(text_notes(parts))

    def tell_of_long_names(self, names: Iterable[str]) -> None:
        """Say how a model gets another name, if one is too long for a table."""
        if self.style == TABLE and any(len(name) > LONGEST for name in names):
            tell(
                "Some names are too long for a table; `halluscope score NAME --responses MODEL=FILE` names a model."
            )

    def tell_next(self, step: str) -> None:
        """Say what one would type next, below a table for reading."""
        if self.style == TABLE:
            tell(f"Next: {step}")


def check_output(path: Path, store: str | Path | None = None) -> None:
    """Check that a file can be written, and is not where replies are kept."""
    inputs = [default_path()]
    if store:
        inputs.append(path_of(store))
    check_new(path, inputs)
