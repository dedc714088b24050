"""Scores of files that other projects published, computed by this package: `public_files.csv` of each benchmark.

`make results` writes them (perf/wild.py), and `score --published` shows those about the same rows.
"""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from halluscope.paths import PACKAGE


@dataclass(frozen=True)
class PublicFile:
    """A file of responses that another project published, and its scores under this package."""

    repository: str
    path: str  # in the repository
    commit: str
    data: str  # the key `data` of the signature: which rows were scored
    printed: str  # the scores that the project prints itself; "" for none
    scores: dict[str, float]  # the defined ones, with six decimals


# The columns before the scores
FACTS = ("repository", "path", "commit", "data", "printed")


def place(benchmark: str) -> Path:
    """Return the csv file of a benchmark; it need not exist."""
    return PACKAGE / "benchmarks" / benchmark / "public_files.csv"


def read(benchmark: str) -> list[PublicFile]:
    """Read what is known of a benchmark; [] for nothing."""
    if not place(benchmark).is_file():
        return []
    files = []
    with place(benchmark).open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file, strict=True):
            files.append(_file(cells))
    return files


def _file(cells: dict[str, str]) -> PublicFile:
    scores = {}
    for column, text in cells.items():
        if column not in FACTS and text != "":
            scores[column] = float(text)
    return PublicFile(
        repository=cells["repository"],
        path=cells["path"],
        commit=cells["commit"],
        data=cells["data"],
        printed=cells["printed"],
        scores=scores,
    )


def write(benchmark: str, files: Sequence[PublicFile]) -> None:
    """Write all public files of a benchmark, in place of those that are known."""
    columns = list(FACTS)
    for public in files:
        for score in public.scores:
            if score not in columns:
                columns.append(score)
    with place(benchmark).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        for public in files:
            cells = asdict(public)
            cells.update(cells.pop("scores"))
            table.writerow(cells)
