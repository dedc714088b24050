"""Describes the content of JSON files by forms, and checks it: a form is called with a value and its location."""

import re
from collections.abc import Callable
from typing import Any

from halluscope.errors import BuildError
from halluscope.foreign import brief

Form = Callable[[Any, str], None]
"""Raises a BuildError for a value that is not of this form."""

LARGEST = 2**63
"""Numbers must be smaller than this, so that a column of 64-bit integers can hold them."""


def text(pattern: str, what: str) -> Form:
    """Make the form of a text that the pattern matches as a whole."""
    described = re.compile(pattern)

    def check(value: Any, where: str) -> None:
        _expect(isinstance(value, str) and described.fullmatch(value), value, where, what)

    return check


def truth(value: Any, where: str) -> None:
    """Check for true or false."""
    _expect(isinstance(value, bool), value, where, "true or false")


def count(value: Any, where: str) -> None:
    """Check for a whole number of at least 0."""
    _expect(type(value) is int and 0 <= value < LARGEST, value, where, "a whole number of at least 0")


def number(value: Any, where: str) -> None:
    """Check for a number."""
    _expect(type(value) in (int, float) and abs(value) < LARGEST, value, where, "a number")


def maybe(form: Form) -> Form:
    """Make the form of a value that may also be null."""
    return lambda value, where: None if value is None else form(value, where)


def each(form: Form) -> Form:
    """Make the form of a list that is not empty, whose items have one form."""

    def check(value: Any, where: str) -> None:
        _expect(isinstance(value, list) and value, value, where, "a list that is not empty")
        for place, item in enumerate(value):
            form(item, f"{where}[{place}]")

    return check


def named(name: Form, form: Form) -> Form:
    """Make the form of an object from the form of its names and the form of its values."""

    def check(value: Any, where: str) -> None:
        _expect(isinstance(value, dict), value, where, "a JSON object")
        for key, item in value.items():
            name(key, f"{where}, a name")
            form(item, f"{where}.{key}")

    return check


def record(**forms: Form) -> Form:
    """Make the form of an object with exactly these names, whose values have these forms."""

    def check(value: Any, where: str) -> None:
        _expect(isinstance(value, dict), value, where, f"a JSON object with {', '.join(forms)}")
        for wrong in sorted(forms.keys() ^ value.keys()):
            raise BuildError(
                f"{where}: {brief(wrong)} is {'missing' if wrong in forms else 'unknown'}; expected "
                f"{', '.join(forms)}."
            )
        for key, form in forms.items():
            form(value[key], f"{where}.{key}" if where.endswith("]") else f"{where}: {key}")

    return check


def _expect(good: Any, value: Any, where: str, what: str) -> None:
    if not good:
        raise BuildError(f"{where} is {brief(value)}; expected {what}.")
