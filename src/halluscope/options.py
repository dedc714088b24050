"""A benchmark's options by name, for the command line and for checks; a misspelt one gets its neighbour."""

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
        name: the keyword that it stands for in Python; `--class-f` stands for `class_f`.
        help: what it does, and its default, in one line.
        type: makes a value of a word.
        choices: the words that it takes; none if it takes any.
        many: whether it takes several words.
        flag: whether it takes none.
        metavar: what stands for a word in the help.
        each: whether it takes one word for each file of responses.
        every: whether the word "all" stands for each of the choices, one after the other.
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
    """How responses are read and put to a dataset, for every benchmark.

    Attributes:
        limit: score only the first so many responses.
        partial: rows of the dataset may be without a response; the result says how many have one.
        id_column: the column of the responses that holds the id; None looks for it.
        text_column: the column of the responses that holds the text; None looks for it.

    Raises:
        ValueError: for an option of another kind.
    """

    limit: int | None = None
    partial: bool = False
    id_column: str | None = None
    text_column: str | None = None

    def __post_init__(self) -> None:
        """Check the options; whoever reads checks the limit."""
        flags(partial=self.partial)
        for name in ("id_column", "text_column"):
            kind(name, getattr(self, name), str | None, "the name of a column, or None to look for it")


ALL = "all"
"""The word that stands for each of an option's choices, where it may (`Option.every`)."""


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """A function's keyword-only parameters, and what each is unless it is given."""
    parameters = inspect.signature(function).parameters.items()
    return {name: one.default for name, one in parameters if one.kind is one.KEYWORD_ONLY}


def keywords(function: Callable[..., Any]) -> set[str]:
    """The names of a function's keyword-only parameters."""
    return set(defaults(function))


def taken(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that a function has."""
    known = keywords(function)
    return {name: value for name, value in options.items() if name in known}


def build(kind: type[T], options: Mapping[str, Any], of: str, **defaults: Any) -> T:
    """Make a dataclass of options.

    Args:
        kind: the dataclass.
        options: its fields by name.
        of: whose options they are, for messages.
        defaults: fields that are not as `kind` has them unless `options` says so.

    Raises:
        ValueError: for an option that it does not have.
    """
    check(options, {field.name for field in fields(kind)}, of)  # type: ignore[arg-type]
    return kind(**(defaults | dict(options)))


def check(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Check the names of options.

    Raises:
        ValueError: for one that is not known; the message names its neighbour.
    """
    known = sorted(known)
    for name in given:
        if name not in known:
            raise ValueError(
                f"{of} has no option {name!r:.80}.{nearest(name, known)} Known are {', '.join(known)}."
            )


def nearest(name: str, known: Sequence[str]) -> str:
    """The question whether the nearest known name was meant; nothing if none is near.

    >>> nearest("jugdes", ["agreement", "judges"])
    " Did you mean 'judges'?"
    """
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""
