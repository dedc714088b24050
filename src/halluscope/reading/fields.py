"""A row's fields, each checked as it is taken: an error says where it is, what arrived and what was expected."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from halluscope.reading.yes_no_labels import YES_NO, as_word
from halluscope.sanitize import short_repr
from halluscope.validation import id_of, is_id, is_like_a_list


class Fields(NamedTuple):
    """The fields of one row.

    Every method raises a ValueError for a value that is absent or of another kind.
    """

    given: Mapping[str, Any]  # our name of a field -> its value
    where: str  # the row is, for errors
    # our name of a field -> the user's file's name, where that differs
    names: Mapping[str, str] = MappingProxyType({})

    @property
    def form(self) -> str:
        """The parallel form that the row is of; "" for the original."""
        return str(self.given.get("form") or "")

    def whole(self, name: str, *, or_digits: bool = False) -> int:
        """Return a whole number that a column of 64 bits holds, or, where that is allowed, the number of its digits."""
        value: Any = self.given.get(name)
        number = id_of(value) if or_digits and isinstance(value, str) else value
        if number is None or not is_id(number):
            raise self.wrong(name, "a 64-bit whole number")
        return int(number)

    def text(self, name: str) -> str:
        value: Any = self.given.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        value: Any = self.given.get(name)
        if not isinstance(value, str | None):
            raise self.wrong(name, "a text, or null")
        return value or None

    def one_of(self, name: str, known: Collection[str]) -> str:
        value: Any = self.given.get(name)
        if tuple(known) == YES_NO:
            value = as_word(value, any_case=True)
        if not isinstance(value, str) or value not in known:
            raise self.wrong(name, f"one of {', '.join(map(repr, known))}")
        return value

    def words(self, name: str, expected: str = "a list of words") -> tuple[str, ...]:
        value: Any = self.given.get(name)
        if not is_like_a_list(value) or not all(isinstance(word, str) for word in value):
            raise self.wrong(name, expected)
        return tuple(value)

    def wrong(self, name: str, expected: str) -> ValueError:
        """Return the error of a field; it calls the field as the user's file does."""
        return ValueError(
            f"{self.where}: {self.names.get(name) or name} is {short_repr(self.given.get(name))}; expected {expected}."
        )
