"""Checks the inputs of a metric: texts, references, ids, arrays, words, flags and numbers.

Anything like a list is read by position: a list, a tuple, an array with one axis, or a column of a table (numpy,
pandas, Arrow, torch). Where a list is expected, a mapping, a set, a text, a table or a generator is refused: looping
over it would give names, letters, an arbitrary order, or nothing the second time.
"""

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set, Sized
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.class_labels import named_items
from halluscope.sanitize import short_repr

T = TypeVar("T")

Id = str | int  # An id of an image or a question

# The least distance from 0 and from 1 that `share` accepts: nearer to them, formulas round to 0 or 1.
LEAST_SHARE = 1e-9

LARGEST = 1e100  # The largest score; squares of larger numbers would overflow

LARGEST_SEED = 2**63 - 1  # The largest seed that a cache keeps, and that servers accept


def listed(name: str, values: Any, expected: str, rows: int | None = None) -> list[Any]:
    """Return values as a list, by position."""
    if not is_like_a_list(values):
        raise ValueError(_unlike(name, values, expected))
    try:
        items = _items_of(values)
    except Exception as error:  # whatever a foreign object raises
        raise ValueError(_unlike(name, values, expected)) from error
    if rows is not None and len(items) != rows:
        raise ValueError(
            f"There are {len(items)} values of {name} and {rows} predictions; expected one of each per row."
        )
    return items


def _items_of(values: Any) -> list[Any]:
    """Return the items of a list, an array or a column, as Python's own objects."""
    if hasattr(values, "tolist"):  # numpy, pandas, torch
        return list(values.tolist())
    if hasattr(values, "to_pylist"):  # Arrow
        return list(values.to_pylist())
    return named_items(list(values), getattr(values, "features", None))


def is_like_a_list(values: Any) -> bool:
    """Whether an object holds values in a fixed order, and no columns or keys; an array with masked values does not."""
    if type(values) in (list, tuple):  # the usual case; the other checks are slow
        return True
    if isinstance(values, str | bytes | bytearray | memoryview | Mapping | Set):
        return False
    if not isinstance(values, Sized) or not isinstance(values, Iterable):
        return False
    if hasattr(values, "columns"):  # a table: a loop would run over the names, not over the rows
        return False
    return getattr(values, "ndim", 1) == 1 and not np.ma.is_masked(values)


def paired(predictions: Any, references: Any) -> tuple[list[str], list[Any]]:
    """Return predictions and references as lists, one of each per row."""
    expected = "a list; predictions and references are lists with one text and one reference per row"
    prediction_list = listed("predictions", predictions, expected)
    reference_list = listed("references", references, expected)
    if len(prediction_list) != len(reference_list):
        raise ValueError(
            f"There are {len(prediction_list)} predictions and {len(reference_list)} references; expected one of each "
            "per row, in the same order. Nothing is cut to the shorter of the two."
        )
    if not prediction_list:
        raise ValueError("predictions is empty; expected at least one text.")
    hint = " If the LVLM said nothing, pass the empty text."
    return texts("predictions", prediction_list, hint=hint), reference_list


def _check_index(predictions: Any, references: Any) -> None:
    """Check that two columns of pandas do not have the same index in different orders: they are paired by position."""
    if not (hasattr(predictions, "index") and hasattr(predictions, "iloc") and hasattr(references, "iloc")):
        return
    ours = list(predictions.index)
    theirs = list(references.index)
    if ours != theirs and len(set(ours)) == len(ours) and set(ours) == set(theirs):
        raise ValueError(
            "predictions and references have the same index in different orders; expected both in one order, because "
            "they are paired by position. Pass predictions.loc[references.index], or both without their index: "
            "predictions.tolist(), references.tolist()."
        )


def by_id(compute: Callable[..., T], verdicts: Collection[str]) -> Callable[..., T]:
    """Return a metric that also takes `ids`, by which predictions are put into the order of the references.

    Args:
        compute: the metric.
        verdicts: the names of what else it takes about each response.
    """

    @wraps(compute)
    def matched(predictions: Any, references: Any, *, ids: Any = None, **options: Any) -> T:
        if ids is not None:
            _check_none_given(verdicts, options)
            predictions = _in_order(predictions, references, ids)
        _check_index(predictions, references)
        return compute(predictions, references, **options)

    return matched


def _check_none_given(verdicts: Collection[str], options: Mapping[str, Any]) -> None:
    """Check that nothing else is given about each response, because it may be in the order of the predictions."""
    for name in verdicts:
        if options.get(name) is not None:
            raise ValueError(
                f"ids and {name} are given; expected one of them, because ids put only the predictions into the order "
                f"of the references. Put the predictions and {name} into that order yourself, and leave ids out."
            )


def _in_order(predictions: Any, references: Any, pair_of_ids: Any) -> list[Any]:
    """Return the predictions in the order of the references."""
    if not is_like_a_list(pair_of_ids) or len(pair_of_ids) != 2:
        raise ValueError(
            f"ids is {short_repr(pair_of_ids)}; expected a pair (ids of the predictions, ids of the references)."
        )
    prediction_list, reference_list = paired(predictions, references)
    rows = len(reference_list)
    prediction_ids = ids("ids[0]", pair_of_ids[0], rows, unique=True)
    reference_ids = ids("ids[1]", pair_of_ids[1], rows, unique=True)
    prediction_of = {}
    for prediction_id, prediction in zip(prediction_ids, prediction_list, strict=True):
        prediction_of[str(prediction_id)] = prediction
    missing = [str(row_id) for row_id in reference_ids if str(row_id) not in prediction_of]
    if missing:
        raise ValueError(
            f"{len(missing):,} references have no prediction of their id, such as {short_repr(missing[0])}; expected "
            "the same ids on both sides."
        )
    return [prediction_of[str(row_id)] for row_id in reference_ids]


def texts(name: str, values: Any, rows: int | None = None, hint: str = "") -> list[str]:
    """Check a list of texts."""
    items = listed(name, values, "a list, one text per row", rows)
    if _types_of(items) <= {str}:  # the usual case; a loop is slow
        return items
    for row, text in enumerate(items):
        if not isinstance(text, str):
            raise ValueError(f"{name}[{row}] is {short_repr(text)}; expected a text.{hint}")
    return items


def words(name: str, values: Any, known: Sequence[str], rows: int | None = None) -> list[str]:
    """Check a list of texts, each of which is one of the known words."""
    items = listed(name, values, f"a list, {_any_of(known)} per row", rows)
    are_texts = _types_of(items) == {str}  # other values may have no hash
    if are_texts and set(items) <= set(known):
        return items
    for row, value in enumerate(items):
        word(f"{name}[{row}]", value, known)
    return items


def ids(name: str, values: Any, rows: int, *, unique: bool = False) -> list[Id]:
    """Check a list of ids, each a whole number or a name."""
    items = listed(name, values, "a list, one id per row", rows)
    if not _are_plain_ids(items):
        for row, value in enumerate(items):
            if not _is_id_or_name(value):
                raise ValueError(f"{name}[{row}] is {short_repr(value)}; expected a whole number or a name.")
    if unique:
        _check_unique(name, items)
    return items


def _are_plain_ids(items: list[Any]) -> bool:
    """Whether all are names or all are ids; this is quick, and does not see a mixture of both."""
    types = _types_of(items)
    if types == {str}:
        return all(items)
    return types == {int} and is_id(min(items)) and is_id(max(items))


def _is_id_or_name(value: Any) -> bool:
    if isinstance(value, str):
        return value != ""
    return is_id(value)


def _check_unique(name: str, items: list[Any]) -> None:
    first_row: dict[str, int] = {}
    for row, value in enumerate(items):
        first = first_row.setdefault(str(value), row)
        if first != row:
            raise ValueError(
                f"{name}[{row}] is {short_repr(value)}, as is {name}[{first}]; expected one row per image."
            )


def _types_of(items: list[Any]) -> set[type]:
    return set(map(type, items))


def class_names(references: Any) -> list[list[str]]:
    """Return the class names in each image as lists; a set is accepted too, because their order does not count."""
    rows = listed("references", references, "a list, the class names in each image")
    for row, names in enumerate(rows):
        if type(names) is list:  # the usual case; the other checks are slow
            continue
        if isinstance(names, Set):
            rows[row] = list(names)
        elif is_like_a_list(names):
            rows[row] = listed("references", names, "a list of class names")
        else:
            raise ValueError(
                f"references[{row}] is {short_repr(names)}; expected a list of class names, such as ['dog', 'cup'] "
                "(an image without any object has the empty list)."
            )
    return rows


def scores(name: str, values: Any, expected: str) -> list[float]:
    """Check a list of finite numbers, one per model."""
    items = listed(name, values, expected)
    if not items:
        raise ValueError(f"{name} is empty; expected {expected}.")
    return [finite(f"{name}[{row}]", value, -LARGEST, LARGEST) for row, value in enumerate(items)]


def array(name: str, values: Any, expected: str) -> NDArray[Any]:
    """Return nested lists or an array as an array."""
    if hasattr(values, "columns") or isinstance(values, Mapping | Set) or _is_masked(values):
        raise ValueError(_unlike(name, values, expected))
    try:
        return np.asarray(values)
    except Exception as error:  # a foreign array may raise anything, such as one on another device
        raise ValueError(f"{name} is not an array ({error}); expected {expected}.") from error


def _is_masked(values: Any) -> bool:
    """Whether values are masked, also in an array of a list."""
    if np.ma.is_masked(values):
        return True
    if not isinstance(values, list | tuple):
        return False
    return any(np.ma.is_masked(value) for value in values)


def word(name: str, value: Any, known: Sequence[str]) -> str:
    """Check that a value is one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {short_repr(value)}; expected {_any_of(known)}.")
    return value


def flags(**options: Any) -> None:
    """Check options that are True or False; a string such as "no" would count as true."""
    for name, value in options.items():
        kind(name, value, bool | np.bool_, "True or False")


def kind(name: str, value: Any, kinds: Any, expected: str) -> None:
    """Check that a value has one of the given types."""
    if not isinstance(value, kinds):
        raise ValueError(f"{name} is {short_repr(value)}; expected {expected}.")


def warn_of_a_part(rows: int, expected: int) -> None:
    """Warn, at the caller's caller, that the questions are not exactly those of the benchmark."""
    if rows != expected:
        message = of_a_part(rows, expected)
        warnings.warn(f"{message} These scores cannot be compared with published ones.", stacklevel=3)


def of_a_part(rows: int, expected: int, noun: str = "questions") -> str:
    """Say that the rows are not as many as the benchmark's."""
    return f"{rows:,} {noun} are scored; expected the benchmark's {expected:,}."


def _unlike(name: str, values: Any, expected: str) -> str:
    hint = ""
    if hasattr(values, "columns"):
        hint = " Of a table, pass one column, or its rows as a list of dicts."
    return f"{name} is {short_repr(values)}; expected {expected}; it is of the type {type(values).__name__}.{hint}"


def _any_of(known: Sequence[str]) -> str:
    separator = ", "
    if len(known) < 4:
        separator = " or "
    return separator.join(repr(value) for value in known)


def whole(name: str, value: Any, least: int = 0, most: int | None = None, what: str = "") -> int:
    """Check a whole number; True and False are refused. `what` says what it is: "a number of rows"."""
    if is_whole(value) and value >= least and (most is None or value <= most):
        return int(value)
    between = f"of at least {least:,}"
    if most is not None:
        between = f"from {least:,} to {most:,}"
    raise ValueError(f"{name} is {short_repr(value)}; expected {what or 'a whole number'} {between}.")


def finite(name: str, value: Any, least: float, most: float, what: str = "") -> float:
    """Check a finite number from `least` to `most`, both included; True and False are refused."""
    if is_number(value) and least <= value <= most:
        return float(value)
    raise ValueError(
        f"{name} is {short_repr(value)}; expected {what or 'a number'} from {least:g} to {most:g}."
    )


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
    digits = re.fullmatch(r"\s*0*([0-9]{1,19})\s*", text)
    if not digits:
        return None
    number = int(digits[1])
    if not is_id(number):
        return None
    return number
