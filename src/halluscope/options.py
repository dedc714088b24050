"""Declares, describes and checks a benchmark's options; for a misspelt name the nearest known one is suggested.

A dataclass of options says all about an option in one place, its field, which `option` makes. From it come the check of
a value (`check_values`), the command line's `Option` (`declared`), and the help for Python (`described`).
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from textwrap import fill
from typing import Any, TypeVar

from halluscope import limits
from halluscope.errors import WithoutEffect
from halluscope.sanitize import short_repr
from halluscope.validation import finite, flags, kind, listed, whole, word

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
    apart: tuple[str, ...] = ()  # the choices that "all" leaves out


@dataclass(frozen=True)
class Rule:
    """What `option` states about a field of a dataclass of options; its arguments are explained there."""

    option: Option  # without its name, which is the field's
    about: str = ""
    check: Callable[[Any], Any] | None = None
    kinds: Any = None
    least: Any = 0
    most: Any = None
    what: str = ""
    limit: str = ""
    called: str = ""


RULE = "rule"  # the key of a field's metadata that holds its `Rule`


def option(
    default: Any = MISSING,
    help: str = "",
    *,
    about: str = "",
    check: Callable[[Any], Any] | None = None,
    kinds: Any = None,
    least: float = 0,
    most: float | None = None,
    what: str = "",
    limit: str = "",
    called: str = "",
    **more: Any,
) -> Any:
    """Return a field of a dataclass of options.

    Args:
        default: its default; without one, the option must be given.
        help: its line on the command line; "" for an option that the command line does not have.
        about: what Python's help says; `help` unless it has more to say.
        check: checks a value that is not simply a word, a number, a flag or of one of `kinds`.
        kinds: the types of its values.
        least: the least number.
        most: the largest number; a float needs one.
        what: what is expected, for messages.
        limit: the limit of its numbers (`halluscope.limits`), which a user can raise.
        called: its name in Python, if the field has another.
        more: `type`, `choices`, `many`, `flag` and `metavar` of its `Option`; those that follow from a default that is
            a number or a flag are left out.
    """
    if isinstance(default, bool):
        more["flag"] = True
    elif isinstance(default, int | float):
        more["type"] = type(default)
    if more.get("type") is int:
        more.setdefault("metavar", "N")
    rule = Rule(
        option=Option("", help, **more),
        about=about or help,
        check=check,
        kinds=kinds,
        least=least,
        most=most,
        what=what,
        limit=limit,
        called=called,
    )
    return dataclasses.field(default=default, metadata={RULE: rule})


def declared(kind: type) -> list[Option]:
    """Return the command line's options for a dataclass of options."""
    options = []
    for field in _option_fields(kind):
        option = field.metadata[RULE].option
        if option.help:
            options.append(dataclasses.replace(option, name=field.name))
    return options


def usual_values(kind: type) -> dict[str, Any]:
    """Return the defaults of a dataclass of options that have one."""
    return {field.name: field.default for field in fields(kind) if field.default is not MISSING}


def described(kind: type) -> str:
    """Return Python's help for a dataclass of options."""
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Attributes:"]
    for field in _option_fields(kind):
        about = f"{field.name}: {field.metadata[RULE].about}."
        lines.append(fill(about, 116, initial_indent="    ", subsequent_indent=" " * 8))
    return "\n".join(lines)


def check_values(options: Any) -> None:
    """Check the values of a dataclass of options, each by what its field declares."""
    for field in _option_fields(type(options)):
        value = getattr(options, field.name)
        if value is None and field.default is None:
            continue
        rule: Rule = field.metadata[RULE]
        name = rule.called or field.name
        check_value(name, value, rule)
        if rule.limit:
            limits.check(rule.limit, value, f"{name}={short_repr(value)}")


def check_value(name: str, value: Any, rule: Rule) -> None:
    """Check the value of an option by what is declared of it."""
    if rule.check:
        rule.check(value)
    elif rule.kinds:
        kind(name, value, rule.kinds, rule.what)
    elif rule.option.flag:
        flags(**{name: value})
    elif rule.option.choices and rule.option.many:
        choices = rule.option.choices
        for entry in listed(name, value, f"a list of some of {', '.join(choices)}"):
            word(name, entry, choices)
    elif rule.option.choices:
        word(name, value, rule.option.choices)
    elif rule.option.type is int:
        whole(name, value, rule.least, rule.most, rule.what)
    elif rule.option.type is float:
        finite(name, value, rule.least, rule.most, rule.what)


def _option_fields(kind: type) -> list[Field[Any]]:
    """Return the fields of options, a dataclass's own before those that it shares with others."""
    own = []
    shared = []
    for field in fields(kind):
        if RULE not in field.metadata:
            continue
        if field.kw_only is True:
            shared.append(field)
        else:
            own.append(field)
    return own + shared


COUNT = "a whole number of responses"
TEXT_COLUMN = "the name of a column, a list of names, or None to look for it"


@dataclass(frozen=True)
class MatchingOptions:
    """How responses are read and matched to a dataset."""

    limit: int | None = option(
        None,
        "use only the first N responses of each LVLM",
        type=int,
        check=lambda value: value is None or whole("limit", value, 1, what=COUNT),
    )
    partial: bool = option(
        False, "score even if some rows have no response, and leave out a last line that is cut off"
    )
    id_column: str | None = option(
        None,
        "the responses' column that holds the id (default: found by its name)",
        kinds=str | None,
        what="the name of a column, or None to look for it",
        metavar="NAME",
    )
    text_column: str | Sequence[str] | None = option(
        None,
        "the column with the text (default: response, prediction, ...), or several, if each response has one",
        kinds=str | list | tuple | None,
        what=TEXT_COLUMN,
        many=True,
        metavar="NAME",
    )
    sheet: str | None = option(
        None,
        "the sheet of an xlsx file with the responses (default: the only one that has some)",
        kinds=str | None,
        what="the name of a sheet, or None for the only one with responses",
        metavar="NAME",
    )

    def __post_init__(self) -> None:
        check_values(self)
        for name in self.text_columns:
            kind("text_column", name, str, TEXT_COLUMN)

    @property
    def lacking_ok(self) -> bool:
        """Whether rows of the dataset may lack a response."""
        return self.partial or self.limit is not None

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns of the responses that hold the text; () to look for them."""
        if isinstance(self.text_column, str):
            return (self.text_column,)
        return tuple(self.text_column or ())


ALL = "all"  # The word that stands for each of an option's choices, if the option allows it (`Option.every`)


def takes(kind: type) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate a function of `**options` so that its signature names the fields of a dataclass of options."""

    def decorated(function: Callable[..., T]) -> Callable[..., T]:
        signature = inspect.signature(function)
        parameters = []
        for parameter in signature.parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                parameters.append(parameter)
        for field in fields(kind):
            parameters.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
                )
            )
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        annotations = {parameter.name: parameter.annotation for parameter in parameters}
        annotations["return"] = signature.return_annotation
        function.__annotations__ = annotations
        return function

    return decorated


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's keyword-only parameters and their defaults."""
    defaults = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            defaults[name] = parameter.default
    return defaults


def keywords(function: Callable[..., Any]) -> set[str]:
    """Return the names of a function's keyword-only parameters."""
    return set(defaults(function))


def taken(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are keyword-only parameters of a function."""
    known = keywords(function)
    return {name: value for name, value in options.items() if name in known}


def build(kind: type[T], options: Mapping[str, Any], owner: str, **defaults: Any) -> T:
    """Make a dataclass of options; `owner` is whose options they are, for errors."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    check(options, known, owner)
    return kind(**(defaults | dict(options)))


def check(names: Iterable[str], known: Iterable[str], owner: str) -> None:
    """Check the names of options."""
    check_names(f"{owner} has no option", names, sorted(known))


def check_names(lacking: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name of something that does not exist, in a sentence that begins with `lacking`."""
    known_names = list(known)
    for name in names:
        if name not in known_names:
            raise ValueError(
                f"{lacking} {name!r:.80}.{nearest(name, known_names)} The known ones are {', '.join(known_names)}."
            )


def check_effect(
    options: Mapping[str, Any], names: Iterable[str], why: str, usual: Mapping[str, Any] | None = None
) -> None:
    """Refuse options that cannot matter in a call.

    Args:
        options: the options that the user wrote, by name.
        names: those that cannot matter.
        why: why they cannot, as the end of a sentence.
        usual: the values that hold if nothing is written; to write these is no mistake.

    Raises:
        WithoutEffect: for the first such option.
    """
    for name in names:
        value = options.get(name)
        is_usual = usual is not None and name in usual and value == usual[name]
        if value is not None and not is_usual:
            raise WithoutEffect(name, f"{name} is {short_repr(value)}, but {why}")


def nearest(name: str, known: Sequence[str]) -> str:
    """Ask, for a message, whether the nearest known name was meant; return "" if no known name is near.

    >>> nearest("jugdes", ["agreement", "judges"])
    " Did you mean 'judges'?"
    """
    import difflib

    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    if not near:
        return ""
    return f" Did you mean {near[0]!r}?"
