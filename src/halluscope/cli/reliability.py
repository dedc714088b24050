"""`halluscope reliability FIRST.json`: how far a benchmark can be believed, in the columns of HQM's Table I.

The files hold what `halluscope score NAME ... --json` printed for the same models: in the first run, in a second run,
in the parallel form that `halluscope parallel` made, and by people.
"""

import argparse
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.cli import common
from halluscope.files.writing import is_same
from halluscope.foreign import brief, one_line
from halluscope.registry import LOWER
from halluscope.reliability import indicators
from halluscope.reliability.direction import AGREE, DISAGREE, direction, makers, turn, turned
from halluscope.reliability.review.sheet import read_sheet
from halluscope.reporting import published
from halluscope.reporting.results import Result, read_results, score, scores
from halluscope.reporting.tables import aligned, to_json
from halluscope.terminal import say

COLUMNS = {
    "test_retest": "test-retest",
    "parallel_forms": "parallel-forms",
    "content": "content",
    "criterion": "criterion",
}
OPTIONS = {"test_retest": "--retest", "parallel_forms": "--parallel", "criterion": "--criterion"}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    option = parser.add_argument
    option("first", type=Path, help="what `halluscope score ... --json` printed for three models or more")
    option("--retest", type=Path, metavar="FILE", help="the same, of a second run with other seeds")
    option("--parallel", type=Path, metavar="FILE", help="the same, of the parallel form")
    option("--criterion", type=Path, metavar="FILE", help="the models' scores by people (review read --json)")
    option("--content", type=Path, metavar="SHEET", help="a marked review sheet of questions and answers")
    option(
        "--by", metavar="SCORE", help="the score that is compared (default: the benchmark's principal one)"
    )
    option(
        "--criterion-by",
        metavar="SCORE",
        help=f"the score in --criterion (default: {AGREE}; {DISAGREE} for scores of which lower is better); of two "
        "scores that are better in opposite ways one is turned",
    )
    option("--published", action="store_true", help="among the paper's results (Table I)")
    common.add_intervals(parser)
    common.add_format(parser)


def run(options: argparse.Namespace) -> None:
    """Read all files, correlate, and print."""
    first = read_results(options.first)
    benchmark = _benchmark(first)
    by = options.by or _principal(benchmark)
    human = options.criterion_by or (DISAGREE if direction(first, by) == LOWER else AGREE)
    others = {
        name: (read_results(path), other)
        for name, path, other in (
            ("test_retest", options.retest, by),
            ("parallel_forms", options.parallel, by),
            ("criterion", options.criterion, human),
        )
        if path
    }
    for option in ("retest", "parallel"):
        if (path := getattr(options, option)) and is_same(path, options.first):
            warnings.warn(f"--{option} is the first file: scores always agree with themselves.", stacklevel=2)
    if not others and not options.content:
        raise ValueError("Nothing to compare with; name --retest, --parallel, --criterion or --content.")
    found = {
        name: _indicator(name, first, second, by, other, options) for name, (second, other) in others.items()
    }
    if options.content:
        sheet = read_sheet(options.content)
        found["content"] = indicators.content(sheet.valid(), sheet.strata())
    if options.format == common.JSON:
        say(to_json({"benchmark": benchmark, "by": by, **found}))
        return
    parallel = others.get("parallel_forms", ({}, by))[0]
    parts = [
        _overview(benchmark, by, found, options),
        _coefficients(found, options.format),
        _forms(first, parallel, by, options.format),
        "\n".join(_remarks(found)),
    ]
    say("\n\n".join(filter(None, parts)))


def _principal(name: str) -> str:
    known = {benchmark.name: benchmark.principal for benchmark in registry.benchmarks()}
    if name not in known:
        raise ValueError(f"No principal score of {name!r:.80} is known; name one with --by.")
    return known[name]


def _benchmark(results: Mapping[str, Result]) -> str:
    """The metric that made the results."""
    names = makers(results)
    if len(names) != 1:
        raise ValueError(
            f"The first file holds results of {', '.join(map(brief, names)) or 'nothing':.300}; expected one."
        )
    return names[0]


def _indicator(
    name: str,
    first: Mapping[str, Result],
    second: Mapping[str, Result],
    by: str,
    other: str,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """One of HQM's correlations, and what is not the same in the two tests."""
    if missing := [model for model in first if model not in second]:
        raise ValueError(
            f"{OPTIONS[name]} has no result of {brief(missing[0])}; expected the same "
            f"{len(first)} models in both: {', '.join(first):.300}."
        )
    again = scores(second, list(first), other, "--criterion-by" if name == "criterion" else "--by")
    opposed = turned(direction(first, by), direction(second, other))
    result = indicators.compute(
        scores(first, list(first), by),
        turn(again) if opposed else again,
        indicator=name,
        bootstrap=options.bootstrap,
        seed=options.seed,
    )
    changed = (
        []
        if name == "criterion"
        else sorted({one for model in first for one in _changed(first[model], second[model])})
    )
    return {
        **result,
        "changed": changed,
        **({"score": other} if other != by else {}),
        **({"turned": True} if opposed else {}),
    }


def _changed(first: Result, second: Result) -> list[str]:
    """The choices in the signatures of two results that differ, such as "questions: paper, then released"."""
    one, other = (
        dict(part.partition(":")[::2] for part in str(result.get("signature", "")).split("|"))
        for result in (first, second)
    )
    return [
        f"{key}: {one.get(key, 'none')}, then {other.get(key, 'none')}"
        for key in dict.fromkeys([*one, *other])
        if one.get(key) != other.get(key)
    ]


def _overview(benchmark: str, by: str, found: Mapping[str, Any], options: argparse.Namespace) -> str:
    """HQM's Table I: one row a benchmark."""
    values = {name: result.get("pearson", result.get("content")) for name, result in found.items()}
    rows = [[f"{benchmark} [{by}]", *(_number(values.get(name)) for name in COLUMNS)]]
    for name, printed in published.load("hqm").results if options.published else ():
        rows.append([name, *(_number(printed.get(column), 4) for column in COLUMNS)])
    return aligned(rows, ["benchmark", *COLUMNS.values()], options.format)


def _coefficients(found: Mapping[str, Any], style: str) -> str:
    """Each coefficient with its interval."""
    rows = []
    for name in COLUMNS:
        if name in found and name in indicators.CORRELATED:
            result = found[name]
            for coefficient, (low, high) in result["interval"].items():
                rows.append([COLUMNS[name], coefficient, *map(_number, (result[coefficient], low, high))])
        elif name in found:
            rows.append(
                [
                    COLUMNS[name],
                    "share valid",
                    *(_number(found[name][key]) for key in ("content", "low", "high")),
                ]
            )
    return aligned(rows, ["", "", "value", "low", "high"], style, left=2)


def _forms(first: Mapping[str, Result], parallel: Mapping[str, Result], by: str, style: str) -> str:
    """HQM's Table II: each model's score, and how often it says yes, in both forms."""
    if not parallel:
        return ""
    names = [
        by,
        *(
            ["yes_ratio"]
            if all("yes_ratio" in result for result in first.values()) and by != "yes_ratio"
            else []
        ),
    ]
    rows = [
        [model, *(_number(score(file[model], name)) for file in (first, parallel) for name in names)]
        for model in first
    ]
    return aligned(rows, ["model", *names, *(f"{name}, parallel" for name in names)], style)


def _remarks(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, result in found.items():
        if name in indicators.CORRELATED:
            lines.append(
                f"{COLUMNS[name]}: "
                + (
                    result["undefined"]
                    or f"{result['models']} models; as strong by chance: {result['chance']:.3f}"
                )
            )
            lines += (
                [f"  compared with people's {result['score']}{_turned(result)}"] if "score" in result else []
            )
            lines += [f"  not the same in both: {one_line(change)}" for change in result["changed"]]
        else:
            lines.append(f"{COLUMNS[name]}: {result['valid']} of {result['rows']} rows are valid")
        lines.append(f"  signature: {result['signature']}")
    return lines


def _turned(result: Mapping[str, Any]) -> str:
    return ", turned, as it is better the other way round" if "turned" in result else ""


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None or value != value else f"{value:.{digits}f}"
