"""Read and write sheets as a spreadsheet does."""

import csv
from pathlib import Path


def table(file: Path) -> list[dict[str, str]]:
    """The rows of a sheet."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def save(rows: list[dict[str, str]], folder: Path) -> Path:
    """Write marked rows to folder/marked.csv."""
    file = folder / "marked.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return file
