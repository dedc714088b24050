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
        found = listed("values", values, "a list")
    except ValueError:
        return values
    if {*map(type, found)} != {str}:
        return [as_word(value, any_case) for value in found]
    if not any_case:
        return found
    words = {text: as_word(text, any_case) for text in {*found}}  # a few labels, of many rows
    return [words[text] for text in found]


def as_word(value: Any, any_case: bool) -> Any:
    """Return "yes" or "no" for a truth value; any other value as it is."""
    if isinstance(value, str):
        word = value.strip().lower()
        return word if any_case and word in YES_NO else value
    if getattr(value, "ndim", None) == 0:  # an array or a tensor of one value
        value = value.item()
    is_truth = isinstance(value, bool | np.bool_) or (is_number(value) and value in (0, 1))
    if not is_truth:
        return value
    return "yes" if value else "no"
