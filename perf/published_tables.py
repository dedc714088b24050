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

JOINED = 3
"""One row may take up to this many lines: long names and cells are broken."""

REACH = 3
"""A row without a name may be up to this many lines below the line that names its model."""

FEWEST = 4
"""The fewest numbers in a part of a row that is printed in two tables."""

NUMBER = re.compile(r"[-\u2212]?\d[\d,]*(?:\.\d+)?K?")


def numbers(line: str) -> list[float]:
    """Return all numbers of a line."""
    found = (text.replace(",", "").replace("\u2212", "-") for text in NUMBER.findall(line))
    return [float(text.removesuffix("K")) * (1000 if text.endswith("K") else 1) for text in found]


def plain(text: str) -> str:
    """Return the letters and digits of a text."""
    return re.sub(r"[\W_]+", "", text).lower()


def holds(found: Sequence[float], wanted: Sequence[float]) -> bool:
    """Whether `found` contains the numbers of `wanted` in the same order."""
    remaining = iter(found)
    return all(any(number == other for other in remaining) for number in wanted)


def stands(row: PublishedRow, lines: Sequence[str]) -> bool:
    """Whether a paper holds the row, in one place or, if it is printed in two tables, in two."""
    wanted = list(row.printed.values())
    name = plain(row.name.rpartition("/")[2].partition(" (")[0])
    places = list(_places(name, lines))
    if any(holds(found, wanted) for found in places):
        return True
    cuts = range(FEWEST, len(wanted) - FEWEST)
    return any(
        all(any(holds(found, part) for found in places) for part in (wanted[:cut], wanted[cut:]))
        for cut in cuts
    )


def _places(name: str, lines: Sequence[str]) -> Iterator[list[float]]:
    """Yield the numbers of each few lines that hold a name or are near it."""
    near = [
        start
        for start, line in enumerate(lines)
        if name in plain(line + "".join(lines[start + 1 : start + 2]))
    ]
    for start in sorted(
        {place for at in near for place in range(at - 1, at + REACH + 1) if 0 <= place < len(lines)}
    ):
        for size in range(1, JOINED + 1):
            yield numbers(" ".join(lines[start : start + size]))


def main(folder: Path) -> int:
    """Print the outcome for each table, and return the number of rows not found, which is the exit status."""
    papers = [file.read_text(encoding="utf-8").split("\n") for file in sorted(folder.glob("*.txt"))]
    missing = 0
    for table in published.tables().values():
        benchmark = table.file.parent.parent.name
        rows = table.rows()
        lost = [row for row in rows if not any(stands(row, lines) for lines in papers)]
        cells = sum(len(row.printed) for row in rows)
        print(f"{benchmark}/{table.name}: {len(rows) - len(lost)} of {len(rows)} rows, {cells} cells")
        for row in lost:
            print(f"  not found: {row.name}: {list(row.printed.values())}")
        missing += len(lost)
    return missing


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
