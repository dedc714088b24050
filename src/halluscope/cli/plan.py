"""`halluscope plan NAME`: estimates what scoring with the same options will take."""

import argparse
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from halluscope import registry, scoring
from halluscope.arguments import number
from halluscope.cli import common
from halluscope.judging.cache import Cache, Record
from halluscope.judging.cache_file import IN_MEMORY
from halluscope.judging.cost import Plan, inspect_grader, plan_verdicts, stand_in
from halluscope.judging.options import VoteOptions
from halluscope.judging.server import ENDPOINT, sending_nothing
from halluscope.options import taken
from halluscope.registry import Benchmark
from halluscope.reporting import plans


def add(parser: argparse.ArgumentParser) -> None:
    common.add_benchmarks(parser, lambda one: bool(one.judges and one.is_scored), _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    parser.description = (
        f"Estimate what `halluscope score {benchmark.name}` will take. All of its options may be given; those that "
        "only choose a convention or shape what is printed do not matter here."
    )
    common.add_scoring(parser, benchmark)
    common.add_run(parser)
    if not benchmark.is_graded:
        parser.add_argument(
            "--calibrate",
            type=number,
            nargs="?",
            const=10.0,
            default=0.0,
            metavar="SECONDS",
            help="ask each judge on this machine for about SECONDS (default: 10), to estimate how long the rest takes; "
            "the votes are kept in the cache",
        )
    parser.add_argument(
        "--prices",
        type=number,
        nargs=2,
        metavar=("READ", "SAID"),
        help="what an endpoint's tokens cost, per million that it reads and per million that it writes",
    )


def run(given: argparse.Namespace) -> None:
    """Plan the files of responses one after the other, as they are scored."""
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark)
    plan = (_of_verdicts if benchmark.is_graded else _of_votes)(given, benchmark, options)
    common.output(given, lambda: plans.listed(plan), lambda: plans.report(plan))


def _of_votes(given: argparse.Namespace, benchmark: Benchmark, options: Mapping[str, Any]) -> Plan:
    ready = common.ready(given, benchmark, options)
    sets = [(one.matched.texts, one.inputs["references"]) for one in ready]
    function = benchmark.module("metric").plan
    judging = {
        name: value
        for name, value in options.items()
        if name in {field.name for field in fields(VoteOptions)}
    }
    plan: Plan = function(
        sets, **taken(function, options), **judging, calibrate=given.calibrate, prices=given.prices
    )
    return plan


def _of_verdicts(given: argparse.Namespace, benchmark: Benchmark, options: dict[str, Any]) -> Plan:
    """Score as far as possible without verdicts, and note what would be asked."""
    judge, fresh = _grader(benchmark, options), options.pop("fresh", False)
    info = inspect_grader(judge, options.get("device"), given.prices)
    cache = Cache(getattr(given, "store", None), "read")
    record = Record(Cache(IN_MEMORY, "read") if fresh else cache)
    noting = {"judge": stand_in(judge, info), "store": record, "bootstrap": 0, "max_failed": 1}
    ready = common.ready(given, benchmark, options)
    with sending_nothing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scoring gives these warnings
        for one in ready:
            for chosen in scoring.variants(benchmark, options):
                scoring.compute(benchmark, one, chosen | noting)
    plan = plan_verdicts(record, judge, info, options.get("repeats", 1), given.prices)
    return replace(plan, store=str(cache.path))


def _grader(benchmark: Benchmark, options: Mapping[str, Any]) -> str:
    assert benchmark.judges is not None, "only benchmarks with judges have the command"
    judge = str(options.get(benchmark.judges.option, benchmark.judges.default))
    if not judge or judge in benchmark.judges.rules:
        raise ValueError(
            f"--judge is {judge or 'missing'}; expected a language model: {ENDPOINT}MODEL[@URL], or a local model."
        )
    return judge
