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
from halluscope.benchmark import HIGHER, LOWER, Benchmark, Direction
from halluscope.reporting import published
from halluscope.reporting.result_files import score, scores
from halluscope.reporting.tables import Cell, Json, Notes, Number, Report, Table, Values, plain
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, keys_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.correlation import COEFFICIENTS, by_chance, correlations, undefined
from halluscope.stats.samples import Stratum, share_of_ones
from halluscope.validation import listed, word
from halluscope.validation import scores as numbers

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

Results = Mapping[str, Values]


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
    estimate = share_of_ones(marks, strata, level)
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


def benchmark_of(results: Results) -> Benchmark | None:
    """Return the benchmark that all results are of; None if there is no such."""
    makers = {str(result.get("signature", "")).partition("|")[0] for result in results.values()}
    return next((one for one in registry.benchmarks() if makers == {one.name}), None)


def direction(results: Results, score: str) -> Direction:
    """Return whether a higher or a lower score is better; None if neither is, or if the score is unknown."""
    benchmark = benchmark_of(results)
    return benchmark.better(score) if benchmark else PEOPLE.get(score)


def principal_scores(first: Results, second: Results) -> tuple[str, str]:
    """Return the score by which each of two benchmarks ranks models, if the user names none."""
    return _principal_score(first, "first"), _principal_score(second, "second")


def _principal_score(results: Results, place: str) -> str:
    """Return the principal score of the results' benchmark; of an unknown one, the only score that it has."""
    benchmark = benchmark_of(results)
    if benchmark is not None:
        return benchmark.principal
    names: dict[str, None] = {}
    for result in results.values():
        for name, value in result.items():
            if isinstance(value, float):
                names[name] = None
    if len(names) == 1:
        return next(iter(names))
    listed = one_line(", ".join(names), 300) or "none"
    raise ValueError(
        f"The {place} results are of no benchmark that is known here, or of several, so it is not clear which score to "
        f"compare (they have: {listed}). Name one score with --by, or one for each of the two: --by FIRST SECOND."
    )


def _pairs(
    first: Results, second: Results, by: Sequence[str], models: Sequence[str], option: str = "--by"
) -> tuple[Sequence[float], Sequence[float], bool]:
    """Return the models' scores in both results; and whether the better direction of the second, turned, is opposite.

    Constant scores, which have no correlation, are not turned.
    """
    x, y = scores(first, models, by[0]), scores(second, models, by[1], option)
    opposed = {direction(first, by[0]), direction(second, by[1])} == {HIGHER, LOWER}
    return x, [-value for value in y] if opposed and len(set(y)) > 1 else y, opposed


def measure(name: str, first: Results, second: Results, by: str, other: str, resampling: Bootstrap) -> Json:
    """Return one of HQM's correlations, of `by` in the first results with `other` in the second, and what differs.

    A second file with the same results is refused; the same responses and verdicts are reported.
    """
    option, models = OPTIONS[name], list(first)
    if missing := [model for model in models if model not in second]:
        raise ValueError(
            f"{option} has no result for {short_repr(missing[0])}; expected the same "
            f"{len(models)} models in both: {', '.join(models):.300}. To score a file under one of these names, pass "
            "--responses NAME=FILE."
        )
    reruns = [] if name == CRITERION else [(first[model], second[model]) for model in models]
    x, y, opposed = _pairs(first, second, (by, other), models, "--by" if reruns else "--criterion-by")
    changed = {change for one, again in reruns for change in _changes(name, one, again)}
    result = compute(x, y, indicator=name, bootstrap=resampling.resamples, seed=resampling.seed)
    if reruns and all(one == again for one, again in reruns):
        how = AGAIN if name == RETEST else "score the responses to the form that `halluscope parallel` made"
        raise ValueError(
            f"{option} holds the first run again: the results of all {len(models)} models are the same, and "
            f"scores always agree with themselves. Expected another run: {how}."
        )
    if name == RETEST:
        # the models of which the second run repeats the responses, and those of which it repeats the verdicts too
        repeats = [
            (one, again) for one, again in reruns if "texts" in one and one["texts"] == again.get("texts")
        ]
        result["same"] = [
            one["responses"]
            for one, again in repeats
            if one.get("verdicts") == again.get("verdicts") and score(one, by) == score(again, by)
        ]
        result["same_responses"] = [one["responses"] for one, _ in repeats]
    more = {"score": other} if other != by else {}
    return result | more | {"changed": sorted(changed)} | ({"turned": True} if opposed else {})


def correlate(
    first: Results, second: Results, by: Sequence[str], left_out: Sequence[str], resampling: Bootstrap
) -> Json:
    """Return whether two benchmarks, each by its score in `by`, rank the models alike that have results of both."""
    models = [model for model in first if model in second and model not in left_out]
    x, y, opposed = _pairs(first, second, by, models)
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


def correlation_report(found: Json, by: Sequence[str]) -> Report:
    lines = [found["undefined"] or _chance(found), f"signature: {found['signature']}"]
    if found["turned"]:
        opposite = "its better direction is opposite to that of"
        lines.insert(0, f"the sign of {by[1]} is reversed: {opposite} {by[0]}")
    rows: list[list[Cell]] = [[name, *map(plain, found[name].values())] for name in COEFFICIENTS]
    return [
        Notes([f"{len(found['models'])} models in both: {', '.join(found['models'])}"]),
        Table("correlations", ["coefficient", "correlation", "low", "high"], rows),
        Notes(lines),
    ]


def _chance(found: Json) -> str:
    return f"probability of a correlation this strong by chance: {found['chance']:.3f}"


def _changes(name: str, first: Values, second: Values) -> set[str]:
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
            f"{OPTIONS[name]} is about other rows than the first run: for {short_repr(first['responses'])}, "
            f"{one_line(rows[0], 100)}, then {one_line(rows[1], 100)}; expected the same in both: {how}."
        )
    return {
        f"{key}: {one.get(key, 'none')}, then {other.get(key, 'none')}"
        for key in one | other
        if one.get(key) != other.get(key)
    }


# What is printed


def report(found: Json, with_published: bool) -> list[Table | Notes]:
    """Return HQM's Table I, the paper's, all coefficients, and notes."""
    overview: list[Cell] = [f"{found['benchmark']} [{found['by']}]"]
    rows: list[list[Cell]] = []
    for name, column in COLUMNS.items():
        result = found.get(name, {})
        is_same = len(result.get("same", ())) == result.get("models")  # nothing was run again
        value = result.get("pearson", result.get(CONTENT))
        overview.append(Number(value, ".3f", mark=" (same)" if is_same else ""))
        if name == CONTENT and result:
            rows.append([column, "share valid", *(plain(result[key]) for key in (CONTENT, "low", "high"))])
        for coefficient, ends in result.get("interval", {}).items():
            rows.append([column, coefficient, *map(plain, (result[coefficient], *ends))])
    report: list[Table | Notes] = [Table("reliability", ["benchmark", *COLUMNS.values()], [overview])]
    if with_published:  # HQM's Table I: one row per benchmark
        paper = published.load("hqm")
        lines: list[list[Cell]] = [
            [name, *(plain(printed.get(column), ".4f") for column in COLUMNS)]
            for name, printed in paper.results
        ]
        header = [published.HEAD, *COLUMNS.values()]
        report.append(Table("published", header, lines, of=published.heading(paper)))
    remarks = [line for name in INDICATORS if name in found for line in _remarks(name, found[name])]
    coefficients = Table("coefficients", ["indicator", "coefficient", "value", "low", "high"], rows, left=2)
    return [*report, coefficients, Notes(remarks)]


def table_of_forms(first: Results, second: Results, by: str, names: Sequence[str]) -> Table:
    """Return HQM's Table II: each model's scores in both forms, by default `by` and how often it says yes."""
    if not names:
        has_yes = by != "yes_ratio" and all("yes_ratio" in result for result in first.values())
        names = [by, "yes_ratio"] if has_yes else [by]
    lines: list[list[Cell]] = [
        [model, *(plain(score(of[model], name)) for of in (first, second) for name in names)]
        for model in first
    ]
    return Table("forms", ["model", *names, *(f"{name}, parallel" for name in names)], lines)


def _remarks(name: str, result: Json) -> list[str]:
    if name == CONTENT:
        lines = [f"{COLUMNS[name]}: {result['valid']} of {result['rows']} rows are valid"]
    else:
        known = result["undefined"] or f"{result['models']} models; {_chance(result)}"
        lines = [f"{COLUMNS[name]}: {known}"]
        same = result.get("same", [])
        if same:
            lines.append(f"  the very same responses and verdicts in both: {one_line(', '.join(same), 300)}")
            lines.append(f"    so this says nothing about these models; {AGAIN}")
        if others := [model for model in result.get("same_responses", ()) if model not in same]:
            lines.append(f"  the same responses in both, judged again: {one_line(', '.join(others), 300)}")
        if "score" in result:
            opposed = ", its sign reversed, since its better direction is opposite"
            lines.append(f"  compared with people's {result['score']}{opposed if 'turned' in result else ''}")
        lines += [f"  not the same in both: {one_line(change)}" for change in result["changed"]]
    return [*lines, f"  signature: {result['signature']}"]
