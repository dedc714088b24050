"""The command `halluscope`: one module per command, and nothing in it that knows a single benchmark."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from halluscope.options import nearest
from halluscope.version import __version__

DONE, FAILED, INTERRUPTED = 0, 2, 130

COMMANDS = {
    "list": "what there is: benchmarks, datasets and where they are built, extras, kept votes",
    "info": "a benchmark's card: options, scores and which way they are better, citation",
    "build": "build a dataset: halluscope build NAME --help",
    "answer": "ask a vision-language model a benchmark's questions",
    "score": "score an LVLM's responses: halluscope score NAME --help",
    "ablate": "what the number of votes that must agree does to the scores",
    "plan": "what scoring will take: questions, tokens, FLOP, time",
    "correlate": "do two benchmarks rank the same models alike?",
    "parallel": "put a benchmark's questions into other words",
    "reliability": "does a benchmark give the same scores again?",
    "review": "sheets on which people mark rows, and what they say",
    "publish": "put datasets and metrics on the Hub",
    "install-metrics": "let evaluate.load find the metrics by their bare names",
    "tasks": "where lm-eval and lmms-eval find our tasks",
    "demo": "score eight embedded descriptions with the lexical judge",
}


class Parser(argparse.ArgumentParser):
    """A parser that names the nearest command or benchmark for a misspelt one."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and end with the status 2."""
        if "invalid choice: '" in message:
            word = message.partition("invalid choice: '")[2].partition("'")[0]
            message += nearest(word, self._words())
        super().error(message)

    def _words(self) -> list[str]:
        return [str(word) for action in self._actions for word in action.choices or ()]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; bad input ends in one line on standard error and the exit status 2."""
    arguments = [*(sys.argv[1:] if argv is None else argv)]  # `list` is a command's module here
    if not arguments:
        parser().print_help()
        return DONE
    try:
        if arguments[0] == "build":
            return int(import_module("halluscope.cli.build").run(arguments[1:]))
        options = parser(arguments[0]).parse_args(arguments)
        options.run(options)
    except (ValueError, OSError, ImportError) as error:
        print(f"halluscope: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt as stopped:
        said = str(stopped) or "answers given so far are kept, and the same command goes on."
        print(f"halluscope: interrupted; {said}", file=sys.stderr)
        return INTERRUPTED
    return DONE


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
