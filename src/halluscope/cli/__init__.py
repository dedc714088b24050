"""The command `halluscope`: one module per command, and nothing in it that knows a single benchmark."""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from halluscope import limits
from halluscope.arguments import QUIET, Parser, without
from halluscope.foreign import one_line
from halluscope.terminal import alarm, quiet, tell_error, tell_warnings
from halluscope.version import __version__

DONE, FAILED, BROKEN, INTERRUPTED = 0, 2, 70, 130

TRACEBACK = "HALLUSCOPE_TRACEBACK"
"""The variable of the environment that lets an error show where it arose."""

COMMANDS = {
    "list": "what there is: benchmarks, datasets and where they are built, extras, kept votes, limits",
    "info": "a benchmark's card: options, scores and which way they are better, citation",
    "build": "build a dataset: halluscope build NAME --help",
    "answer": "ask a vision-language model a benchmark's questions",
    "score": "score an LVLM's responses: halluscope score NAME --help",
    "verify": "is a run of `score --out` as it was written, and do its scores come out of its rows?",
    "compare": "is one model better than another? runs of `score --out`, on the rows that all have",
    "report": "a page that shows what went wrong: scores, figures, and each response with its errors marked",
    "plot": "figures of runs of `score --out`, as SVG and PDF files, each with the question that it answers",
    "explain": "which number is that? the same responses under each protocol, and why these differ",
    "ablate": "what the number of votes that must agree does to the scores",
    "ask": "ask judges by batch files: halluscope ask export NAME, and ask import FILE...",
    "plan": "what scoring will take: questions, tokens, FLOP, time",
    "agree": "do two methods read the same classes out of the same responses? and a sheet to mark their errors on",
    "correlate": "do two benchmarks rank the same models alike?",
    "parallel": "put a benchmark's questions into other words",
    "reliability": "does a benchmark give the same scores again?",
    "review": "sheets on which people mark rows, and what they say",
    "certify": "how often judges err, by labels that people gave; `score --certificate` corrects by it",
    "publish": "put datasets and metrics on the Hub",
    "install-metrics": "let evaluate.load find the metrics by their bare names",
    "tasks": "where lm-eval and lmms-eval find our tasks",
    "demo": "eight embedded descriptions, scored: their errors, a report of them, and what to type next",
}

GO_ON = ("answer", "score", "explain", "plan", "ask", "certify")
"""The commands that keep what they were told, and go on from there."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: its words; None takes those of the process.

    Returns:
        The exit status: 0; 2 for bad input, 130 when it is interrupted, 70 for an error of ours, each with one message
        on standard error.

    Raises:
        SystemExit: as argparse does it, with the status 0 after --help and 2 for words that cannot be parsed.
    """
    with tell_warnings():
        try:
            return _run([*(sys.argv[1:] if argv is None else argv)])  # `list` is a command's module here
        except (ValueError, OSError, ImportError) as error:
            return _failed(FAILED, error, str(error) or type(error).__name__)
        except KeyboardInterrupt as stopped:
            tell_error(f"interrupted{f'; {stopped}' if str(stopped) else '.'}")
            return INTERRUPTED
        except MemoryError as error:
            said = "there is not enough memory for this; give it less at a time, or take a machine with more."
            return _failed(BROKEN, error, said)
        except Exception as error:
            said = f"{type(error).__name__}: {one_line(error, 500)}"
            return _failed(
                BROKEN,
                error,
                f"an error in halluscope itself ({said}). Please report this line, with the command, where you got "
                f"halluscope from; {TRACEBACK}=1 in the environment shows where it arose.",
            )


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The commands; only the one that is named gets its options, since these take time to load."""
    top = Parser(prog="halluscope", description="Hallucination benchmarks for vision-language models.")
    top.add_argument("--version", action="version", version=f"halluscope {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, about in COMMANDS.items():
        sub = commands.add_parser(name, help=about, add_help=name != "build")
        if name == command:
            import_module(f"halluscope.cli.{name.replace('-', '_')}").add(sub)
    return top


def _run(words: Sequence[str]) -> int:
    left, given = without(limits.OPTION, words)
    first = left[:1] == [QUIET]
    left = left[first:]
    with limits.given(",".join(given) if given else None), quiet(first):
        if not left:
            parser().print_help()
            return DONE
        if left[0] == "build":
            return int(import_module("halluscope.cli.build").run(left[1:]))
        options = parser(left[0]).parse_args(left, argparse.Namespace(words=words))
        try:
            with quiet(getattr(options, "quiet", False)):
                options.run(options)
        except KeyboardInterrupt as stopped:
            kept = "answers given so far are kept, and the same command goes on."
            raise KeyboardInterrupt(str(stopped) or (kept if left[0] in GO_ON else "")) from None
    return DONE


def _failed(status: int, error: BaseException, said: str) -> int:
    tell_error(said)
    if os.environ.get(TRACEBACK):
        alarm("".join(traceback.format_exception(error)))
    return status
