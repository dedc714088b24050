"""The command `halluscope`: build a dataset, score responses, show a demo. One module a command."""

import argparse
import sys
from collections.abc import Sequence

from halluscope import __version__
from halluscope.cli import build, correlate, demo, score

DONE, FAILED, INTERRUPTED = 0, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; bad input ends in one line on standard error and the exit status 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["build"]:
            return build.run(arguments[1:])
        options = parser().parse_args(arguments)
        options.run(options)
    except (ValueError, OSError, ImportError) as error:
        print(f"halluscope: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(
            "halluscope: interrupted; answers given so far are kept, and the same command goes on.",
            file=sys.stderr,
        )
        return INTERRUPTED
    return DONE


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    top = argparse.ArgumentParser(
        prog="halluscope", description="Hallucination benchmarks for vision-language models."
    )
    top.add_argument("--version", action="version", version=f"halluscope {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("build", help="build a dataset: halluscope build NAME --help", add_help=False)
    score.add(commands.add_parser("score", help="score an LVLM's responses: halluscope score NAME --help"))
    correlate.add(commands.add_parser("correlate", help="do two benchmarks rank the same models alike?"))
    demo.add(commands.add_parser("demo", help="score eight embedded descriptions with the lexical judge"))
    return top
