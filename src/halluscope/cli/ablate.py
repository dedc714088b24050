"""`halluscope ablate NAME --agreement 9 8 5`: shows how scores change with the number of votes that must agree.

Source: THRONE, supplement, section 1, Table 1. Every vote is asked for once and kept; all values of --agreement use the
same votes.
"""

import argparse
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from halluscope import registry, scoring
from halluscope.cli import common
from halluscope.registry import Benchmark
from halluscope.reporting.tables import ROWS, Notes, Report, Table, counted, finite, plain, share
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS, FEWEST_MODELS, correlations, undefined

AGREEMENT, ASK, IGNORED = "agreement", "ask", "ignored"
Rows = list[dict[str, Any]]


def add(parser: argparse.ArgumentParser) -> None:
    common.add_benchmarks(parser, lambda one: bool(one.judges and one.judges.kind == "votes"), _add, run)


def _add(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    (agreement,) = (option for option in benchmark.options if option.name == AGREEMENT)
    common.add_responses(parser, benchmark)
    common.add_options(parser, benchmark.without((AGREEMENT, ASK)))
    parser.add_argument(
        "--agreement",
        nargs="+",
        required=True,
        type=agreement.type,
        metavar="K",
        help="how many votes must agree: unanimous, majority, or a number; each value gets a row",
    )
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    benchmark = registry.benchmark(given.name)
    options = common.options_of(given, benchmark.without((AGREEMENT, ASK))) | {ASK: "all"}
    if twice := [k for k in given.agreement if given.agreement.count(k) > 1]:
        raise ValueError(f"--agreement names {twice[0]} twice; expected each number of votes once.")
    ready = common.ready(given, benchmark, options)
    rows: Rows = [
        {"responses": one.matched.name, AGREEMENT: k}
        | scoring.compute(benchmark, one, options | {AGREEMENT: k})
        for one in ready
        for k in given.agreement
    ]
    scores = [name for name in benchmark.scores if all(name in row for row in rows)]
    alike = _alike(rows, given.agreement, scores)
    common.output(
        given,
        lambda: {"results": rows, "correlations": alike},
        lambda: _report(rows, alike, scores, len(ready)),
        benchmark,
    )


def _report(rows: Rows, alike: Rows, scores: Sequence[str], files: int) -> Report:
    columns = [*scores, IGNORED]
    cells = [
        [name, str(row[AGREEMENT]), row[ROWS], *(share(row[column]) for column in columns)]
        for name, row in counted([(row["responses"], row) for row in rows])
    ]
    header = ["k", "score", *COEFFICIENTS]
    likeness = [
        [
            " and ".join(map(str, row["agreements"])),
            row["score"],
            *(plain(row[name]) for name in COEFFICIENTS),
        ]
        for row in alike
    ]
    too_few = (
        f"There are {files} files of responses; a correlation between agreements needs at least "
        f"{FEWEST_MODELS}, with scores that differ."
    )
    return [
        Table("scores", ["responses", "k", ROWS, *columns], cells, left=2, ranked=True),
        Table("correlations", header, likeness, left=2) if alike else Notes([too_few]),
        *(Notes([f"signature: {row['signature']}"], f"{row['responses']}, {row[AGREEMENT]}") for row in rows),
    ]


def _alike(rows: Rows, agreements: Sequence[Any], scores: Sequence[str]) -> list[dict[str, Any]]:
    """Return how similarly each two values of --agreement rank the models."""
    alike = []
    for pair in combinations(agreements, 2):
        for score in scores:
            first, second = ([row[score] for row in rows if row[AGREEMENT] == k] for k in pair)
            defined = len(first) >= FEWEST_MODELS and finite([first, second]) == [first, second]
            if defined and not undefined(first, second):
                coefficients = correlations(first, second, Bootstrap())
                values = {name: each["value"] for name, each in coefficients.items()}
                alike.append({"agreements": list(pair), "score": score, **values})
    return alike
