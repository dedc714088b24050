"""What Python functions return: dictionaries that print as tables."""

from collections.abc import Sequence
from typing import Any

from halluscope.reporting.formats import TABLE, written
from halluscope.reporting.tables import Report, Values


class Printed(dict[str, Any]):
    """A dictionary that prints as tables."""

    def __init__(self, values: Values, report: Report, rows: Sequence[Values]) -> None:
        super().__init__(values)
        self.report = report  # what is printed
        self.rows = rows  # the rows of the DataFrame

    def __repr__(self) -> str:
        return written(self.report, TABLE, intervals=True)

    def to_pandas(self) -> Any:
        """Return a DataFrame with all digits: a row per LVLM, or per difference between two."""
        from pandas import DataFrame

        return DataFrame(list(self.rows))
