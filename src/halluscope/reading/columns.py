"""Finds columns whose names say the same, so that one could be read in place of another."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def plain(name: str) -> str:
    """Return a column's name in lower case, with "_" between its words.

    >>> plain("Doc ID"), plain("docId"), plain(" doc_id ")
    ('doc_id', 'doc_id', 'doc_id')
    """
    return "_".join(_CAPITAL.sub(" ", name).lower().split())


@lru_cache(1000)
def alike(names: tuple[Any, ...]) -> Mapping[str, Sequence[str]]:
    """Return the plain names that several columns share, each with these columns."""
    columns: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str):
            columns.setdefault(plain(name), []).append(name)
    return {shared: group for shared, group in columns.items() if len(group) > 1}


@lru_cache(1000)
def second_names(names: tuple[Any, ...]) -> Mapping[str, str]:
    """Return the plain name of each column that is not named so, with the column; not one that another column has."""
    seconds: dict[str, str] = {}
    originals = set(names)
    for name in names:
        if isinstance(name, str) and plain(name) not in originals:
            seconds.setdefault(plain(name), name)
    return seconds


def contradicting(row: Mapping[Any, Any], named: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the plain names that several of a row's columns share with different values, with these columns.

    A group of columns of which a user names one is left out.
    """
    for shared, group in alike(tuple(row)).items():
        values = [row[name] for name in group]
        is_named = any(name in named for name in group)
        if not is_named and any(value != values[0] for value in values[1:]):
            yield shared, group
