"""Takes right answers, and responses, as truth values too: True and 1 are yes, False and 0 are no."""

from typing import Any

import numpy as np

from halluscope.validation import is_like_a_list, is_number, listed

YES_NO = ("yes", "no")


def as_words(values: Any, any_case: bool = False) -> Any:
    """Return "yes" and "no" for truth values in a list, an array, a column of a table, or a tensor.

    What is none of these, and any other value in it, stays as it is, for the check that follows to name.

    Args:
        values: one value per row, in anything like a list (see `halluscope.validation`).
        any_case: whether "Yes" and " NO" become "yes" and "no".
    """
    if not is_like_a_list(values):
        return values
    try:
        labels = listed("values", values, "a list")
    except ValueError:
        return values
    if set(map(type, labels)) != {str}:
        return [as_word(label, any_case) for label in labels]
    if not any_case:
        return labels
    words = {label: as_word(label, any_case) for label in set(labels)}  # a few labels, of many rows
    return [words[label] for label in labels]


def as_word(value: Any, any_case: bool) -> Any:
    """Return "yes" or "no" for a truth value; any other value as it is."""
    if isinstance(value, str):
        word = value.strip().lower()
        if any_case and word in YES_NO:
            return word
        return value
    if getattr(value, "ndim", None) == 0:  # an array or a tensor of one value
        value = value.item()
    is_truth = isinstance(value, bool | np.bool_) or (is_number(value) and value in (0, 1))
    if not is_truth:
        return value
    if value:
        return "yes"
    return "no"
