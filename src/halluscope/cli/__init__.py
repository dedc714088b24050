"""The command `halluscope`: build a dataset, score responses, show a demo. One module a command."""

import argparse
import sys
from collections.abc import Sequence

from halluscope import __version__
from halluscope.cli import (
    answer,
    build,
    correlate,
    demo,
    install_metrics,
    parallel,
    plan,
    publish,
    reliability,
    review,
    score,
    tasks,
)

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
    except KeyboardInterrupt as stopped:
        said = str(stopped) or "answers given so far are kept, and the same command goes on."
        print(f"halluscope: interrupted; {said}", file=sys.stderr)
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
    answer.add(commands.add_parser("answer", help="ask a vision-language model a benchmark's questions"))
    score.add(commands.add_parser("score", help="score an LVLM's responses: halluscope score NAME --help"))
    plan.add(commands.add_parser("plan", help="what scoring will take: questions, tokens, FLOP, time"))
    correlate.add(commands.add_parser("correlate", help="do two benchmarks rank the same models alike?"))
    parallel.add(commands.add_parser("parallel", help="put a benchmark's questions into other words"))
    reliability.add(commands.add_parser("reliability", help="does a benchmark give the same scores again?"))
    review.add(commands.add_parser("review", help="sheets on which people mark rows, and what they say"))
    publish.add(commands.add_parser("publish", help="put datasets and metrics on the Hub"))
    install_metrics.add(
        commands.add_parser("install-metrics", help="let evaluate.load find the metrics by their bare names")
    )
    tasks.add(commands.add_parser("tasks", help="where lm-eval and lmms-eval find our tasks"))
    demo.add(commands.add_parser("demo", help="score eight embedded descriptions with the lexical judge"))
    return top
