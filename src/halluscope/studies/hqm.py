"""HQM's indicators of results of several models (`halluscope.stats.indicators`), and whether two benchmarks correlate.

A correlation is positive if two tests favour the same models: if higher is better for one score and lower for the
other, the sign of one is turned. Each benchmark's record says which way a score is better.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope import registry
from halluscope.benchmark import HIGHER, LOWER, Benchmark, Direction
from halluscope.reporting import published
from halluscope.reporting.result_files import score, scores
from halluscope.reporting.tables import Cell, Json, Notes, Number, Report, Table, Values, plain
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, keys_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS, by_chance, correlations, undefined
from halluscope.stats.indicators import CONTENT, CRITERION, INDICATORS, PARALLEL, RETEST, compute

# The columns of HQM's Table I
COLUMNS = {RETEST: "test-retest", PARALLEL: "parallel-forms", CONTENT: "content", CRITERION: "criterion"}
# The option that names the second test
OPTIONS = {RETEST: "--retest", PARALLEL: "--parallel", CRITERION: "--criterion"}
# How to make a second run
AGAIN = (
    "run the models again (halluscope answer --sample --seed 1), or the judge (halluscope score --seed 1, or "
    "--fresh)"
)

# Scores from a marked review sheet: the share of a model's rows with which people agree, or disagree.
AGREE = "agree"
DISAGREE = "disagree"
PEOPLE: Mapping[str, Direction] = {AGREE: HIGHER, DISAGREE: LOWER}

YES_RATIO = "yes_ratio"

Results = Mapping[str, Values]  # a model's name -> its result


# Results of several models, as `halluscope score NAME ... --json` printed them


def benchmark_of(results: Results) -> Benchmark | None:
    """Return the benchmark that all results are of; None if there is no such."""
    names = {str(result.get("signature", "")).partition("|")[0] for result in results.values()}
    for benchmark in registry.benchmarks():
        if names == {benchmark.name}:
            return benchmark
    return None


def direction(results: Results, score: str) -> Direction:
    """Return whether a higher or a lower score is better; None if neither is, or if the score is unknown."""
    benchmark = benchmark_of(results)
    if benchmark is None:
        return PEOPLE.get(score)
    return benchmark.better(score)


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
    score_names = one_line(", ".join(names), 300) or "none"
    raise ValueError(
        f"The {place} results are of no benchmark that is known here, or of several, so it is not clear which score to "
        f"compare (they have: {score_names}). Name one score with --scores, or one for each of the two: --scores "
        f"FIRST SECOND."
    )


@dataclass(frozen=True)
class Pairs:
    """Models' scores in two tests."""

    first: list[float]
    second: list[float]  # with the sign turned, if the better directions are opposite
    is_opposed: bool  # whether a higher score is better in one test, and a lower one in the other


def pairs_of(
    first: Results,
    second: Results,
    score_names: Sequence[str],
    models: Sequence[str],
    option: str = "--scores",
) -> Pairs:
    """Return the models' scores in both results; constant ones, which have no correlation, are not turned."""
    scores_in_first = scores(first, models, score_names[0])
    scores_in_second = scores(second, models, score_names[1], option)
    directions = {direction(first, score_names[0]), direction(second, score_names[1])}
    is_opposed = directions == {HIGHER, LOWER}
    if is_opposed and len(set(scores_in_second)) > 1:
        scores_in_second = [-value for value in scores_in_second]
    return Pairs(scores_in_first, scores_in_second, is_opposed)


@dataclass(frozen=True)
class Rerun:
    """A model's results in two runs."""

    first: Values
    second: Values

    @property
    def has_same_responses(self) -> bool:
        return "texts" in self.first and self.first["texts"] == self.second.get("texts")

    def repeats(self, score_name: str) -> bool:
        """Whether the second run repeats the responses, the verdicts, and so the score."""
        if not self.has_same_responses or self.first.get("verdicts") != self.second.get("verdicts"):
            return False
        return score(self.first, score_name) == score(self.second, score_name)


def measure(
    name: str, first: Results, second: Results, score_name: str, other_name: str, resampling: Bootstrap
) -> Json:
    """Return one of HQM's correlations, of a score in the first results with another in the second, and what differs.

    A second file with the same results is refused; the same responses and verdicts are reported.
    """
    models = list(first)
    for model in models:
        if model not in second:
            raise ValueError(
                f"{OPTIONS[name]} has no result for {short_repr(model)}; expected the same {len(models)} models in "
                f"both: {', '.join(models):.300}. To score a file under one of these names, pass --responses "
                "NAME=FILE."
            )
    reruns = []
    option = "--criterion-score"
    if name != CRITERION:
        reruns = [Rerun(first[model], second[model]) for model in models]
        option = "--scores"
    pairs = pairs_of(first, second, (score_name, other_name), models, option)
    changed: set[str] = set()
    for rerun in reruns:
        changed.update(changes(name, rerun))
    result = compute(
        pairs.first,
        pairs.second,
        indicator=name,
        bootstrap=resampling.resamples,
        seed=resampling.seed,
    )
    check_reruns(name, reruns)
    if name == RETEST:
        result["same"] = [rerun.first["responses"] for rerun in reruns if rerun.repeats(score_name)]
        result["same_responses"] = [rerun.first["responses"] for rerun in reruns if rerun.has_same_responses]
    if other_name != score_name:
        result["score"] = other_name
    result["changed"] = sorted(changed)
    if pairs.is_opposed:
        result["turned"] = True
    return result


def check_reruns(name: str, reruns: Sequence[Rerun]) -> None:
    """Refuse a second run that is the first one."""
    if not reruns or any(rerun.first != rerun.second for rerun in reruns):
        return
    advice = "score the responses to the form that `halluscope study parallel` made"
    if name == RETEST:
        advice = AGAIN
    raise ValueError(
        f"{OPTIONS[name]} holds the first run again: the results of all {len(reruns)} models are the same, and scores "
        f"always agree with themselves. Expected another run: {advice}."
    )


def changes(name: str, rerun: Rerun) -> set[str]:
    """Return the choices in which two runs' signatures differ, such as "questions: paper, then released".

    Two runs are about the same rows, or about as many rows in another form.
    """
    first = keys_of(str(rerun.first.get("signature", "")))
    second = keys_of(str(rerun.second.get("signature", "")))
    data = first.get("data", "")
    data_of_second = second.get("data", "")
    if data and data_of_second and not is_about_the_same(name, data, data_of_second):
        advice = "score both runs against the same rows of the same dataset"
        if name == PARALLEL:
            advice = (
                "`halluscope study parallel --first FILE` writes the original rows that have a parallel form"
            )
        raise ValueError(
            f"{OPTIONS[name]} is about other rows than the first run: for {short_repr(rerun.first['responses'])}, "
            f"{one_line(data, 100)}, then {one_line(data_of_second, 100)}; expected the same in both: {advice}."
        )
    changed = set()
    for key in first.keys() | second.keys():
        if first.get(key) != second.get(key):
            changed.add(f"{key}: {first.get(key, 'none')}, then {second.get(key, 'none')}")
    return changed


def is_about_the_same(name: str, data: str, data_of_second: str) -> bool:
    """Whether two runs are about the same rows, by their signatures; of a parallel form, about as many."""
    if name == PARALLEL:
        return data.rpartition("-")[0] == data_of_second.rpartition("-")[0]
    return data == data_of_second


def correlate(
    first: Results,
    second: Results,
    score_names: Sequence[str],
    left_out: Sequence[str],
    resampling: Bootstrap,
) -> Json:
    """Return whether two benchmarks, each by its own score, rank the models alike that have results of both."""
    models = [model for model in first if model in second and model not in left_out]
    pairs = pairs_of(first, second, score_names, models)
    choices: dict[str, Any] = {"by": list(score_names)}
    if pairs.is_opposed:
        choices["turned"] = score_names[1]
    choices["left_out"] = left_out or "no"
    result: Json = {"models": models}
    result.update(correlations(pairs.first, pairs.second, resampling))
    result["chance"] = by_chance(pairs.first, pairs.second)
    result["undefined"] = undefined(pairs.first, pairs.second)
    result["turned"] = pairs.is_opposed
    result["signature"] = signature(
        "correlation",
        data=data_of("models", zip(models, pairs.first, pairs.second, strict=True)),
        **choices,
        interval=resampling,
    )
    return result


# What is printed


def correlation_report(correlation: Json, score_names: Sequence[str]) -> Report:
    """Return the coefficients of two benchmarks, and notes."""
    models = correlation["models"]
    rows: list[list[Cell]] = []
    for name in COEFFICIENTS:
        row: list[Cell] = [name]
        for value in correlation[name].values():
            row.append(plain(value))
        rows.append(row)
    lines = []
    if correlation["turned"]:
        first, second = score_names
        lines.append(f"the sign of {second} is reversed: its better direction is opposite to that of {first}")
    lines.append(correlation["undefined"] or chance_line(correlation))
    lines.append(f"signature: {correlation['signature']}")
    return [
        Notes([f"{len(models)} models in both: {', '.join(models)}"]),
        Table("correlations", ["coefficient", "correlation", "low", "high"], rows),
        Notes(lines),
    ]


def chance_line(correlation: Json) -> str:
    return f"probability of a correlation this strong by chance: {correlation['chance']:.3f}"


def report(measured: Json, with_published: bool) -> list[Table | Notes]:
    """Return HQM's Table I, the paper's, all coefficients, and notes."""
    overview: list[Cell] = [f"{measured['benchmark']} [{measured['by']}]"]
    for name in COLUMNS:
        overview.append(overview_cell(measured.get(name, {})))
    header = ["benchmark"]
    header += COLUMNS.values()
    parts: list[Table | Notes] = [Table("reliability", header, [overview])]
    if with_published:
        parts.append(published_table())
    lines: list[str] = []
    for name in INDICATORS:
        if name in measured:
            lines += remarks(name, measured[name])
    parts.append(coefficients_table(measured))
    parts.append(Notes(lines))
    return parts


def overview_cell(result: Json) -> Number:
    """Return the number of an indicator in Table I, marked if nothing was run again."""
    mark = ""
    if result and len(result.get("same", ())) == result.get("models"):
        mark = " (same)"
    value = result.get("pearson", result.get(CONTENT))
    return Number(value, ".3f", mark=mark)


def published_table() -> Table:
    """Return HQM's Table I, with a row per benchmark."""
    paper = published.load("hqm")
    rows: list[list[Cell]] = []
    for name, printed in paper.results:
        row: list[Cell] = [name]
        for column in COLUMNS:
            row.append(plain(printed.get(column), ".4f"))
        rows.append(row)
    header = [published.HEAD]
    header += COLUMNS.values()
    return Table("published", header, rows, of=published.heading(paper))


def coefficients_table(measured: Json) -> Table:
    """Return all coefficients with their intervals."""
    rows: list[list[Cell]] = []
    for name, column in COLUMNS.items():
        result = measured.get(name, {})
        if name == CONTENT and result:
            low = plain(result["low"])
            high = plain(result["high"])
            rows.append([column, "share valid", plain(result[CONTENT]), low, high])
        for coefficient, (low_end, high_end) in result.get("interval", {}).items():
            rows.append([column, coefficient, plain(result[coefficient]), plain(low_end), plain(high_end)])
    return Table("coefficients", ["indicator", "coefficient", "value", "low", "high"], rows, left=2)


def table_of_forms(first: Results, second: Results, principal: str, names: Sequence[str]) -> Table:
    """Return HQM's Table II: each model's scores in both forms, by default `principal` and how often it says yes."""
    if not names:
        names = [principal]
        if principal != YES_RATIO and all(YES_RATIO in result for result in first.values()):
            names = [principal, YES_RATIO]
    header = ["model"]
    header += names
    for name in names:
        header.append(f"{name}, parallel")
    rows: list[list[Cell]] = []
    for model in first:
        row: list[Cell] = [model]
        for results in (first, second):
            for name in names:
                row.append(plain(score(results[model], name)))
        rows.append(row)
    return Table("forms", header, rows)


def remarks(name: str, result: Json) -> list[str]:
    """Return what is said of an indicator below the tables."""
    if name == CONTENT:
        lines = [f"{COLUMNS[name]}: {result['valid']} of {result['rows']} rows are valid"]
    else:
        lines = correlation_remarks(name, result)
    lines.append(f"  signature: {result['signature']}")
    return lines


def correlation_remarks(name: str, result: Json) -> list[str]:
    if result["undefined"]:
        lines = [f"{COLUMNS[name]}: {result['undefined']}"]
    else:
        lines = [f"{COLUMNS[name]}: {result['models']} models; {chance_line(result)}"]
    same = result.get("same", [])
    if same:
        lines.append(f"  the very same responses and verdicts in both: {one_line(', '.join(same), 300)}")
        lines.append(f"    so this says nothing about these models; {AGAIN}")
    judged_again = [model for model in result.get("same_responses", ()) if model not in same]
    if judged_again:
        lines.append(f"  the same responses in both, judged again: {one_line(', '.join(judged_again), 300)}")
    if "score" in result:
        line = f"  compared with people's {result['score']}"
        if "turned" in result:
            line += ", its sign reversed, since its better direction is opposite"
        lines.append(line)
    for change in result["changed"]:
        lines.append(f"  not the same in both: {one_line(change)}")
    return lines
