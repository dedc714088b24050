"""HQM: how far a hallucination benchmark can be believed (Yan et al., "Measuring the Measurers", section III).

A benchmark is reliable if it gives the same models the same scores again, in a second run or in a parallel form. It is
valid if its scores agree with people's (criterion), and if people find its questions and answers right (content).

A correlation is positive if two tests favour the same models: if higher is better for one score and lower for the
other, the sign of one is turned. Each benchmark's record says which way a score is better.
"""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from halluscope import registry
from halluscope.inputs import listed, word
from halluscope.inputs import scores as numbers
from halluscope.registry import HIGHER, LOWER, Benchmark, Direction
from halluscope.reporting import published
from halluscope.reporting.results import Result, score, scores
from halluscope.reporting.tables import Cell, Json, Notes, Number, Report, Table, plain
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, keys_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.correlation import by_chance, correlations, undefined
from halluscope.stats.samples import Stratum, share

# Equations 1, 2 and 4: the same correlation with three kinds of second test; equation 3: the share of valid rows.
INDICATORS = RETEST, PARALLEL, CRITERION, CONTENT = "test_retest", "parallel_forms", "criterion", "content"
COLUMNS = {RETEST: "test-retest", PARALLEL: "parallel-forms", CONTENT: "content", CRITERION: "criterion"}
OPTIONS = {RETEST: "--retest", PARALLEL: "--parallel", CRITERION: "--criterion"}
# How to make a second run.
AGAIN = (
    "run the models again (halluscope answer --sample --seed 1), or the judge (halluscope score --seed 1, or "
    "--fresh)"
)

SCORES = "a list of numbers, the score of each model"
MARKS = "a list with a mark, 1 or 0, for each reviewed row"

# Scores from a marked review sheet: the share of a model's rows with which people agree, or disagree.
AGREE, DISAGREE = "agree", "disagree"
PEOPLE: Mapping[str, Direction] = {AGREE: HIGHER, DISAGREE: LOWER}

Results = Mapping[str, Result]


def compute(
    predictions: Sequence[float],
    references: Sequence[float] | None = None,
    *,
    indicator: str = "test_retest",
    bootstrap: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Json:
    """Measure how far a benchmark can be believed, from its scores of several models.

    Args:
        predictions: one score per model, for at least three models; for "content" one mark per reviewed row: 1 valid, 0
            not valid.
        references: the same models' scores in the second test, in the same order: another run ("test_retest"), a
            parallel form ("parallel_forms"), or people's scores ("criterion"). None for "content".
        indicator: "test_retest", "parallel_forms", "criterion" or "content".
        bootstrap: how many times to resample the models for the intervals; 0 for no intervals.
        seed: the seed of the bootstrap.
        level: the confidence level of the intervals, in (0, 1).

    Returns:
        `pearson` (equations 1, 2 and 4), and also `spearman` and `kendall` (tau-b), in [-1, 1]; `low` and `high`, the
        interval of `pearson`, and `interval`, the interval of each; `chance`, how often scores assigned to models at
        random correlate as strongly, at least 1 / n! for n models; `models`, how many there are; `undefined`, None or
        why there is no correlation, in which case all scores are NaN and a warning is given; `signature`.
        For "content": `content` (equation 3) in [0, 1], `low` and `high` (Wilson), `valid`, `rows`, `signature`.

    Raises:
        ValueError: for fewer than three models, unequal lengths, a score that is not a finite number, a mark other than
            0 and 1, or an unknown indicator.
        MissingExtra: without scipy (pip install 'halluscope[stats]'); "content" does not need it.
    """
    word("indicator", indicator, INDICATORS)
    resampling = Bootstrap(bootstrap, seed, level)
    if indicator == CONTENT:
        if references is not None:
            raise ValueError(
                "references are given; content validity takes only predictions, one mark per reviewed row."
            )
        given = listed("predictions", predictions, MARKS)
        marks = numbers(
            "predictions", [int(mark) if isinstance(mark, bool | np.bool_) else mark for mark in given], MARKS
        )
        if others := [(row, mark) for row, mark in enumerate(marks) if mark not in (0, 1)]:
            row, mark = others[0]
            raise ValueError(f"predictions[{row}] is {mark:g}; expected 1 for valid, 0 for not valid.")
        return content(marks, level=level)
    if references is None:
        raise ValueError(f"references is None; {indicator} needs the models' scores in the second test.")
    first, second = numbers("predictions", predictions, SCORES), numbers("references", references, SCORES)
    if len(first) != len(second):
        raise ValueError(
            f"There are {len(first)} predictions and {len(second)} references; expected the scores of the same models "
            "in both tests, in the same order."
        )
    coefficients = correlations(first, second, resampling)
    interval = {name: (each["low"], each["high"]) for name, each in coefficients.items()}
    if why := undefined(first, second):
        warnings.warn(why, stacklevel=2)
    return {
        **{name: each["value"] for name, each in coefficients.items()},
        **dict(zip(("low", "high"), interval["pearson"], strict=True)),
        "interval": interval,
        "chance": by_chance(first, second),
        "models": len(first),
        "undefined": why,
        "signature": signature(
            "hqm",
            data=data_of("models", zip(first, second, strict=True)),
            indicator=indicator,
            interval=resampling,
        ),
    }


def content(marks: Sequence[float], strata: Mapping[str, Stratum] | None = None, level: float = 0.95) -> Json:
    """Return what `compute` does for "content", weighted if the marks (1 or 0) are of rows drawn by strata."""
    strata = strata or {}
    estimate = share(marks, strata, level)
    # One mark per row; with strata, also its stratum and the stratum's size, which are weights.
    rows = [
        [name, size, int(index >= errors)]
        for name, (size, judgements, errors) in strata.items()
        for index in range(judgements)
    ] or [[int(mark)] for mark in marks]
    weighted = {"strata": len(strata)} if strata else {}
    choices = {"indicator": CONTENT, **weighted, "interval": f"{level:g},wilson"}
    return {
        CONTENT: estimate["value"],
        "low": estimate["low"],
        "high": estimate["high"],
        "valid": int(sum(marks)),
        "rows": len(marks),
        "signature": signature("hqm", data=data_of("marks", rows), **choices),
    }


# Results of several models, as `halluscope score NAME ... --json` printed them


def _makers(results: Results) -> list[str]:
    return sorted({str(result.get("signature", "")).partition("|")[0] for result in results.values()})


def direction(results: Results, score: str) -> Direction:
    """Return whether a higher or a lower score is better; None if neither is, or if the score is unknown."""
    made = _makers(results)
    ways = {one.better(score) for one in registry.benchmarks() if one.name in made} or {PEOPLE.get(score)}
    return ways.pop() if len(ways) == 1 else None


def _turned(first: Direction, second: Direction, values: Sequence[float]) -> tuple[bool, Sequence[float]]:
    """Return whether one of two scores is better if higher and the other if lower, and the values, turned if so.

    Constant values, which have no correlation, stay unchanged.
    """
    opposed = {first, second} == {HIGHER, LOWER}
    return opposed, [-value for value in values] if opposed and len(set(values)) > 1 else values


def benchmark_of(results: Results) -> Benchmark:
    names = _makers(results)
    known = [one for one in registry.benchmarks() if names == [one.name]]
    if not known:
        raise ValueError(
            f"The first file holds results of {', '.join(map(short_repr, names)) or 'nothing':.300}; expected one "
            "benchmark."
        )
    return known[0]


def measure(name: str, first: Results, second: Results, by: str, other: str, resampling: Bootstrap) -> Json:
    """Return one of HQM's correlations, of `by` in the first results with `other` in the second, and what differs.

    A second file with the same results is refused; the same responses and verdicts are reported.
    """
    if missing := [model for model in first if model not in second]:
        raise ValueError(
            f"{OPTIONS[name]} has no result for {short_repr(missing[0])}; expected the same "
            f"{len(first)} models in both: {', '.join(first):.300}. To score a file under one of these names, pass "
            "--responses NAME=FILE."
        )
    is_run, models = name != CRITERION, list(first)
    again = scores(second, models, other, "--by" if is_run else "--criterion-by")
    opposed, turned = _turned(direction(first, by), direction(second, other), again)
    changed: set[str] = set()
    for model in models if is_run else ():
        changed |= _changes(name, model, first[model], second[model])
    result = compute(
        scores(first, models, by),
        turned,
        indicator=name,
        bootstrap=resampling.resamples,
        seed=resampling.seed,
    )
    if is_run and all(first[model] == second[model] for model in models):
        how = AGAIN if name == RETEST else "score the responses to the form that `halluscope parallel` made"
        raise ValueError(
            f"{OPTIONS[name]} holds the first run again: the results of all {len(first)} models are the same, and "
            f"scores always agree with themselves. Expected another run: {how}."
        )
    result["changed"] = sorted(changed)
    if name == RETEST:
        # the models of which the second run repeats the responses, and those of which it repeats the verdicts too
        texts = [
            model
            for model, one in first.items()
            if "texts" in one and one["texts"] == second[model].get("texts")
        ]
        result["same"] = [
            model
            for model in texts
            if first[model].get("verdicts") == second[model].get("verdicts")
            and score(first[model], by) == score(second[model], by)
        ]
        result["same_responses"] = texts
        if len(result["same"]) == len(first):
            warnings.warn(
                f"{OPTIONS[RETEST]} holds the very same responses and verdicts: {AGAIN}.", stacklevel=2
            )
    return result | ({"score": other} if other != by else {}) | ({"turned": True} if opposed else {})


def correlate(
    first: Results, second: Results, by: tuple[str, str], left_out: Sequence[str], resampling: Bootstrap
) -> Json:
    """Return whether two benchmarks, each by its score in `by`, rank the models alike that have results of both."""
    models = [model for model in first if model in second and model not in left_out]
    x, y = (scores(results, models, name) for results, name in zip((first, second), by, strict=True))
    opposed, y_turned = _turned(direction(first, by[0]), direction(second, by[1]), y)
    return {
        "models": models,
        **correlations(x, y_turned, resampling),
        "chance": by_chance(x, y_turned),
        "undefined": undefined(x, y_turned),
        "turned": opposed,
        "signature": signature(
            "correlation",
            data=data_of("models", zip(models, x, y_turned, strict=True)),
            by=list(by),
            **({"turned": by[1]} if opposed else {}),
            left_out=left_out or "no",
            interval=resampling,
        ),
    }


def _changes(name: str, model: str, first: Result, second: Result) -> set[str]:
    """Return the choices in which two runs' signatures differ, such as "questions: paper, then released".

    Two runs are about the same rows, or about as many rows in another form.
    """
    one, other = (keys_of(str(result.get("signature", ""))) for result in (first, second))
    rows = [of.get("data", "") for of in (one, other)]
    how, known = "score both runs against the same rows of the same dataset", rows
    if name == PARALLEL:
        how = "`halluscope parallel --first FILE` writes the original rows that have a parallel form"
        known = [data.rpartition("-")[0] for data in rows]
    if all(rows) and known[0] != known[1]:
        raise ValueError(
            f"{OPTIONS[name]} is about other rows than the first run: for {short_repr(model)}, "
            f"{one_line(rows[0], 100)}, then {one_line(rows[1], 100)}; expected the same in both: {how}."
        )
    return {
        f"{key}: {one.get(key, 'none')}, then {other.get(key, 'none')}"
        for key in one | other
        if one.get(key) != other.get(key)
    }


# What is printed


def report(
    found: Json,
    forms: tuple[Results, Results] | None,
    with_published: bool,
    scores: Sequence[str] = (),
) -> Report:
    """Return the tables: HQM's Table I, the paper's, all coefficients, and Table II of both forms of the questions."""
    head = ["benchmark", *COLUMNS.values()]
    by = found["by"]
    overview: list[Cell] = [f"{found['benchmark']} [{by}]"]
    rows: list[list[Cell]] = []
    for name, column in COLUMNS.items():
        result = found.get(name, {})
        is_same = len(result.get("same", ())) == result.get("models")  # nothing was run again
        mark = " (same)" if is_same else ""
        overview.append(Number(result.get("pearson", result.get(CONTENT)), ".3f", mark=mark))
        if name == CONTENT and result:
            rows.append([column, "share valid", *(plain(result[key]) for key in (CONTENT, "low", "high"))])
        for coefficient, ends in result.get("interval", {}).items():
            rows.append([column, coefficient, *map(plain, (result[coefficient], *ends))])
    report: list[Table | Notes] = [Table("reliability", head, [overview])]
    if with_published:  # HQM's Table I: one row per benchmark
        paper = published.load("hqm")
        lines: list[list[Cell]] = [
            [name, *(plain(printed.get(column), ".4f") for column in COLUMNS)]
            for name, printed in paper.results
        ]
        report.append(Table("published", [published.HEAD, *head[1:]], lines, of=published.heading(paper)))
    report.append(Table("coefficients", ["indicator", "coefficient", "value", "low", "high"], rows, left=2))
    if forms:  # HQM's Table II: each model's score, and how often it says yes, in both forms
        names = [*scores] or [by]
        if not scores and by != "yes_ratio" and all("yes_ratio" in result for result in forms[0].values()):
            names.append("yes_ratio")
        lines = [
            [model, *(plain(score(file[model], name)) for file in forms for name in names)]
            for model in forms[0]
        ]
        report.append(Table("forms", ["model", *names, *(f"{name}, parallel" for name in names)], lines))
    return [
        *report,
        Notes([line for name in INDICATORS if name in found for line in _remarks(name, found[name])]),
    ]


def _remarks(name: str, result: Json) -> list[str]:
    if name == CONTENT:
        lines = [f"{COLUMNS[name]}: {result['valid']} of {result['rows']} rows are valid"]
    else:
        chance = f"probability of a correlation this strong by chance: {result['chance']:.3f}"
        known = result["undefined"] or f"{result['models']} models; {chance}"
        lines = [f"{COLUMNS[name]}: {known}"]
        if same := result.get("same", []):
            lines.append(f"  the very same responses and verdicts in both: {one_line(', '.join(same), 300)}")
            lines.append(f"    so this says nothing about these models; {AGAIN}")
        if others := [model for model in result.get("same_responses", ()) if model not in same]:
            lines.append(f"  the same responses in both, judged again: {one_line(', '.join(others), 300)}")
        if "score" in result:
            opposed = ", its sign reversed, since its better direction is opposite"
            lines.append(f"  compared with people's {result['score']}{opposed if 'turned' in result else ''}")
        lines += [f"  not the same in both: {one_line(change)}" for change in result["changed"]]
    return [*lines, f"  signature: {result['signature']}"]
