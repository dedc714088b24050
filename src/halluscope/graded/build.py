"""Builds a graded benchmark's dataset from its authors' file, by the columns that its data file declares."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.building.command import Builder, Order
from halluscope.graded.metric import Declared


@dataclass(frozen=True)
class Extra:
    """A second file of the authors, which a user may name."""

    name: str  # of the option, and of the source in the dataset's spec
    help: str
    # the file and the rows -> the rows with what the file adds
    read: Callable[[Any, Sequence[Any]], list[Any]]


def builder(graded: Declared, extra: Extra | None = None) -> Builder:
    """Return the builder of a benchmark's dataset."""
    table = graded.data["build"]
    columns = graded.schema.features(*table["columns"])
    flag = f"--{extra.name.replace('_', '-')}" if extra else ""

    def file_of(row: Any) -> str | None:
        if table["file"] == "file_name":
            name: str | None = row.file_name
            return name
        return str(table["file"].format(**row.row))

    def make(order: Order, **options: Any) -> Path:
        out = order.target()
        sources = {"questions": order.fetch("questions")}
        rows = graded.schema.read_upstream(sources["questions"].path)
        if extra and (given := options.get(extra.name)) is not None:
            sources[extra.name] = order.fetch(extra.name, given, flag)
            rows = extra.read(sources[extra.name].path, rows)
        return order.write(out, rows, columns, lambda row: row.row, file_of, graded.counts(rows), sources)

    def add(parser: argparse.ArgumentParser) -> None:
        if extra:
            parser.add_argument(flag, type=Path, metavar="FILE", help=extra.help)

    return Builder(graded.name, table["about"], table["source"], make, table["images"], add)
