"""Reads which words are concrete, by the ratings of Brysbaert et al. (2014), a file that the user brings."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.paths import path_of
from halluscope.reading import tables
from halluscope.sanitize import short_repr

# The columns of a word and of its mean rating
WORD = "Word"
MEAN = "Conc.M"

# A word whose mean rating, from 1 to 5, is above this is concrete.
CONCRETE = 4.5

RATING = re.compile(r"[1-4](\.\d+)?|5(\.0+)?")


def read_concrete(file: str | Path) -> frozenset[str]:
    """Read the concrete words of a file of ratings: xlsx, csv, tsv, JSON or Parquet, with `Word` and `Conc.M`.

    Nouns are in lower case, so words with capitals ("TV") count for none, nor do unrated nouns, as in the authors'
    script (`is_concrete` in utils.py).
    """
    words = set()
    for where, row in tables.rows(path_of(file)):
        if rating_in(row, where) > CONCRETE:
            words.add(str(row[WORD]))
    if not words:
        raise BuildError(
            f"concreteness: {file} has no word that is rated above {CONCRETE}; expected the ratings of Brysbaert et al."
        )
    return frozenset(words)


def rating_in(row: Any, where: str) -> float:
    """Return the mean rating in the row that stands there."""
    if not isinstance(row, Mapping) or WORD not in row or MEAN not in row:
        raise BuildError(
            f"concreteness: {where} is {short_repr(row, 120)}; expected the columns {WORD} and {MEAN} of the ratings "
            "of Brysbaert et al. (2014)."
        )
    rating = str(row[MEAN])
    if not RATING.fullmatch(rating):
        raise BuildError(
            f"concreteness: {where}: {MEAN} is {short_repr(row[MEAN])}; expected a rating from 1 to 5."
        )
    return float(rating)
