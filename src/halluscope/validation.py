"""Checks the inputs of a metric: texts, references, ids, arrays, words, flags and numbers.

Anything like a list is read by position: a list, a tuple, an array with one axis, or a column of a table (numpy,
pandas, Arrow, torch). Where a list is expected, a mapping, a set, a text, a table or a generator is refused: looping
over it would give names, letters, an arbitrary order, or nothing the second time.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.sanitize import short_repr

T = TypeVar("T")

Id = str | int  # An id of an image or a question

# The least distance from 0 and from 1 that `share` accepts: nearer to them, formulas round to 0 or 1.
LEAST_SHARE = 1e-9

LARGEST = 1e100  # The largest score; squares of larger numbers would overflow

LARGEST_SEED = 2**63 - 1  # The largest seed that a cache keeps, and that servers accept


def listed(name: str, values: Any, what: str, rows: int | None = None) -> list[Any]:
    """Return values as a list, by position."""
    if not is_like_a_list(values):
        raise ValueError(_unlike(name, values, what))
    plain = getattr(values, "tolist", None) or getattr(values, "to_pylist", None)
    try:
        found = list(plain() if plain else values)
    except Exception as error:  # whatever a foreign object raises
        raise ValueError(_unlike(name, values, what)) from error
    if rows is not None and len(found) != rows:
        raise ValueError(
            f"There are {len(found)} values of {name} and {rows} predictions; expected one of each per row."
        )
    return found


def is_like_a_list(values: Any) -> bool:
    """Whether an object holds values in a fixed order, and no columns or keys; an array with masked values does not."""
    if type(values) in (list, tuple):  # the usual case; the other checks are slow
        return True
    if isinstance(values, str | bytes | bytearray | memoryview | Mapping | Set):
        return False
    # a table has named columns: a loop would run over the names, not over the rows
    ordered = isinstance(values, Sized) and isinstance(values, Iterable) and not hasattr(values, "columns")
    return ordered and getattr(values, "ndim", 1) == 1 and not np.ma.is_masked(values)


def paired(predictions: Any, references: Any) -> tuple[list[str], list[Any]]:
    """Return predictions and references as lists, one of each per row."""
    expected = "a list; predictions and references are lists with one text and one reference per row"
    given, known = (
        listed(name, values, expected)
        for name, values in (("predictions", predictions), ("references", references))
    )
    if len(given) != len(known):
        raise ValueError(
            f"There are {len(given)} predictions and {len(known)} references; expected one of each per row, in the "
            "same order. Nothing is cut to the shorter of the two."
        )
    if not given:
        raise ValueError("predictions is empty; expected at least one text.")
    return texts("predictions", given, hint=" If the LVLM said nothing, pass the empty text."), known


def by_id(compute: Callable[..., T]) -> Callable[..., T]:
    """Return a metric that also takes `ids`, by which predictions are put into the order of the references."""

    @wraps(compute)
    def matched(predictions: Any, references: Any, *, ids: Any = None, **options: Any) -> T:
        if ids is not None:
            predictions = _in_order(predictions, references, ids)
        return compute(predictions, references, **options)

    return matched


def _in_order(predictions: Any, references: Any, given: Any) -> list[Any]:
    if not is_like_a_list(given) or len(given) != 2:
        raise ValueError(
            f"ids is {short_repr(given)}; expected a pair (ids of the predictions, ids of the references)."
        )
    texts, rows = paired(predictions, references)
    ours, theirs = (
        list(map(str, ids(f"ids[{side}]", one, len(rows), unique=True))) for side, one in enumerate(given)
    )
    text_of = dict(zip(ours, texts, strict=True))
    if missing := [one for one in theirs if one not in text_of]:
        raise ValueError(
            f"{len(missing):,} references have no prediction of their id, such as {short_repr(missing[0])}; expected "
            "the same ids on both sides."
        )
    return [text_of[one] for one in theirs]


def texts(name: str, values: Any, rows: int | None = None, hint: str = "") -> list[str]:
    """Check a list of texts."""
    found = listed(name, values, "a list, one text per row", rows)
    for row, text in enumerate(found) if {*map(type, found)} - {str} else ():
        if not isinstance(text, str):
            raise ValueError(f"{name}[{row}] is {short_repr(text)}; expected a text.{hint}")
    return found


def words(name: str, values: Any, known: Sequence[str], rows: int | None = None) -> list[str]:
    """Check a list of texts, each of which is one of the known words."""
    found = listed(name, values, f"a list, {_any_of(known)} per row", rows)
    are_texts = {*map(type, found)} == {str}  # other values may have no hash
    for row, value in enumerate(() if are_texts and {*found} <= {*known} else found):
        word(f"{name}[{row}]", value, known)
    return found


def ids(name: str, values: Any, rows: int, *, unique: bool = False) -> list[Id]:
    """Check a list of ids, each a whole number or a name."""
    found = listed(name, values, "a list, one id per row", rows)
    kinds = {*map(type, found)}
    are_plain = all(found) if kinds == {str} else kinds == {int} and is_id(min(found)) and is_id(max(found))
    for row, value in enumerate(() if are_plain else found):
        if not (value if isinstance(value, str) else is_id(value)):
            raise ValueError(f"{name}[{row}] is {short_repr(value)}; expected a whole number or a name.")
    first: dict[str, int] = {}
    for row, value in enumerate(found if unique else ()):
        if first.setdefault(str(value), row) != row:
            raise ValueError(
                f"{name}[{row}] is {short_repr(value)}, as is {name}[{first[str(value)]}]; expected one row per image."
            )
    return found


def class_names(references: Any) -> list[list[str]]:
    """Return the class names in each image as lists; a set is accepted too, because their order does not count."""
    rows = listed("references", references, "a list, the class names in each image")
    for row, names in enumerate(rows):
        if type(names) is list:  # the usual case; the other checks are slow
            continue
        if isinstance(names, Set):
            rows[row] = [*names]
        elif not is_like_a_list(names):
            raise ValueError(
                f"references[{row}] is {short_repr(names)}; expected a list of class names, such as ['dog', 'cup'] "
                "(an image without any object has the empty list)."
            )
        else:
            rows[row] = listed("references", names, "a list of class names")
    return rows


def scores(name: str, values: Any, what: str) -> list[float]:
    """Check a list of finite numbers, one per model."""
    found = listed(name, values, what)
    if not found:
        raise ValueError(f"{name} is empty; expected {what}.")
    return [finite(f"{name}[{row}]", value, -LARGEST, LARGEST) for row, value in enumerate(found)]


def array(name: str, values: Any, what: str) -> NDArray[Any]:
    """Return nested lists or an array as an array."""
    in_list = any(map(np.ma.is_masked, values)) if isinstance(values, list | tuple) else False
    if hasattr(values, "columns") or isinstance(values, Mapping | Set) or np.ma.is_masked(values) or in_list:
        raise ValueError(_unlike(name, values, what))
    try:
        return np.asarray(values)
    except Exception as error:  # a foreign array may raise anything, such as one on another device
        raise ValueError(f"{name} is not an array ({error}); expected {what}.") from error


def word(name: str, value: Any, known: Sequence[str]) -> str:
    """Check that a value is one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {short_repr(value)}; expected {_any_of(known)}.")
    return value


def flags(**given: Any) -> None:
    """Check options that are True or False; a string such as "no" would count as true."""
    for name, value in given.items():
        kind(name, value, bool | np.bool_, "True or False")


def kind(name: str, value: Any, kinds: Any, what: str) -> None:
    """Check that a value has one of the given types."""
    if not isinstance(value, kinds):
        raise ValueError(f"{name} is {short_repr(value)}; expected {what}.")


def warn_of_a_part(found: int, expected: int) -> None:
    """Warn, at the caller's caller, that the questions are not exactly those of the benchmark."""
    if found != expected:
        said = of_a_part(found, expected)
        warnings.warn(f"{said} These scores cannot be compared with published ones.", stacklevel=3)


def of_a_part(found: int, expected: int, what: str = "questions") -> str:
    """Say that the rows are not as many as the benchmark's."""
    return f"{found:,} {what} are scored; expected the benchmark's {expected:,}."


def _unlike(name: str, values: Any, what: str) -> str:
    return f"{name} is {short_repr(values)}; expected {what}; it is of the type {type(values).__name__}."


def _any_of(known: Sequence[str]) -> str:
    return (" or " if len(known) < 4 else ", ").join(map(repr, known))


def whole(name: str, value: Any, least: int = 0, most: int | None = None, what: str = "") -> int:
    """Check a whole number; True and False are refused."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        between = f"from {least:,} to {most:,}" if most is not None else f"of at least {least:,}"
        raise ValueError(f"{name} is {short_repr(value)}; expected {what or 'a whole number'} {between}.")
    return int(value)


def finite(name: str, value: Any, least: float, most: float, what: str = "") -> float:
    """Check a finite number from `least` to `most`, both included; True and False are refused."""
    if not is_number(value) or not least <= value <= most:
        raise ValueError(
            f"{name} is {short_repr(value)}; expected {what or 'a number'} from {least:g} to {most:g}."
        )
    return float(value)


def share(name: str, value: Any, what: str = "a fraction between 0 and 1, such as 0.95") -> float:
    """Check a fraction between 0 and 1, both excluded."""
    if not is_number(value) or not LEAST_SHARE <= value <= 1 - LEAST_SHARE:
        raise ValueError(f"{name} is {short_repr(value)}; expected {what}.")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or numpy, finite or not; True and False are not numbers."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_id(value: Any) -> bool:
    """Whether a value is a whole number that fits into a 64-bit column; True and False are not.

    >>> is_id(7), is_id(True), is_id(7.0), is_id(2**63)
    (True, False, False, False)
    """
    return is_whole(value) and -(2**63) <= int(value) < 2**63


def id_of(text: str) -> int | None:
    """Return the number that a text of digits spells, if it fits into a 64-bit column; None for any other text."""
    found = re.fullmatch(r"\s*0*([0-9]{1,19})\s*", text)
    return int(found[1]) if found and is_id(int(found[1])) else None
