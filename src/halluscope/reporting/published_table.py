"""A table of scores that a paper prints: what is said about all of it, and its rows, read from a csv file.

A benchmark declares its tables as TABLES in its module `published`. The rows are in `published/TABLE.csv` beside it, as
the paper prints them: first the column `name`, then the table's facts, then its scores. An empty cell was not printed.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

NAME = "name"  # the column with the model's name; in HQM's table, the benchmark's
# The value of the column `sign` in a row whose scores are printed as what is missing to 100 %
MINUS = "printed as 100 - rate"


@dataclass(frozen=True)
class PublishedRow:
    """A row of a table. What is not printed is absent."""

    name: str
    facts: dict[str, str]  # what else the table says in words, such as a model's size or who judged
    printed: dict[str, float]  # the scores and counts as printed; an int if no decimals are printed

    @property
    def label(self) -> str:
        """The name, with the table's other facts in square brackets."""
        if not self.facts:
            return self.name
        facts = ", ".join(self.facts.values())
        return f"{self.name} [{facts}]"


@dataclass(frozen=True)
class PublishedTable:
    """A table of scores that a paper prints, or an authors' page."""

    file: Path  # the csv file with the rows
    source: str  # the paper and its tables, or what else prints the scores
    url: str
    facts: tuple[str, ...] = ()  # the columns of words, besides the name
    not_in_percent: tuple[str, ...] = ()  # the columns of numbers that are not printed in percent
    highest: float = 1  # the highest value that a score of this table can have
    sign: str = ""  # the fact that is `MINUS` in rows that print 100 minus their scores; "" if no row does
    chosen_by: tuple[str, ...] = ()  # the facts that are options of the metric, whose values choose rows
    dataset: str = ""  # the dataset that has another table of its own name, after which this one is shown

    @property
    def name(self) -> str:
        """The name of the dataset that the scores are about, or a name of the table's own."""
        return self.file.stem

    def rows(self) -> list[PublishedRow]:
        """Read the rows, in the paper's order."""
        rows = []
        with self.file.open(encoding="utf-8", newline="") as file:
            for cells in csv.DictReader(file, strict=True):
                rows.append(self._row(cells))
        return rows

    def _row(self, cells: dict[str, str]) -> PublishedRow:
        row = PublishedRow(cells[NAME], facts={}, printed={})
        for column, text in cells.items():
            if column == NAME or text == "":
                continue
            if column in self.facts:
                row.facts[column] = text
            else:
                row.printed[column] = number(text)
        return row

    def scores(self, row: PublishedRow) -> dict[str, float]:
        """Return a row's scores as a metric's result holds them: numbers in percent become fractions."""
        scores = {}
        for column, value in row.printed.items():
            if column in self.not_in_percent:
                scores[column] = value
            elif row.facts.get(self.sign) == MINUS:
                scores[column] = 1 - value / 100
            else:
                scores[column] = value / 100
        return scores


def number(text: str) -> float:
    """Return a printed number: an int if it has no decimals, otherwise a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)
