"""Says what is wrong with the words of a command line, in one line that ends with what to type next."""

from collections.abc import Sequence

from cyclopts import CycloptsError
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from halluscope.options import nearest
from halluscope.sanitize import one_line, short_repr

# Commands of earlier versions -> what to type now
MOVED = {
    "info": "list NAME",
    "plan": "score NAME --plan",
    "ablate": "score NAME --agreement K K ...",
    "plot": "report RUN --figures FOLDER",
    "review": "study sheet",
    "agree": "study agree",
    "certify": "study certify",
    "correlate": "study correlate",
    "items": "study items",
    "parallel": "study parallel",
    "reliability": "study reliability",
    "swap": "study swap",
}

# What follows these commands; others are followed by a command of their own
NOUNS = {"build": "dataset", "score": "benchmark", "explain": "benchmark"}

LONGEST = 1000  # the most characters of a message, which may repeat a word of any length


def told(error: CycloptsError, words: Sequence[str]) -> str:
    """Return the message for an error in these words."""
    command = "halluscope"
    if error.command_chain:
        command += f" {' '.join(error.command_chain)}"
    return one_line(f"{_wrong(error, words)} `{command} --help` shows what there is.", LONGEST)


def _wrong(error: CycloptsError, words: Sequence[str]) -> str:
    if isinstance(error, UnknownCommandError):
        return _unknown_command(error)
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        options: list[str] = []
        for argument in error.argument_collection:
            options += argument.names
        return f"There is no option {option.partition('=')[0]}.{nearest(option, options)}"
    if isinstance(error, UnusedCliTokensError):
        unused = error.unused_tokens or []
        return f"{short_repr(unused[0])} is a word too many; expected options, which begin with --."
    name = _name(error)
    if isinstance(error, MissingArgumentError):
        options = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
        if name in options:
            return f"{name} has no value."
        for option in options:
            if option.startswith(name) or name.startswith(option):
                return f"There is no option {option}. Did you mean {name!r}?"
        return f"{name} is missing."
    if isinstance(error, RepeatArgumentError):
        return f"{name} is given twice; expected it once."
    if isinstance(error, CoercionError):
        return f"{name}: {_unfit(error)}"
    error.verbose = False
    return str(error)


def _unknown_command(error: UnknownCommandError) -> str:
    """Say that a command, or the benchmark or dataset after a command, does not exist."""
    word = (error.unused_tokens or [""])[0]
    chain = error.command_chain or []
    assert error.app is not None, "cyclopts says where it looked"
    names = [name for name in error.app if not name.startswith("-")]
    if not chain and word in MOVED:
        return f"There is no command {word}; type `halluscope {MOVED[word]}`."
    if not chain:
        return f"There is no command {short_repr(word)}.{nearest(word, names)}"
    noun = NOUNS.get(chain[-1], f"command {chain[-1]}")
    known = ", ".join(names)
    return f"There is no {noun} {short_repr(word)}.{nearest(word, names)} The known ones are {known}."


def _unfit(error: CoercionError) -> str:
    """Say why a word is no value of an option."""
    if error.msg is not None:  # of a converter of ours
        return f"{error.msg}."
    assert error.token is not None and error.argument is not None, "cyclopts says which word of which option"
    word = error.token.value
    choices = error.argument.get_choices()
    if choices:
        return f"got {short_repr(word)}; expected {', '.join(choices)}.{nearest(word, choices)}"
    return f"got {short_repr(word)}, but it takes no value."


def _name(error: CycloptsError) -> str:
    """Return an option as it is typed, or the name of an argument."""
    token = getattr(error, "token", None)
    if token is not None and token.keyword:
        return str(token.keyword)
    if error.argument is None:
        return "a word"
    name = error.argument.name
    if name.startswith("-"):
        return name
    return name.upper()
