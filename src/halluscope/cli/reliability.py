"""`halluscope reliability FIRST.json`: measures how reliable a benchmark is, in the columns of HQM's Table I.

The files hold what `halluscope score NAME ... --json` printed for the same models: in the first run, in a second run,
on the parallel form that `halluscope parallel` made, and by people's marks. In a second run the models responded again
(`halluscope answer --sample --seed N`), or a judge judged again (`halluscope score --seed N`, or `--fresh`). A second
file with the same results is refused; the same responses and verdicts are reported.
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.cli import common
from halluscope.foreign import brief, one_line
from halluscope.registry import LOWER
from halluscope.reliability import indicators
from halluscope.reliability.direction import AGREE, DISAGREE, direction, makers, turn, turned
from halluscope.reliability.review.sheet import read_sheet
from halluscope.reporting import published
from halluscope.reporting.formats import JSON
from halluscope.reporting.results import Result, read_results, score, scores
from halluscope.reporting.tables import Cell, Notes, Number, Table, plain, to_json
from halluscope.terminal import say

COLUMNS = {
    "test_retest": "test-retest",
    "parallel_forms": "parallel-forms",
    "content": "content",
    "criterion": "criterion",
}
OPTIONS = {"test_retest": "--retest", "parallel_forms": "--parallel", "criterion": "--criterion"}
RETEST = "test_retest"
SECOND_RUNS = (RETEST, "parallel_forms")
AGAIN = (
    "run the models again (halluscope answer --sample --seed 1), or the judge (halluscope score --seed 1, or "
    "--fresh)"
)
"""How to make a second run."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    option = parser.add_argument
    option("first", type=Path, help="what `halluscope score ... --json` printed for three models or more")
    option("--retest", type=Path, metavar="FILE", help="the same for a second run with other seeds")
    option("--parallel", type=Path, metavar="FILE", help="the same for the parallel form")
    option(
        "--criterion",
        type=Path,
        metavar="FILE",
        help="the models' scores by people, as `review read --json` prints them",
    )
    option(
        "--content", type=Path, metavar="SHEET", help="a marked review sheet of questions and right answers"
    )
    option(
        "--by", metavar="SCORE", help="the score that is compared (default: the benchmark's principal one)"
    )
    option(
        "--criterion-by",
        metavar="SCORE",
        help=f"the score in --criterion (default: {AGREE}; {DISAGREE} if lower is better for --by); if higher is "
        "better for one of the two and lower for the other, the sign of one is reversed",
    )
    option("--published", action="store_true", help="show the result among the paper's (Table I)")
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
    if not others and not options.content:
        raise ValueError("Nothing to compare with; name --retest, --parallel, --criterion or --content.")
    found = {
        name: _indicator(name, first, second, by, other, options) for name, (second, other) in others.items()
    }
    if options.content:
        sheet = read_sheet(options.content)
        found["content"] = indicators.content(sheet.valid(), sheet.strata())
    if options.format == JSON:
        say(to_json({"benchmark": benchmark, "by": by, **found}))
        return
    parallel = others.get("parallel_forms", ({}, by))[0]
    parts = [
        _overview(benchmark, by, found, options.published),
        _coefficients(found),
        _forms(first, parallel, by),
    ]
    common.show([*(part for part in parts if part.rows), Notes(_remarks(found))], options)


def _principal(name: str) -> str:
    known = {benchmark.name: benchmark.principal for benchmark in registry.benchmarks()}
    if name not in known:
        raise ValueError(f"The principal score of {name!r:.80} is unknown; name a score with --by.")
    return known[name]


def _benchmark(results: Mapping[str, Result]) -> str:
    """Return the metric that made the results."""
    names = makers(results)
    if len(names) != 1:
        raise ValueError(
            f"The first file holds results of {', '.join(map(brief, names)) or 'nothing':.300}; expected one benchmark."
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
    """Return one of HQM's correlations, and what differs between the two tests."""
    if missing := [model for model in first if model not in second]:
        raise ValueError(
            f"{OPTIONS[name]} has no result for {brief(missing[0])}; expected the same "
            f"{len(first)} models in both: {', '.join(first):.300}. To score a file under one of these names, pass "
            "--responses NAME=FILE."
        )
    again = scores(second, list(first), other, "--criterion-by" if name == "criterion" else "--by")
    opposed = turned(direction(first, by), direction(second, other))
    if name in SECOND_RUNS:
        _check_rows(name, first, second)
    result = indicators.compute(
        scores(first, list(first), by),
        turn(again) if opposed else again,
        indicator=name,
        bootstrap=options.bootstrap,
        seed=options.seed,
    )
    found: dict[str, Any] = {"changed": []}
    if name in SECOND_RUNS:
        _check_another(name, first, second)
        found["changed"] = sorted({one for model in first for one in _changed(first[model], second[model])})
    if name == RETEST:
        found |= _told_again(first, second, by)
    return {
        **result,
        **found,
        **({"score": other} if other != by else {}),
        **({"turned": True} if opposed else {}),
    }


def _check_rows(name: str, first: Mapping[str, Result], second: Mapping[str, Result]) -> None:
    """Check that two runs are about the same rows, or about as many rows in another form.

    Raises:
        ValueError: if they are not.
    """
    for model in first:
        one, other = (_keys(result).get("data", "") for result in (first[model], second[model]))
        kinds = (one.rpartition("-")[0], other.rpartition("-")[0])
        if one and other and (one != other if name == RETEST else kinds[0] != kinds[1]):
            how = (
                "score both runs against the same rows of the same dataset"
                if name == RETEST
                else "`halluscope parallel --first FILE` writes the original rows that have a parallel form"
            )
            raise ValueError(
                f"{OPTIONS[name]} is about other rows than the first run: for {brief(model)}, {one_line(one, 100)}, "
                f"then {one_line(other, 100)}; expected the same in both: {how}."
            )


def _check_another(name: str, first: Mapping[str, Result], second: Mapping[str, Result]) -> None:
    """Check that a second run is not the first one again.

    Raises:
        ValueError: if all results are the same.
    """
    if all(first[model] == second[model] for model in first):
        again = AGAIN if name == RETEST else "score the responses to the form that `halluscope parallel` made"
        raise ValueError(
            f"{OPTIONS[name]} holds the first run again: the results of all {len(first)} models are the same, and "
            f"scores always agree with themselves. Expected another run: {again}."
        )


def _told_again(first: Mapping[str, Result], second: Mapping[str, Result], by: str) -> dict[str, Any]:
    """Return for which models the second run repeats the first run's responses, and for which also its verdicts."""
    texts = [model for model in first if _are_equal(first[model], second[model], "texts")]
    same = [
        model
        for model in texts
        if first[model].get("verdicts") == second[model].get("verdicts")
        and score(first[model], by) == score(second[model], by)
    ]
    if len(same) == len(first):
        warnings.warn(f"{OPTIONS[RETEST]} holds the very same responses and verdicts: {AGAIN}.", stacklevel=2)
    return {"same": same, "same_responses": texts}


def _are_equal(first: Result, second: Result, name: str) -> bool:
    return name in first and first[name] == second.get(name)


def _keys(result: Result) -> dict[str, str]:
    """Return the keys of a result's signature and their values."""
    return dict(part.partition(":")[::2] for part in str(result.get("signature", "")).split("|"))


def _changed(first: Result, second: Result) -> list[str]:
    """Return the choices in which two results' signatures differ, such as "questions: paper, then released"."""
    one, other = _keys(first), _keys(second)
    return [
        f"{key}: {one.get(key, 'none')}, then {other.get(key, 'none')}"
        for key in dict.fromkeys([*one, *other])
        if one.get(key) != other.get(key)
    ]


def _overview(benchmark: str, by: str, found: Mapping[str, Any], with_published: bool) -> Table:
    """Return HQM's Table I: one row per benchmark."""
    values = {name: result.get("pearson", result.get("content")) for name, result in found.items()}
    cells = [
        Number(values.get(name), ".3f", 1, mark=" (same)" if _is_same(found.get(name)) else "")
        for name in COLUMNS
    ]
    rows: list[list[Cell]] = [[f"{benchmark} [{by}]", *cells]]
    for name, printed in published.load("hqm").results if with_published else ():
        rows.append([name, *(plain(printed.get(column), ".4f") for column in COLUMNS)])
    return Table("reliability", ["benchmark", *COLUMNS.values()], rows)


def _is_same(result: Mapping[str, Any] | None) -> bool:
    """Whether nothing was run again."""
    return result is not None and len(result.get("same", ())) == result.get("models")


def _coefficients(found: Mapping[str, Any]) -> Table:
    """Return a table of each coefficient with its interval."""
    rows: list[list[Cell]] = []
    for name in COLUMNS:
        if name in found and name in indicators.CORRELATED:
            result = found[name]
            for coefficient, (low, high) in result["interval"].items():
                rows.append([COLUMNS[name], coefficient, *map(plain, (result[coefficient], low, high))])
        elif name in found:
            rows.append(
                [
                    COLUMNS[name],
                    "share valid",
                    *(plain(found[name][key]) for key in ("content", "low", "high")),
                ]
            )
    return Table("coefficients", ["indicator", "coefficient", "value", "low", "high"], rows, left=2)


def _forms(first: Mapping[str, Result], parallel: Mapping[str, Result], by: str) -> Table:
    """Return HQM's Table II: each model's score, and how often it says yes, in both forms."""
    names = [
        by,
        *(
            ["yes_ratio"]
            if all("yes_ratio" in result for result in first.values()) and by != "yes_ratio"
            else []
        ),
    ]
    rows: list[list[Cell]] = [
        [model, *(plain(score(file[model], name)) for file in (first, parallel) for name in names)]
        for model in (first if parallel else ())
    ]
    return Table("forms", ["model", *names, *(f"{name}, parallel" for name in names)], rows)


def _remarks(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, result in found.items():
        if name in indicators.CORRELATED:
            lines.append(
                f"{COLUMNS[name]}: "
                + (
                    result["undefined"]
                    or f"{result['models']} models; probability of a correlation this strong by chance: "
                    f"{result['chance']:.3f}"
                )
            )
            lines += _again(result)
            lines += (
                [f"  compared with people's {result['score']}{_turned(result)}"] if "score" in result else []
            )
            lines += [f"  not the same in both: {one_line(change)}" for change in result["changed"]]
        else:
            lines.append(f"{COLUMNS[name]}: {result['valid']} of {result['rows']} rows are valid")
        lines.append(f"  signature: {result['signature']}")
    return lines


def _turned(result: Mapping[str, Any]) -> str:
    return ", its sign reversed, since its better direction is opposite" if "turned" in result else ""


def _again(result: Mapping[str, Any]) -> Iterator[str]:
    """Say what was not run again."""
    if same := result.get("same", []):
        yield f"  the very same responses and verdicts in both: {one_line(', '.join(same), 300)}"
        yield f"    so this says nothing about these models; {AGAIN}"
    if others := [model for model in result.get("same_responses", ()) if model not in same]:
        yield f"  the same responses in both, judged again: {one_line(', '.join(others), 300)}"
