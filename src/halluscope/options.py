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
    """An option of a benchmark, as the command line shows it."""

    name: str  # the keyword in Python; `--class-f` on the command line is `class_f`
    help: str  # what it does, and its default, in one line
    type: Callable[[str], Any] = str  # converts a word to a value
    choices: tuple[str, ...] = ()  # the allowed words; empty if any word is allowed
    many: bool = False  # whether it takes several words
    flag: bool = False  # whether it takes no word
    metavar: str | None = None  # the placeholder for a word in the help
    each: bool = False  # whether it takes one word per file of responses
    every: bool = False  # whether the word "all" stands for each of the choices in turn


@dataclass(frozen=True)
class MatchingOptions:
    """How responses are read and matched to a dataset, for every benchmark."""

    limit: int | None = None  # score only this many responses, from the first on
    # whether rows of the dataset may lack a response; the result says how many have one
    partial: bool = False
    id_column: str | None = None  # the column of the responses that holds the id; None looks for it
    text_column: str | None = None  # the column of the responses that holds the text; None looks for it

    def __post_init__(self) -> None:
        """Check the options; the limit is checked where responses are read."""
        flags(partial=self.partial)
        for name in ("id_column", "text_column"):
            kind(name, getattr(self, name), str | None, "the name of a column, or None to look for it")


ALL = "all"  # The word that stands for each of an option's choices, if the option allows it (`Option.every`)


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
    """Make a dataclass of options."""
    check(options, {field.name for field in fields(kind)}, of)  # type: ignore[arg-type]
    return kind(**(defaults | dict(options)))


def check(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Check the names of options."""
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
