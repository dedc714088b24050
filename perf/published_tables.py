"""Compares every published table with the papers' text, cell by cell: python perf/published_tables.py FOLDER.

FOLDER holds the papers as text files, with one line per row of a table. A row of ours is found if a line, or a few
consecutive lines, hold its numbers, in the table's order, and its name. The name may also be in a line above, as in
tables that name a model once. This is a script, not a test, because the papers' texts are not part of this project.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from halluscope.reporting import published
from halluscope.reporting.published_table import PublishedRow

JOINED = 3  # one row may take up to this many lines: long names and cells are broken
REACH = 3  # a row without a name may be up to this many lines below the line that names its model
FEWEST = 4  # the fewest numbers in a part of a row that is printed in two tables

NUMBER = re.compile(r"[-\u2212]?\d[\d,]*(?:\.\d+)?K?")


def main(folder: Path) -> int:
    """Print the outcome for each table, and return the number of rows not found, which is the exit status."""
    papers = [file.read_text(encoding="utf-8").split("\n") for file in sorted(folder.glob("*.txt"))]
    missing = 0
    for table in published.tables().values():
        benchmark = table.file.parent.parent.name
        rows = table.rows()
        missing_rows = [row for row in rows if not is_in_one(row, papers)]
        cells = sum(len(row.printed) for row in rows)
        print(f"{benchmark}/{table.name}: {len(rows) - len(missing_rows)} of {len(rows)} rows, {cells} cells")
        for row in missing_rows:
            print(f"  not found: {row.name}: {list(row.printed.values())}")
        missing += len(missing_rows)
    return missing


def is_in_one(row: PublishedRow, papers: Sequence[Sequence[str]]) -> bool:
    return any(is_in(row, lines) for lines in papers)


def is_in(row: PublishedRow, lines: Sequence[str]) -> bool:
    """Whether a paper holds the row, in one place or, if it is printed in two tables, in two."""
    printed = list(row.printed.values())
    name = plain(row.name.rpartition("/")[2].partition(" (")[0])
    places = list(places_of(name, lines))
    if holds_one(places, printed):
        return True
    for cut in range(FEWEST, len(printed) - FEWEST):
        if holds_one(places, printed[:cut]) and holds_one(places, printed[cut:]):
            return True
    return False


def places_of(name: str, lines: Sequence[str]) -> Iterator[list[float]]:
    """Yield the numbers of each few lines that hold a name or are near it."""
    starts: set[int] = set()
    for number, line in enumerate(lines):
        with_next = line + "".join(lines[number + 1 : number + 2])
        if name in plain(with_next):
            starts.update(range(number - 1, number + REACH + 1))
    for start in sorted(starts):
        if not 0 <= start < len(lines):
            continue
        for count in range(1, JOINED + 1):
            yield numbers(" ".join(lines[start : start + count]))


def holds_one(places: Sequence[Sequence[float]], printed: Sequence[float]) -> bool:
    return any(holds(place, printed) for place in places)


def holds(place: Sequence[float], printed: Sequence[float]) -> bool:
    """Whether a place contains the printed numbers in the same order."""
    start = 0
    for number in printed:
        if number not in place[start:]:
            return False
        start = place.index(number, start) + 1
    return True


def numbers(line: str) -> list[float]:
    """Return all numbers of a line."""
    values = []
    for text in NUMBER.findall(line):
        text = text.replace(",", "").replace("\u2212", "-")
        if text.endswith("K"):
            values.append(float(text[:-1]) * 1000)
        else:
            values.append(float(text))
    return values


def plain(text: str) -> str:
    """Return the letters and digits of a text."""
    return re.sub(r"[\W_]+", "", text).lower()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
