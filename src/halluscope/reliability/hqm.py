"""Compares a benchmark's results with those of a second run, a parallel form, and people, as in HQM's Tables I and II.

A second file with the same results is refused; the same responses and verdicts are reported.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope import registry
from halluscope.registry import LOWER
from halluscope.reliability import indicators
from halluscope.reliability.indicators import AGREE, DISAGREE, direction, makers, turn, turned
from halluscope.reporting import published
from halluscope.reporting.results import Result, score, scores
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, plain
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import by_chance, correlations, undefined

RETEST, PARALLEL, CRITERION, CONTENT = indicators.INDICATORS
COLUMNS = {RETEST: "test-retest", PARALLEL: "parallel-forms", CONTENT: "content", CRITERION: "criterion"}
OPTIONS = {RETEST: "--retest", PARALLEL: "--parallel", CRITERION: "--criterion"}
# How to make a second run.
AGAIN = (
    "run the models again (halluscope answer --sample --seed 1), or the judge (halluscope score --seed 1, or "
    "--fresh)"
)

Results = Mapping[str, Result]


def benchmark_of(results: Results) -> str:
    """Return the metric that made the results."""
    names = makers(results)
    if len(names) != 1:
        raise ValueError(
            f"The first file holds results of {', '.join(map(short_repr, names)) or 'nothing':.300}; expected one "
            "benchmark."
        )
    return names[0]


def principal(name: str) -> str:
    """Return the score that is compared unless the user names another."""
    known = {benchmark.name: benchmark.principal for benchmark in registry.benchmarks()}
    if name not in known:
        raise ValueError(f"The principal score of {name!r:.80} is unknown; name a score with --by.")
    return known[name]


def of_people(first: Results, by: str) -> str:
    """Return the score from people's marks that `by` is compared with: whichever is better in the same direction."""
    return DISAGREE if direction(first, by) == LOWER else AGREE


def measure(
    name: str, first: Results, second: Results, by: str, other: str, resampling: Bootstrap
) -> dict[str, Any]:
    """Return one of HQM's correlations, of `by` in the first results with `other` in the second, and what differs."""
    if missing := [model for model in first if model not in second]:
        raise ValueError(
            f"{OPTIONS[name]} has no result for {short_repr(missing[0])}; expected the same "
            f"{len(first)} models in both: {', '.join(first):.300}. To score a file under one of these names, pass "
            "--responses NAME=FILE."
        )
    is_run = name != CRITERION
    again = scores(second, list(first), other, "--by" if is_run else "--criterion-by")
    opposed = turned(direction(first, by), direction(second, other))
    if is_run:
        _check_rows(name, first, second)
    result = indicators.compute(
        scores(first, list(first), by),
        turn(again) if opposed else again,
        indicator=name,
        bootstrap=resampling.resamples,
        seed=resampling.seed,
    )
    result["changed"] = []
    if is_run:
        _check_another(name, first, second)
        result["changed"] = sorted({key for model in first for key in _changed(first[model], second[model])})
    if name == RETEST:
        result |= _repeated(first, second, by)
    return result | ({"score": other} if other != by else {}) | ({"turned": True} if opposed else {})


def report(
    benchmark: str,
    by: str,
    found: Mapping[str, Any],
    forms: tuple[Results, Results] | None,
    with_published: bool,
) -> Report:
    """Return the tables: HQM's Table I, the paper's, all coefficients, and Table II of both forms of the questions."""
    return [
        _overview(benchmark, by, found),
        *([_published()] if with_published else ()),
        _coefficients(found),
        *([_forms(*forms, by)] if forms else ()),
        Notes(_remarks(found)),
    ]


def correlate(
    first: Results, second: Results, by: tuple[str, str], left_out: Sequence[str], resampling: Bootstrap
) -> dict[str, Any]:
    """Return whether two benchmarks, each by its score in `by`, rank the models alike that have results of both."""
    models = [model for model in first if model in second and model not in left_out]
    x, y = (scores(results, models, name) for results, name in zip((first, second), by, strict=True))
    opposed = turned(direction(first, by[0]), direction(second, by[1]))
    y = turn(y) if opposed else y
    return {
        "models": models,
        **correlations(x, y, resampling),
        "chance": by_chance(x, y),
        "undefined": undefined(x, y),
        "turned": opposed,
        "signature": signature(
            "correlation",
            data=data_of("models", zip(models, x, y, strict=True)),
            by=list(by),
            **({"turned": by[1]} if opposed else {}),
            left_out=left_out or "no",
            interval=resampling,
        ),
    }


def _check_rows(name: str, first: Results, second: Results) -> None:
    """Check that two runs are about the same rows, or about as many rows in another form."""
    for model in first:
        one, other = (_keys(result).get("data", "") for result in (first[model], second[model]))
        if name == RETEST:
            same, how = one == other, "score both runs against the same rows of the same dataset"
        else:
            same = one.rpartition("-")[0] == other.rpartition("-")[0]
            how = "`halluscope parallel --first FILE` writes the original rows that have a parallel form"
        if one and other and not same:
            raise ValueError(
                f"{OPTIONS[name]} is about other rows than the first run: for {short_repr(model)}, "
                f"{one_line(one, 100)}, then {one_line(other, 100)}; expected the same in both: {how}."
            )


def _check_another(name: str, first: Results, second: Results) -> None:
    """Check that a second run is not the first one again."""
    if all(first[model] == second[model] for model in first):
        again = AGAIN if name == RETEST else "score the responses to the form that `halluscope parallel` made"
        raise ValueError(
            f"{OPTIONS[name]} holds the first run again: the results of all {len(first)} models are the same, and "
            f"scores always agree with themselves. Expected another run: {again}."
        )


def _repeated(first: Results, second: Results, by: str) -> dict[str, Any]:
    """Return for which models the second run repeats the first run's responses, and for which also its verdicts."""
    texts = [
        model
        for model, result in first.items()
        if "texts" in result and result["texts"] == second[model].get("texts")
    ]
    same = [
        model
        for model in texts
        if first[model].get("verdicts") == second[model].get("verdicts")
        and score(first[model], by) == score(second[model], by)
    ]
    if len(same) == len(first):
        warnings.warn(f"{OPTIONS[RETEST]} holds the very same responses and verdicts: {AGAIN}.", stacklevel=2)
    return {"same": same, "same_responses": texts}


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


def _overview(benchmark: str, by: str, found: Mapping[str, Any]) -> Table:
    """Return the columns of HQM's Table I."""
    cells: list[Cell] = [f"{benchmark} [{by}]"]
    for name in COLUMNS:
        result = found.get(name, {})
        is_same = len(result.get("same", ())) == result.get("models")  # nothing was run again
        value = result.get("pearson", result.get(CONTENT))
        cells.append(Number(value, ".3f", 1, mark=" (same)" if is_same else ""))
    return Table("reliability", ["benchmark", *COLUMNS.values()], [cells])


def _published() -> Table:
    """Return HQM's Table I: one row per benchmark."""
    paper = published.load("hqm")
    rows: list[list[Cell]] = [
        [name, *(plain(printed.get(column), ".4f") for column in COLUMNS)] for name, printed in paper.results
    ]
    return Table("published", [published.HEAD, *COLUMNS.values()], rows, of=published.heading(paper))


def _coefficients(found: Mapping[str, Any]) -> Table:
    """Return a table of each coefficient with its interval."""
    rows: list[list[Cell]] = []
    for name, column in COLUMNS.items():
        if name == CONTENT and name in found:
            rows.append(
                [column, "share valid", *(plain(found[name][key]) for key in (CONTENT, "low", "high"))]
            )
        elif name in found:
            for coefficient, ends in found[name]["interval"].items():
                rows.append([column, coefficient, *map(plain, (found[name][coefficient], *ends))])
    return Table("coefficients", ["indicator", "coefficient", "value", "low", "high"], rows, left=2)


def _forms(first: Results, parallel: Results, by: str) -> Table:
    """Return HQM's Table II: each model's score, and how often it says yes, in both forms."""
    names = [by]
    if by != "yes_ratio" and all("yes_ratio" in result for result in first.values()):
        names.append("yes_ratio")
    rows: list[list[Cell]] = [
        [model, *(plain(score(file[model], name)) for file in (first, parallel) for name in names)]
        for model in first
    ]
    return Table("forms", ["model", *names, *(f"{name}, parallel" for name in names)], rows)


def _remarks(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, result in found.items():
        if name == CONTENT:
            lines.append(f"{COLUMNS[name]}: {result['valid']} of {result['rows']} rows are valid")
        else:
            chance = f"probability of a correlation this strong by chance: {result['chance']:.3f}"
            known = result["undefined"] or f"{result['models']} models; {chance}"
            lines.append(f"{COLUMNS[name]}: {known}")
            lines += _again(result)
            if "score" in result:
                opposed = ", its sign reversed, since its better direction is opposite"
                lines.append(
                    f"  compared with people's {result['score']}{opposed if 'turned' in result else ''}"
                )
            lines += [f"  not the same in both: {one_line(change)}" for change in result["changed"]]
        lines.append(f"  signature: {result['signature']}")
    return lines


def _again(result: Mapping[str, Any]) -> Iterator[str]:
    """Say what was not run again."""
    if same := result.get("same", []):
        yield f"  the very same responses and verdicts in both: {one_line(', '.join(same), 300)}"
        yield f"    so this says nothing about these models; {AGAIN}"
    if others := [model for model in result.get("same_responses", ()) if model not in same]:
        yield f"  the same responses in both, judged again: {one_line(', '.join(others), 300)}"
