"""`halluscope score hallusionbench`: answers to yes/no questions in control pairs."""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope import published
from halluscope.cli import common
from halluscope.metrics import hallusionbench
from halluscope.records.hallusionbench import Matched, Row, read_answers, read_rows
from halluscope.report import Named, group_table, percent, table, to_json

NAME = "hallusionbench"
ACCURACY = {"qAcc": "qAcc", "fAcc": "fAcc", "easy_aAcc": "easy", "hard_aAcc": "hard", "aAcc": "aAcc"}
"""The columns of Table 2, and how they are headed here."""

ANALYSIS = {
    "pct_diff": "pct. diff",
    "fp_ratio": "FP ratio",
    "correct": "correct",
    "inconsistent": "inconsistent",
    "wrong": "wrong",
    "language_hallucination": "language",
    "visual_illusion": "visual",
    "mixed": "mixed",
}
"""The columns of Table 3, and how they are headed here."""

PLAIN = ("pct_diff", "fp_ratio")
"""What the paper does not print in percent."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    common.add_files(parser, "JSON (lines) with ids and the LVLM's text", [NAME])
    option = parser.add_argument
    option("--dataset", required=True, help="the built dataset's folder, a Hub id, or HallusionBench.json")
    option("--judge", default="rules", help="rules, vlmevalkit, openai:MODEL[@BASE_URL], or a local model")
    option(
        "--protocol", default="official", choices=list(hallusionbench.PROTOCOLS), help="whose way to count"
    )
    option(
        "--bias",
        choices=list(hallusionbench.BIAS),
        help="a yes is read from answers, or inferred from verdicts",
    )
    option("--compare", action="store_true", help="among the paper's results (Tables 2 and 3)")
    common.add_asking(parser)
    common.add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Score one or more files of answers; all are read and matched before the first is judged."""
    rows = read_rows(options.dataset)
    visual_only = hallusionbench.PROTOCOLS[options.protocol].visual_only
    files, read = common.files(options)
    sets = [read_answers(path, rows, visual_only, read) for path in files]
    for matched in sets:
        if matched.by_position:
            print(
                f"{matched.name}: the answers name no question and are matched by position.", file=sys.stderr
            )
    results = [(matched.name, _score(matched, options)) for matched in sets]
    shown = published.among(results, NAME) if options.compare else results
    print(to_json(shown) if options.json else "\n".join(_report(results, shown, sets[0].rows, options)))


def _score(matched: Matched, options: argparse.Namespace) -> dict[str, Any]:
    return hallusionbench.compute(
        matched.texts,
        matched.rows,
        judge=options.judge,
        protocol=options.protocol,
        bias=options.bias,
        bootstrap=options.bootstrap,
        seed=options.seed,
        **common.asking(options),
    )


def _report(results: Named, shown: Named, rows: Sequence[Row], options: argparse.Namespace) -> list[str]:
    """Tables like the paper's, best aAcc first, and what a reader of the numbers has to know."""
    chance = ("random chance, expected", hallusionbench.chance(rows, options.protocol))
    ranked = sorted(
        [*shown, chance], key=lambda named: _or(named[1].get("aAcc", math.nan), -1.0), reverse=True
    )
    lines = [
        table(ranked, ACCURACY, options.style, "answers"),
        "",
        table(ranked, ANALYSIS, options.style, "answers", PLAIN),
        "",
        group_table(results, "aAcc", options.style),
    ]
    if options.compare:
        source = published.load(NAME)
        lines += [
            "",
            f"With square brackets: as published, of all 1,129 questions, and who judged. {source.source}.",
        ]
    for name, result in results:
        lines += [f"\n{name}", *(f"  {line}" for line in remarks(result))]
    return lines


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What a reader of the numbers has to know: what could not be read, intervals, and the signature."""
    lines = [f"{result['questions']:,} questions, {result['pairs']:,} pairs, {result['figures']:,} figures"]
    if "overall" in result:
        lines.append(f"mean of aAcc, qAcc and fAcc: {percent(result['overall'])} %")
    if result["unread"]:
        lines.append(f"could not be read: {percent(result['unread'])} % (counted as uncertain)")
    if result["uncertain"]:
        lines.append(f"uncertain: {percent(result['uncertain'])} % (right where there is no image)")
    for key, text in (("interval", "interval over sets"), ("spread", "least and greatest of the repeats")):
        if key in result:
            shown = (
                f"{name} {percent(low)} to {percent(high)}"
                for name, (low, high) in result[key].items()
                if name in hallusionbench.HEADLINE
            )
            lines.append(f"{text}: {', '.join(shown)}")
    return [*lines, f"signature: {result['signature']}"]


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value
