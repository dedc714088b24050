"""A row's fields, each checked as it is taken: an error says where it is, what arrived and what was expected."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from halluscope.reading.yes_no_labels import YES_NO, as_word
from halluscope.sanitize import short_repr
from halluscope.validation import id_of, is_id, is_like_a_list


@dataclass(frozen=True)
class Fields:
    """The fields of one row.

    Every method raises a ValueError for a value that is absent or of another kind.
    """

    values: Mapping[str, Any]  # our name of a field -> its value
    where: str  # the row is, for errors
    # our name of a field -> the user's file's name, where that differs
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def form(self) -> str:
        """The parallel form that the row is of; "" for the original."""
        return self.text_or_none("form") or ""

    def whole(self, name: str) -> int:
        """Return a whole number that a column of 64 bits holds, or the number of its digits, as in a csv."""
        value: Any = self.values.get(name)
        if isinstance(value, str):
            value = id_of(value)
        if not is_id(value):
            raise self.wrong(name, "a 64-bit whole number")
        return int(value)

    def text(self, name: str) -> str:
        value: Any = self.values.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        value: Any = self.values.get(name)
        if isinstance(value, float) and math.isnan(value):  # what pandas has for null
            return None
        if not isinstance(value, str | None):
            raise self.wrong(name, "a text, or null")
        return value or None

    def one_of(self, name: str, known: Collection[str]) -> str:
        return self._known(name, self.values.get(name), known)

    def yes_or_no(self, name: str) -> str:
        """Return "yes" or "no", however it is written: "Yes", True, or 1."""
        return self._known(name, as_word(self.values.get(name), any_case=True), YES_NO)

    def _known(self, name: str, value: Any, known: Collection[str]) -> str:
        if not isinstance(value, str) or value not in known:
            names = ", ".join(repr(word) for word in known)
            raise self.wrong(name, f"one of {names}")
        return value

    def words(self, name: str, expected: str = "a list of words") -> tuple[str, ...]:
        value: Any = self.values.get(name)
        if not is_like_a_list(value) or not all(isinstance(word, str) for word in value):
            raise self.wrong(name, expected)
        return tuple(value)

    def wrong(self, name: str, expected: str) -> ValueError:
        """Return the error of a field; it calls the field as the user's file does."""
        name_in_file = self.names.get(name) or name
        value = short_repr(self.values.get(name))
        return ValueError(f"{self.where}: {name_in_file} is {value}; expected {expected}.")
