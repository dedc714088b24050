"""`halluscope explain NAME`: scores the same responses under each protocol, and says why the scores differ."""

import argparse

from halluscope import registry
from halluscope.arguments import number, whole
from halluscope.cli import common
from halluscope.explaining import protocols, report
from halluscope.explaining.explained import Explained
from halluscope.registry import Benchmark
from halluscope.sanitize import short_repr


def add(parser: argparse.ArgumentParser) -> None:
    common.add_benchmarks(parser, lambda one: one.is_scored, _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    stated = protocols.load(benchmark)
    parser.description = f"{parser.description} Several files are one LVLM's responses to several prompts."
    common.add_responses(parser, benchmark, "files of one LVLM's responses with ids, one file per prompt")
    common.add_options(parser, benchmark.without(stated.settled))
    option = parser.add_argument
    option(
        "--protocols",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"protocols to compare: {', '.join(stated.names)} (default: {', '.join(o.name for o in stated.usual)})",
    )
    option(
        "--by",
        nargs="+",
        default=list(stated.compared),
        metavar="SCORE",
        help=f"the scores whose differences are shown (default: {', '.join(stated.compared)})",
    )
    option(
        "--number",
        type=_printed,
        metavar="N",
        help="say which score of which protocol is printed as N, such as 85.9",
    )
    option(
        "--examples",
        type=whole,
        default=3,
        metavar="N",
        help="how many responses to show that two parsers read differently (default: 3)",
    )
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    benchmark = registry.benchmark(given.name)
    stated = protocols.load(benchmark)
    chosen = stated.chosen(given.protocols)
    _check(given, benchmark)
    options = common.options_of(given, benchmark.without(stated.settled))
    found = Explained(
        benchmark, stated, chosen, given.responses, given.dataset, options, common.matching_options(given)
    )
    for file in found.files:
        common.remark(benchmark, found.ready(found.setting(found.protocols[0], file)), given)
    found.compute()
    scores = list(dict.fromkeys(given.by))
    about = found, scores, given.examples, given.number
    common.output(given, lambda: report.listed(*about), lambda: report.told(*about))


def _check(given: argparse.Namespace, benchmark: Benchmark) -> None:
    for score in given.by:
        try:
            benchmark.direction(score)
        except KeyError:
            raise ValueError(
                f"{benchmark.title} has no score {short_repr(score)}; expected one of {', '.join(benchmark.scores)}."
            ) from None
    if given.examples < 0:
        raise ValueError(f"--examples is {given.examples}; expected 0 or more.")


def _printed(word: str) -> str:
    """Return a number with its digits as they were typed."""
    number(word)
    return word.strip()
