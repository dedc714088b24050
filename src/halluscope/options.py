"""Describes and checks a benchmark's options by name; for a misspelt name the nearest known one is suggested."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from halluscope.inputs import flags, kind

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """An option of a benchmark, as the command line shows it.

    Attributes:
        name: the keyword in Python; `--class-f` on the command line is `class_f`.
        help: what it does, and its default, in one line.
        type: converts a word to a value.
        choices: the allowed words; empty if any word is allowed.
        many: whether it takes several words.
        flag: whether it takes no word.
        metavar: the placeholder for a word in the help.
        each: whether it takes one word per file of responses.
        every: whether the word "all" stands for each of the choices in turn.
    """

    name: str
    help: str
    type: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    many: bool = False
    flag: bool = False
    metavar: str | None = None
    each: bool = False
    every: bool = False


@dataclass(frozen=True)
class Door:
    """How responses are read and matched to a dataset, for every benchmark.

    Attributes:
        limit: score only this many responses, from the first on.
        partial: whether rows of the dataset may lack a response; the result says how many have one.
        id_column: the column of the responses that holds the id; None looks for it.
        text_column: the column of the responses that holds the text; None looks for it.

    Raises:
        ValueError: if an option has another type.
    """

    limit: int | None = None
    partial: bool = False
    id_column: str | None = None
    text_column: str | None = None

    def __post_init__(self) -> None:
        """Check the options; the limit is checked where responses are read."""
        flags(partial=self.partial)
        for name in ("id_column", "text_column"):
            kind(name, getattr(self, name), str | None, "the name of a column, or None to look for it")


ALL = "all"
"""The word that stands for each of an option's choices, if the option allows it (`Option.every`)."""


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's keyword-only parameters and their defaults."""
    parameters = inspect.signature(function).parameters.items()
    return {name: one.default for name, one in parameters if one.kind is one.KEYWORD_ONLY}


def keywords(function: Callable[..., Any]) -> set[str]:
    """Return the names of a function's keyword-only parameters."""
    return set(defaults(function))


def taken(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are keyword-only parameters of a function."""
    known = keywords(function)
    return {name: value for name, value in options.items() if name in known}


def build(kind: type[T], options: Mapping[str, Any], of: str, **defaults: Any) -> T:
    """Make a dataclass of options.

    Args:
        kind: the dataclass.
        options: its fields by name.
        of: whose options they are, for messages.
        defaults: values that replace the dataclass's own defaults.

    Raises:
        ValueError: for an option that the dataclass does not have.
    """
    check(options, {field.name for field in fields(kind)}, of)  # type: ignore[arg-type]
    return kind(**(defaults | dict(options)))


def check(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Check the names of options.

    Raises:
        ValueError: for an unknown name; the message suggests the nearest known one.
    """
    known = sorted(known)
    for name in given:
        if name not in known:
            raise ValueError(
                f"{of} has no option {name!r:.80}.{nearest(name, known)} The known ones are {', '.join(known)}."
            )


def nearest(name: str, known: Sequence[str]) -> str:
    """Ask, for a message, whether the nearest known name was meant; return "" if no known name is near.

    >>> nearest("jugdes", ["agreement", "judges"])
    " Did you mean 'judges'?"
    """
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""
