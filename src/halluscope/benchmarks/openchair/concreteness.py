"""Reads which words are concrete from the ratings of Brysbaert et al. (2014), a file that the user brings.

OpenCHAIR counts only nouns that are rated above 4.5 of 5; an unrated noun does not count. Nouns are in lower case, so
the ratings' words with capitals ("TV") count for none, as in the authors' script. Source: `is_concrete` in utils.py of
the authors' repository, whose source of the ratings states no licence, so the ratings are not shipped.
"""

from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.inputs import kind
from halluscope.reading import tables
from halluscope.sanitize import short_repr

WORD, MEAN = "Word", "Conc.M"
"""The columns of the ratings."""

ABOVE = 4.5
"""A word whose mean rating is above this is concrete."""

LEAST, MOST = 1.0, 5.0
"""The smallest and the largest rating."""


def read(file: str | Path) -> frozenset[str]:
    """Read the concrete words of a file of ratings: xlsx, csv, tsv, JSON or Parquet, with columns `Word` and `Conc.M`.

    Raises:
        ValueError: for a file without these columns, an invalid rating, or a file without a concrete word.
        MissingExtra: for xlsx without openpyxl.
        FileNotFoundError: if the file does not exist.
    """
    kind("concreteness", file, str | Path, "a file of ratings, or None")
    rated = dict(_rating(row, where) for where, row in tables.rows(Path(file)))
    found = frozenset(word for word, mean in rated.items() if mean > ABOVE)
    if not found:
        raise BuildError(
            f"concreteness: {file} has no word that is rated above {ABOVE}; expected the ratings of Brysbaert et al."
        )
    return found


def _rating(row: Any, where: str) -> tuple[str, float]:
    """Return a word and its mean rating."""
    if not isinstance(row, dict) or not {WORD, MEAN} <= row.keys():
        raise BuildError(
            f"concreteness: {where} is {short_repr(row, 120)}; expected the columns {WORD} and {MEAN} of the "
            "ratings of Brysbaert et al. (2014)."
        )
    try:
        mean = float(row[MEAN])
    except (TypeError, ValueError):
        mean = float("nan")
    if not LEAST <= mean <= MOST:
        raise BuildError(
            f"concreteness: {where}: {MEAN} is {short_repr(row[MEAN])}; expected a rating from {LEAST:g} to {MOST:g}."
        )
    return str(row[WORD]), mean
