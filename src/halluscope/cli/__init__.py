"""The command `halluscope`: `commands` says what the commands are, and a function carries each one out."""

import os
import sys
import traceback
from collections.abc import Sequence

from halluscope import limits
from halluscope.cli import commands
from halluscope.sanitize import one_line
from halluscope.terminal import alarm, quiet, say, tell_error, tell_warnings
from halluscope.version import __version__

# Exit statuses
DONE = 0
FAILED = 2
BROKEN = 70
INTERRUPTED = 130

TRACEBACK = "HALLUSCOPE_TRACEBACK"  # the environment variable that makes an error print its traceback

QUIET = "--quiet"  # leaves out notices and progress bars; errors are still printed

# The commands that keep each reply they receive, and resume from there
GO_ON = ("answer", "score", "explain", "certify")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit status.

    It is 0 for success, 2 for bad input, 130 for an interruption, and 70 for a bug in halluscope, each with one message
    on standard error.
    """
    with tell_warnings():
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        except (ValueError, OSError, ImportError) as error:
            return _failed(FAILED, error, str(error) or type(error).__name__)
        except KeyboardInterrupt as stopped:
            why = str(stopped)
            tell_error(f"interrupted; {why}" if why else "interrupted.")
            return INTERRUPTED
        except MemoryError as error:
            return _failed(
                BROKEN,
                error,
                "there is not enough memory for this; score less at a time, or use a machine with more memory.",
            )
        except Exception as error:
            name = f"{type(error).__name__}: {one_line(error, 500)}"
            return _failed(
                BROKEN,
                error,
                f"an error in halluscope itself ({name}). Please report this line and the command where you got "
                f"halluscope from; {TRACEBACK}=1 in the environment prints the traceback.",
            )


def _run(typed: Sequence[str]) -> int:
    words, changes = without(limits.OPTION, typed)
    is_quiet = QUIET in words
    words = [word for word in words if word != QUIET]
    with limits.given(",".join(changes) or None), quiet(is_quiet):
        if words == ["--version"]:
            say(f"halluscope {__version__}")
            return DONE
        try:
            commands.run(words, typed)
        except KeyboardInterrupt as stopped:
            why = str(stopped)
            if not why and any(word in GO_ON for word in words[:2]):
                why = "what was answered so far is kept; run the same command to go on."
            raise KeyboardInterrupt(why) from None
    return DONE


def without(option: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take an option out of the words of a command line; return the other words, and the option's values.

    Raises:
        ValueError: if the option has no value.

    >>> without("--a", ["x", "--a", "1", "y", "--a=2"])
    (['x', 'y'], ['1', '2'])
    """
    rest = []
    values = []
    remaining = iter(words)
    for word in remaining:
        if word == option:
            values.append(next(remaining, ""))
        elif word.startswith(f"{option}="):
            values.append(word.removeprefix(f"{option}="))
        else:
            rest.append(word)
    if not all(values):
        raise ValueError(f"{option} has no value; expected NAME=AMOUNT,... such as reply=32MB.")
    return rest, values


def _failed(status: int, error: BaseException, message: str) -> int:
    tell_error(message)
    if os.environ.get(TRACEBACK):
        alarm("".join(traceback.format_exception(error)))
    return status
