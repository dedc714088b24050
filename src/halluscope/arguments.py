"""Parses the arguments of the command line, and converts words to numbers."""

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from halluscope import limits, terminal
from halluscope.options import nearest
from halluscope.paths import path_of
from halluscope.sanitize import one_line, short_repr
from halluscope.validation import LARGEST_SEED as LARGEST

QUIET = "--quiet"
"""The option, known to every command, that leaves out notices and progress bars; errors are still printed."""

LONGEST = 1000
"""The most characters of a message, which may repeat a word of any length from the command line."""


class Parser(argparse.ArgumentParser):
    """A parser that prints through `halluscope.terminal` and suggests the nearest known word for a misspelt one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        about = f"Every command takes {limits.OPTION} NAME=AMOUNT,...; `halluscope list` shows the limits."
        super().__init__(*arguments, **({"epilog": about} | options))
        # what converts a word, by a name in commands.toml or an option's type; its error says what was expected
        types = {
            "whole": whole,
            int: whole,
            "number": number,
            float: number,
            "digits": digits,
            "path": path_of,
        }
        for name, convert in types.items():
            self.register("type", name, convert)
        self.add_argument(
            QUIET, action="store_true", default=argparse.SUPPRESS, help="no notices, no progress bars"
        )

    def parse_known_args(self, *given: Any, **also: Any) -> Any:
        """Parse, and refuse unknown arguments here: this parser, unlike the one that called it, knows the options."""
        found, left = super().parse_known_args(*given, **also)
        if left:
            word = left[0].partition("=")[0].lstrip("-")
            known = [option.lstrip("-") for option in self._option_string_actions]
            self.error(f"unrecognized arguments: {' '.join(left)}.{nearest(word, known)}")
        return found, left

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit with status 2."""
        if "invalid choice: '" in message:
            word = message.partition("invalid choice: '")[2].partition("'")[0]
            message += nearest(word, self._words())
        super().error(one_line(message, LONGEST))

    def _words(self) -> list[str]:
        return [str(word) for action in self._actions for word in action.choices or ()]

    def _print_message(self, message: str, file: Any = None) -> None:
        (terminal.alarm if file is sys.stderr else terminal.say)(message.removesuffix("\n"))


def whole(word: str) -> int:
    """Convert a word to a whole number; its range is checked where it is used."""
    expected = "a whole number, such as 100"
    try:
        if abs(number := int(word)) <= LARGEST:
            return number
        expected = f"at most {LARGEST}"
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"got {short_repr(word)}; expected {expected}")


def number(word: str) -> float:
    """Convert a word to a finite number; its range is checked where it is used."""
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise argparse.ArgumentTypeError(f"got {short_repr(word)}; expected a number, such as 0.5")
    return found


def digits(word: str) -> str:
    """Return a number with its digits as they were typed."""
    number(word)
    return word.strip()


def without(option: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take an option out of the words of a command line; return the other words, and the option's values.

    Raises:
        ValueError: if the option has no value.

    >>> without("--a", ["x", "--a", "1", "y", "--a=2"])
    (['x', 'y'], ['1', '2'])
    """
    left, values = [], []
    coming = iter(words)
    for word in coming:
        if word == option:
            values.append(next(coming, ""))
        elif word.startswith(f"{option}="):
            values.append(word.removeprefix(f"{option}="))
        else:
            left.append(word)
    if not all(values):
        raise ValueError(f"{option} has no value; expected NAME=AMOUNT,... such as reply=32MB.")
    return left, values
