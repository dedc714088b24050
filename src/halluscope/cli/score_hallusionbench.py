"""`halluscope score hallusionbench`: answers to yes/no questions in control pairs."""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from halluscope import published
from halluscope.cli import common
from halluscope.judges.chat import MAX_TOKENS
from halluscope.metrics import hallusionbench
from halluscope.records.hallusionbench import Matched, Row, read_answers, read_rows
from halluscope.report import Named, percent, to_json

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
    option = parser.add_argument
    option(
        "--responses",
        nargs="+",
        required=True,
        metavar="FILE",
        help="JSON (lines) with ids and the LVLM's text",
    )
    option("--dataset", required=True, help="the built dataset's folder, a Hub id, or HallusionBench.json")
    option("--judge", default="rules", help="rules, vlmevalkit, openai:MODEL[@BASE_URL], or a local model")
    option("--repeats", type=int, default=1, help="how often a language model judges (the paper: 3)")
    option(
        "--protocol", default="official", choices=list(hallusionbench.PROTOCOLS), help="whose way to count"
    )
    option(
        "--bias",
        choices=list(hallusionbench.BIAS),
        help="a yes is read from answers, or inferred from verdicts",
    )
    option("--max-failed", type=float, default=0.02, help="the share of unreadable verdicts that is an error")
    option("--max-tokens", type=int, default=MAX_TOKENS, help="how long a language model's reply may be")
    option(
        "--device", help="where a local language model runs, such as cuda:1 (default: a GPU if there is one)"
    )
    option(
        "--store",
        metavar="FILE",
        help="where verdicts are kept (default: $HALLUSCOPE_STORE or the user's cache)",
    )
    option("--compare", action="store_true", help="among the paper's results (Tables 2 and 3)")
    option("--quiet", action="store_true", help="no progress bars")
    common.add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Score one or more files of answers; all are read and matched before the first is judged."""
    rows = read_rows(options.dataset)
    visual_only = hallusionbench.PROTOCOLS[options.protocol].visual_only
    sets = [read_answers(path, rows, visual_only) for path in options.responses]
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
        repeats=options.repeats,
        protocol=options.protocol,
        bias=options.bias,
        bootstrap=options.bootstrap,
        seed=options.seed,
        max_failed=options.max_failed,
        max_tokens=options.max_tokens,
        device=options.device,
        store=options.store,
        progress=not options.quiet,
    )


def _report(results: Named, shown: Named, rows: Sequence[Row], options: argparse.Namespace) -> list[str]:
    """Tables like the paper's, best aAcc first, and what a reader of the numbers has to know."""
    chance = ("random chance, expected", hallusionbench.chance(rows, options.protocol))
    ranked = sorted(
        [*shown, chance], key=lambda named: _or(named[1].get("aAcc", math.nan), -1.0), reverse=True
    )
    lines = [
        table(ranked, ACCURACY, options.style),
        "",
        table(ranked, ANALYSIS, options.style),
        "",
        subcategories(results, options.style),
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


def table(results: Named, columns: Mapping[str, str], style: str = "simple") -> str:
    """One row an LVLM; in percent, but for the yes/no bias."""
    rows = [[name, *(_cell(column, result.get(column)) for column in columns)] for name, result in results]
    align = ["left"] + ["right"] * len(columns)
    return tabulate(
        rows, ["answers", *columns.values()], tablefmt=style, disable_numparse=True, colalign=align
    )


def subcategories(results: Named, style: str = "simple") -> str:
    """aAcc by category and subcategory, one column an LVLM (Figure 4)."""
    names = [name for name in results[0][1] if name.startswith("aAcc/")]
    rows = [
        [name.removeprefix("aAcc/"), *(percent(result.get(name)) for _, result in results)] for name in names
    ]
    align = ["left"] + ["right"] * len(results)
    header = ["aAcc", *(name for name, _ in results)]
    return tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=align)


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


def _cell(column: str, value: float | None) -> str:
    if column in PLAIN and value is not None and not math.isnan(value):
        return f"{value:.3f}"
    return percent(value)


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value
