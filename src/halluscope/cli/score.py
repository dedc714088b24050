"""Scores responses, or says what that would ask judges, or how it depends on the number of votes that must agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from halluscope import registry, scoring
from halluscope.benchmark import Benchmark
from halluscope.cli.agreements import AGREEMENT, ASK, SEVERAL_AGREEMENTS, agreements_of, compare_agreements
from halluscope.cli.parameters import (
    JUDGES,
    OUTPUT,
    Datasets,
    Folder,
    Named,
    Resampling,
    Responses,
    Scores,
    Typed,
    declared,
    for_name,
)
from halluscope.cli.plan import PLAN, plan_judges
from halluscope.cli.printing import FORMAT_HELP, Output, check_output
from halluscope.cli.responses import chosen, parameters, summary, words_of_judge
from halluscope.judging import one_verdict
from halluscope.judging.options import GIVEN
from halluscope.reporting import published as papers
from halluscope.reporting.formats import FORMATS, JSON, LINE, TABLE, text_notes
from halluscope.reporting.tables import Values, to_json
from halluscope.runs import caveats, folder
from halluscope.runs import results as tables
from halluscope.runs.run import Run
from halluscope.runs.run import score as scored_run
from halluscope.sanitize import one_line
from halluscope.sanitize import typed as typed_command
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import say, tell


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class ScoreOutput(Output):
    """What is shown of scores."""

    format: Annotated[
        str,
        Parameter(
            choices=(*FORMATS, LINE),
            help=f"{FORMAT_HELP}, with the principal score in bold where one model's is significantly better than each "
            "other's; json: the full results; line: signature and principal score in one line each",
        ),
    ] = TABLE
    scores: Annotated[Scores, Parameter(help="show one table with these scores and their intervals")] = ()
    intervals: Annotated[bool, Parameter(help="show each score with its interval, if it has one")] = False
    all: Annotated[
        bool, Parameter(help="show every table: with differences of models, and in LaTeX each one")
    ] = False
    published: Annotated[
        bool,
        Parameter(
            help="show the paper's results too, in a table of their own, if it prints any and they are about the same "
            "rows"
        ),
    ] = False
    out: Annotated[
        Folder | None,
        Parameter(
            help="write a run here: scores, rows, votes, replies; with several files of responses, a folder for each "
            "(`halluscope verify FOLDER` scores it again)"
        ),
    ] = None


def command_of(name: str) -> Named:
    """Return the command `score` for a benchmark, or for one of its datasets."""
    benchmark = registry.benchmark(name)
    options = parameters(benchmark)
    if benchmark.judges:
        options += declared([PLAN], JUDGES)
    if any(option.name == AGREEMENT for option in benchmark.options):
        options += declared([SEVERAL_AGREEMENTS], JUDGES)
    return Named(for_name(score, name, options), summary(benchmark), words_of_judge(benchmark))


def score(
    name: str,
    *,
    responses: Responses,
    dataset: Datasets,
    resampling: Resampling = Resampling(),
    output: ScoreOutput = ScoreOutput(),
    typed: Typed = (),
    **options: Any,
) -> None:
    """Score one or more files of responses; all are read and matched before the first is scored."""
    benchmark = registry.benchmark(name)
    is_plan = options.pop(PLAN.name, False)
    agreements = agreements_of(options.pop(AGREEMENT, []))
    if len(agreements) == 1:
        options[AGREEMENT] = agreements[0]
    if len(agreements) > 1:
        options[ASK] = "all"  # which votes are needed depends on how many must agree
    if is_plan:
        is_fresh = options.pop("fresh", False)
        plan_judges(chosen(benchmark, name, options), responses, dataset, output, is_fresh)
        return
    choice = chosen(benchmark, name, options)
    if output.out:
        check_output(output.out, options.get("store"))
    if len(agreements) > 1:
        if output.out:
            raise ValueError("--out is for one number of votes; --agreement names several.")
        compare_agreements(choice, agreements, responses, dataset, output)
        return
    ready = choice.ready(responses, dataset)
    for model in ready:
        tell(scoring.remark(benchmark, model))
    noted = {"command": list(typed), "dataset": dataset}
    scored = []
    for model in ready:
        for variant in scoring.variants(benchmark, choice.options):
            variant.update(bootstrap=resampling.bootstrap, seed=resampling.seed)
            with_items = bool(output.out or benchmark.judges)
            scored.append(scored_run(benchmark, model, variant, noted, items=with_items))
    _tell_hints(scored)
    if output.out:
        folder.write(scored, output.out)
    _show(benchmark, scored, choice.options, resampling.bootstrapped(), output)
    output.tell_of_long_names(run.name for run in scored)
    output.tell_next(_next_step(output.out, len(scored)))


def _next_step(out: Path | None, runs_written: int) -> str:
    """Return what one would type after scoring."""
    if out is None:
        return "with `--out FOLDER`, a run is kept, and `halluscope report FOLDER` shows what went wrong."
    report = f"`{typed_command(['report', str(out)])}` shows what went wrong"
    if runs_written == 1:
        return f"{report}."
    return f"{report}; `{typed_command(['compare', str(out)])}` compares groups and classes too."


def _tell_hints(scored: Sequence[Run]) -> None:
    for run in scored:
        if run.scores["thoughts"]:
            tell(
                f"{one_line(run.name)}: {run.scores['thoughts']:,} responses contained thoughts (text in <think> or "
                "similar tags), which were removed."
            )
    for run in scored:
        for hint in _hints_of_verdicts(run):
            tell(f"{one_line(run.name)}: {hint}")


def _show(
    benchmark: Benchmark,
    scored: Sequence[Run],
    options: dict[str, Any],
    resampling: Bootstrap,
    output: ScoreOutput,
) -> None:
    """Print the scores, and what papers print where that is wanted."""
    results = [(run.name, tables.with_choices(benchmark, run.scores, run.options)) for run in scored]
    if output.published and not (papers.of(benchmark, options) or papers.computed(benchmark, results)):
        tell(f"No published results are known for {benchmark.title} with these options.")
    if output.style == LINE:
        say(tables.lines(benchmark, results))
        return
    if output.style == JSON:
        lines = list(caveats.of_stated(benchmark, results))
        lines += caveats.of_other_rows(results)
        tell(text_notes(caveats.of_each(benchmark, results, options) + caveats.notes(lines)))
        rows: list[tuple[str, Values]] = list(results)
        if output.published:
            rows += tables.comparable(benchmark, results, options)
        say(to_json([{"responses": name, **result} for name, result in rows]))
        return
    report = tables.report(
        results,
        scored,
        options,
        resampling,
        style=output.style,
        names=output.scores,
        with_published=output.published,
        everything=output.all,
    )
    output.show(None, lambda: report, with_intervals=output.intervals)


def _hints_of_verdicts(run: Run) -> list[str]:
    """Return hints about a judge's verdicts, or those that the user gave; rules give no hint."""
    judges = run.benchmark.judges
    if judges is None or judges.kind != "verdicts":
        return []
    judge = run.options.get(judges.option, judges.default)
    is_given = GIVEN in (run.keys.get("judge"), run.keys.get("correctness"))
    if judge in judges.rules and not is_given:
        return []
    return one_verdict.hints(run.found)
