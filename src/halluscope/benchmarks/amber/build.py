"""Builds amber: 1,004 images to describe and 14,216 yes/no questions about them."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Features, Image, List, Value

from halluscope.benchmarks.amber import vectors, words
from halluscope.benchmarks.amber.rows import (
    DIMENSIONS,
    DISCRIMINATIVE,
    GENERATIVE,
    PAIR,
    SIMILAR,
    AmberRow,
    read_upstream,
)
from halluscope.building import images, output
from halluscope.building.command import Builder, Order
from halluscope.building.output import Table
from halluscope.files.opening import Readable


def counts(rows: Sequence[AmberRow]) -> dict[str, Any]:
    """Count the rows for stats.json."""
    of_task = Counter(row.task for row in rows)
    of_dimension = Counter(row.dimension for row in rows)
    of_answer = Counter(row.answer for row in rows)
    asked = Counter((row.file_name, row.question) for row in rows if row.question)
    return {
        "rows": len(rows),
        **{name: of_task[name] for name in (GENERATIVE, DISCRIMINATIVE)},
        **{name: of_dimension[name] for name in DIMENSIONS[1:]},
        **{name: of_answer[name] for name in ("yes", "no")},
        "images": len({row.file_name for row in rows}),
        "asked_twice": sum(count - 1 for count in asked.values()),
        "both_true_and_imagined": sum(bool({*row.truth} & {*row.hallu}) for row in rows),
    }


COLUMNS = {
    "id": Value("int64"),
    "file_name": Value("string"),
    "image": Image(),
    "prompt": Value("string"),
    "task": Value("string"),
    "dimension": Value("string"),
    "answer": Value("string"),
    "truth": List(Value("string")),
    "hallu": List(Value("string")),
}


def table(rows: Sequence[AmberRow], split: str, folder: Readable | None) -> Table:
    """Return the rows to write, with images if there is a folder to read them from."""
    return Table.of(rows, COLUMNS, lambda one: one.row, _file_name, split, folder)


def _file_name(one: AmberRow) -> str | None:
    """Return the image file to store with a row: only the row that asks for a description stores its image."""
    return one.file_name if one.task == GENERATIVE else None


def synonyms(pairs: Sequence[tuple[str, str]], split: str) -> Table:
    """Return the config `similar`: pairs of words that count as synonyms."""
    rows = (dict(zip(PAIR, pair, strict=True)) for pair in pairs)
    return Table(Features(dict.fromkeys(PAIR, Value("string"))), rows, split, SIMILAR)


def make(order: Order, vectors_of: str | None = None) -> Path:
    """Build amber.

    Args:
        order: what to build.
        vectors_of: a spaCy model, by name or folder; a config `similar` then holds the pairs of AMBER's words whose
            vectors are alike.

    Raises:
        BuildError: for files that are not those of AMBER's authors, or a model without word vectors.
        MissingExtra: if a model is named but spaCy is not installed.
    """
    out = order.target()
    model = vectors.load(vectors_of) if vectors_of else None
    sources = {
        "annotations": order.fetch("annotations"),
        "queries": order.fetch("queries", order.inside("query")),
    }
    rows = read_upstream(*(source.path for source in sources.values()))
    numbers = counts(rows)
    complete = order.spec.matches(numbers, order.subset)
    folder = None
    if got := order.fetch_images():
        sources["images"], folder = got, got.path
        images.check(sorted({row.file_name for row in rows}), folder)
    tables = [table(rows, order.spec.split, folder)]
    if model:
        alike = vectors.pairs(words.load().known, model)
        numbers |= {"pairs_of_synonyms": len(alike), "vectors": vectors.name_of(model)}
        tables.append(synonyms(alike, order.spec.split))
    return output.write(order.spec, tables, numbers, sources, complete, out)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vectors",
        dest="vectors_of",
        metavar="MODEL",
        help="a spaCy model with word vectors, such as en_core_web_lg: adds the config `similar`, pairs of synonyms",
    )


BUILDER = Builder(
    name="amber",
    about="""Builds amber: 1,004 images to describe and 14,216 yes/no questions about them.

    halluscope build amber                                          # downloads 3 MB; no images
    halluscope build amber --source AMBER/data --images AMBER/image
    halluscope build amber --vectors en_core_web_lg                 # synonyms too (extra spacy)

The authors' repository links to the images, AMBER_1.jpg to AMBER_1004.jpg. Without --images the column `image` is left
out. The authors' script counts two words as synonyms if their vectors in spaCy's en_core_web_lg are alike; --vectors
writes these pairs to the config `similar`, which `halluscope score amber --similar amber:similar` reads.
""",
    source="the folder of the authors' files, AMBER's data/ (default: download)",
    images="the folder of the images, AMBER_1.jpg to AMBER_1004.jpg, or a zip of it (default: no column `image`)",
    make=make,
    add=_add,
)
