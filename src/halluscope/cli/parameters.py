"""The parameters that commands share, how words become values, and parameters that are declared elsewhere."""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter, Token

from halluscope.options import ALL, Option
from halluscope.paths import path_of
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.validation import LARGEST_SEED as LARGEST

# The groups of options in a command's help, in this order
INPUT = Group("Responses", sort_key=1)
OWN = Group("How they are scored", sort_key=2)
JUDGES = Group("Judges", sort_key=3)
INTERVALS = Group("Intervals", sort_key=4)
OUTPUT = Group("What is shown", sort_key=5)


# From words to values


def whole(_: Any, tokens: Sequence[Token]) -> int:
    """Convert a word to a whole number; its range is checked where it is used."""
    word = tokens[0].value
    try:
        value = int(word)
    except ValueError:
        raise ValueError(f"got {short_repr(word)}; expected a whole number, such as 100") from None
    if abs(value) > LARGEST:
        raise ValueError(f"got {short_repr(word)}; expected at most {LARGEST}")
    return value


def number(_: Any, tokens: Sequence[Token]) -> float:
    """Convert a word to a finite number; its range is checked where it is used."""
    word = tokens[0].value
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"got {short_repr(word)}; expected a number, such as 0.5")
    return value


def digits(_: Any, tokens: Sequence[Token]) -> str:
    """Return a number with its digits as they were typed."""
    number(float, tokens)
    return tokens[0].value.strip()


def path(_: Any, tokens: Sequence[Token]) -> Path:
    return path_of(tokens[0].value)


def paths(_: Any, tokens: Sequence[Token]) -> list[Path]:
    return [path_of(token.value) for token in tokens]


# Each is a parameter's type, to which `Annotated` may add a help.
Whole = Annotated[int, Parameter(converter=whole, metavar="N")]
Decimal = Annotated[float, Parameter(converter=number, metavar="N")]
File = Annotated[Path, Parameter(converter=path, metavar="FILE")]
Folder = Annotated[Path, Parameter(converter=path, metavar="FOLDER")]
Files = Annotated[list[Path], Parameter(converter=paths)]
Runs = Annotated[list[Path], Parameter(converter=paths)]
Scores = Annotated[Sequence[str], Parameter(metavar="SCORE...")]


# All words of the command line, as they were typed. No word sets it.
Typed = Annotated[Sequence[str], Parameter(parse=False)]


# What several commands take

Responses = Annotated[
    list[str],
    Parameter(
        metavar="FILE...",
        group=INPUT,
        help="files of responses with ids, one LVLM per file: JSON lines, a JSON list or {id: text}, csv, tsv, "
        "Parquet, xlsx (.gz too), samples of lm-eval or lmms-eval, a log of Inspect; NAME=A,B,C joins one LVLM's "
        "files",
    ),
]
Datasets = Annotated[
    list[str],
    Parameter(
        metavar="DATASET...",
        group=INPUT,
        help="a built dataset's folder, a Hub id, or upstream's file; NAME:CONFIG@SPLIT picks a part",
    ),
]


@Parameter(name="*", group=INTERVALS)
@dataclass(frozen=True, kw_only=True)
class Resampling:
    """Whether intervals are made, and by how many draws, where draws are needed."""

    bootstrap: Annotated[
        Whole,
        Parameter(
            help="0 for no intervals; as a number of resamples it matters only to correlations and corrected scores "
            f"(default: {RESAMPLES:,})"
        ),
    ] = RESAMPLES
    seed: Annotated[Whole, Parameter(help="seed of the bootstrap (default: 0)")] = 0

    def bootstrapped(self, level: float = 0.95) -> Bootstrap:
        return Bootstrap(self.bootstrap, self.seed, level)


# Parameters that are declared elsewhere: by dataclasses of options, and by builders


@dataclass(frozen=True)
class Named:
    """A command of a benchmark, or of a dataset."""

    function: Callable[..., None]
    summary: str  # what its help says first
    judge: Sequence[str] = ()  # the words by which it needs no language model, or names one


def declared(options: Iterable[Option], group: Group | None = None) -> list[inspect.Parameter]:
    """Return options as parameters of a command; one that is not named on the command line is not passed."""
    return [_parameter(option, group) for option in options]


def _parameter(option: Option, group: Group | None) -> inspect.Parameter:
    form: Any = str
    if option.flag:
        form = bool
    elif option.many:
        form = list[str]
    elif option.type is int or option.type is float:
        form = option.type
    elif option.type is not str:
        form = Any
    where: dict[str, Any] = {}
    if group is not None:
        where["group"] = group
    parameter = Parameter(
        help=option.help,
        metavar=_placeholder(option),
        choices=_choices(option),
        converter=_converter(option),
        **where,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[form | None, parameter],
    )


def _placeholder(option: Option) -> str | None:
    """Return what stands for a value in the help; None for a choice, where the help names the choices."""
    if option.choices:
        return None
    if option.metavar is not None:
        word = option.metavar
    elif option.type in (int, float):
        word = "N"
    else:
        word = option.name.upper().replace("_", "-")
    if option.many:
        return f"{word}..."
    return word


def _choices(option: Option) -> tuple[str, ...] | None:
    if option.every:
        return option.choices + (ALL,)
    return option.choices or None


def _converter(option: Option) -> Callable[[Any, Sequence[Token]], Any] | None:
    """Return what converts an option's words; None if they stay texts."""
    if option.many or option.flag or option.type is str:
        return None
    if option.type is int:
        return whole
    if option.type is float:
        return number
    return functools.partial(_converted, option.type)


def _converted(convert: Callable[[str], Any], _: Any, tokens: Sequence[Token]) -> Any:
    return convert(tokens[0].value)


def for_name(
    function: Callable[..., None], name: str, parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Return a command whose first argument is `name`.

    The parameters stand in the place of its `**options`, and of its own parameters of the same names.
    """

    @functools.wraps(function)
    def command(*arguments: Any, **options: Any) -> None:
        function(name, *arguments, **options)

    added = {parameter.name: parameter for parameter in parameters}
    signature = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name not in added and parameter.kind is not parameter.VAR_KEYWORD:
            signature.append(parameter)
    signature += added.values()
    return with_parameters(command, signature)


def with_parameters(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the signature by which the command line is read."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
