"""Checks numbers that users give: whether they are whole, finite, and in range."""

from typing import Any

import numpy as np

from halluscope.foreign import brief

# The least distance from 0 and from 1 that `share` accepts: nearer to them, formulas round to 0 or 1.
LEAST_SHARE = 1e-9


def whole(name: str, value: Any, least: int = 0, most: int | None = None, what: str = "") -> int:
    """Check a whole number; True and False are refused."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good or value < least or (most is not None and value > most):
        between = f"from {least:,} to {most:,}" if most is not None else f"of at least {least:,}"
        raise ValueError(f"{name} is {brief(value)}; expected {what or 'a whole number'} {between}.")
    return int(value)


def finite(name: str, value: Any, least: float, most: float, what: str = "") -> float:
    """Check a finite number from `least` to `most`, both included; True and False are refused."""
    if not is_number(value) or not least <= value <= most:
        raise ValueError(
            f"{name} is {brief(value)}; expected {what or 'a number'} from {least:g} to {most:g}."
        )
    return float(value)


def share(name: str, value: Any, what: str = "a fraction between 0 and 1, such as 0.95") -> float:
    """Check a fraction between 0 and 1, both excluded."""
    if not is_number(value) or not LEAST_SHARE <= value <= 1 - LEAST_SHARE:
        raise ValueError(f"{name} is {brief(value)}; expected {what}.")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or numpy, finite or not; True and False are not numbers."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_id(value: Any) -> bool:
    """Whether a value is a whole number that fits into a 64-bit column; True and False are not.

    >>> is_id(7), is_id(True), is_id(7.0), is_id(2**63)
    (True, False, False, False)
    """
    return (
        isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63
    )


def id_of(text: str) -> int | None:
    """Return the number that a text of digits spells, if it fits into a 64-bit column; None for any other text."""
    plain = text.strip().lstrip("0") or "0"
    digits = text.strip().isascii() and text.strip().isdigit() and len(plain) <= 19
    return int(plain) if digits and is_id(int(plain)) else None
