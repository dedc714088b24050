"""The command `halluscope`: commands.toml says what the commands are; the function of a command's name runs it.

No command names a benchmark.
"""

import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from halluscope import limits
from halluscope.arguments import QUIET, Parser, without
from halluscope.cli.common import COMMANDS, add_command
from halluscope.sanitize import one_line
from halluscope.terminal import alarm, quiet, tell_error, tell_warnings
from halluscope.version import __version__

DONE, FAILED, BROKEN, INTERRUPTED = 0, 2, 70, 130

TRACEBACK = "HALLUSCOPE_TRACEBACK"  # the environment variable that makes an error print its traceback

# The commands that keep each reply they receive, and resume from there
GO_ON = ("answer", "score", "explain", "plan", "certify")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit status.

    It is 0 for success, 2 for bad input, 130 for an interruption, and 70 for a bug in halluscope, each with one message
    on standard error. argparse raises SystemExit: 0 after --help, 2 for words that cannot be parsed.
    """
    with tell_warnings():
        try:
            return _run([*(sys.argv[1:] if argv is None else argv)])
        except (ValueError, OSError, ImportError) as error:
            return _failed(FAILED, error, str(error) or type(error).__name__)
        except KeyboardInterrupt as stopped:
            tell_error(f"interrupted{f'; {stopped}' if str(stopped) else '.'}")
            return INTERRUPTED
        except MemoryError as error:
            return _failed(
                BROKEN,
                error,
                "there is not enough memory for this; score less at a time, or use a machine with more memory.",
            )
        except Exception as error:
            what = f"{type(error).__name__}: {one_line(error, 500)}"
            return _failed(
                BROKEN,
                error,
                f"an error in halluscope itself ({what}). Please report this line and the command where you got "
                f"halluscope from; {TRACEBACK}=1 in the environment prints the traceback.",
            )


def parser(command: str | None = None) -> ArgumentParser:
    """Return the parser; only the named command gets its options, since these take time to load."""
    top = Parser(prog="halluscope", description="Hallucination benchmarks for vision-language models.")
    top.add_argument("--version", action="version", version=f"halluscope {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, record in COMMANDS.items():
        sub = commands.add_parser(name, help=record["about"], add_help=name != "build")
        if name == command:
            add_command(sub, name.replace("-", "_"), record, _module(name))
    return top


def _module(command: str) -> Any:
    return import_module(f"halluscope.cli.{COMMANDS[command]['in']}")


def _run(words: Sequence[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser(next(iter(os.environ["COMP_LINE"].split()[1:]), None)))
    left, changes = without(limits.OPTION, words)
    first = left[:1] == [QUIET]
    left = left[first:]
    with limits.given(",".join(changes) or None), quiet(first):
        if not left:
            parser().print_help()
            return DONE
        if left[0] == "build":  # the dataset's builder reads the other words
            return int(_module("build").build(left[1:]))
        options = parser(left[0]).parse_args(left, Namespace(words=words))
        try:
            with quiet(getattr(options, "quiet", False)):
                options.run(options)
        except KeyboardInterrupt as stopped:
            kept = "what was answered so far is kept; run the same command to go on."
            raise KeyboardInterrupt(str(stopped) or (kept if left[0] in GO_ON else "")) from None
    return DONE


def _failed(status: int, error: BaseException, message: str) -> int:
    tell_error(message)
    if os.environ.get(TRACEBACK):
        alarm("".join(traceback.format_exception(error)))
    return status
