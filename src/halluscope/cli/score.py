"""Commands that score responses: once, under each protocol, or with each number of votes that must agree."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from halluscope import registry, scoring
from halluscope.benchmark import Benchmark
from halluscope.cli import common
from halluscope.explaining import protocols
from halluscope.explaining import report as explanation_report
from halluscope.explaining.explanation import Explanation
from halluscope.explaining.facts import as_json
from halluscope.judging import one_verdict
from halluscope.judging.options import GIVEN
from halluscope.reporting import published
from halluscope.reporting.formats import JSON, LINE, text_notes
from halluscope.reporting.tables import ROWS, Notes, Report, Table, counted, finite, plain, share
from halluscope.runs import folder as runs
from halluscope.runs import results as tables
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS, FEWEST_MODELS, correlations, undefined
from halluscope.terminal import say, tell

AGREEMENT, ASK, IGNORED = "agreement", "ask", "ignored"


def score(args: Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is scored."""
    benchmark = registry.benchmark(args.name)
    options = common.options_of(args, benchmark)
    if args.out:
        common.check_output(args, args.out)
    ready = common.ready(args, benchmark, options)
    for one in ready:
        tell(scoring.remark(benchmark, one))
    about = {"command": args.words, "dataset": args.dataset}
    how = {"bootstrap": args.bootstrap, "seed": args.seed}
    scored = [
        runs.score(benchmark, one, chosen | how, about, items=bool(args.out or benchmark.judges))
        for one in ready
        for chosen in scoring.variants(benchmark, options)
    ]
    results = [(run.name, tables.with_choices(benchmark, run.scores, run.options)) for run in scored]
    for name, result in results:
        if result["thoughts"]:
            tell(
                f"{one_line(name)}: {result['thoughts']:,} responses contained thoughts (text in <think> or similar "
                "tags), which were removed."
            )
    for run in scored:
        for hint in _hints_of_verdicts(run):
            tell(f"{one_line(run.name)}: {hint}")
    if args.out:
        runs.write(scored, args.out)
        if len(scored) > 1:
            tell(f"`halluscope compare {one_line(args.out)}` compares groups and classes too.")
    if args.published and not (published.of(benchmark, options) or published.computed(benchmark, results)):
        tell(f"No published results are known for {benchmark.title} with these options.")
    if args.format == LINE:
        say(tables.lines(benchmark, results))
        return
    data = None
    if args.format == JSON:
        lines = [*tables.of_printed(benchmark, results), *tables.of_other_rows(results)]
        tell(text_notes([*tables.of_each(benchmark, results, options), *tables.notes(lines)]))
        papers = tables.comparable(benchmark, results, options) if args.published else ()
        data = [{"responses": name, **result} for name, result in (*results, *papers)]
    resampling = Bootstrap(args.bootstrap, args.seed)
    wanted = args.format, args.scores, args.published, args.all
    common.output(args, data, lambda: tables.report(results, scored, options, resampling, *wanted))


def _hints_of_verdicts(run: runs.Run) -> list[str]:
    """Return hints about a judge's verdicts, or those that the user gave; rules give no hint."""
    judges = run.benchmark.judges
    if judges is None or judges.kind != "verdicts":
        return []
    judge = run.options.get(judges.option, judges.default)
    is_given = GIVEN in (run.keys.get("judge"), run.keys.get("correctness"))
    if judge in judges.rules and not is_given:
        return []
    return one_verdict.hints(run.found)


# explain


def options_explain(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark without the options that a protocol settles."""
    return benchmark.without(protocols.load(benchmark).settled)


def parser_explain(parser: ArgumentParser, benchmark: Benchmark) -> None:
    stated = protocols.load(benchmark)
    names = parser._option_string_actions
    known, usual = (", ".join(one.name for one in of) for of in (stated.each, stated.chosen()))
    names["--protocols"].help = f"protocols to compare: {known} (default: {usual})"


def explain(args: Namespace) -> None:
    """Score the same responses under each protocol, and say why the scores differ."""
    benchmark = registry.benchmark(args.name)
    stated = protocols.load(benchmark)
    chosen = stated.chosen(args.protocols)
    if args.examples < 0:
        raise ValueError(f"--examples is {args.examples}; expected 0 or more.")
    options = common.options_of(args, options_explain(benchmark))
    found = Explanation(
        benchmark, stated, chosen, args.responses, args.dataset, options, common.matching_options(args)
    )
    for file in found.files:
        tell(scoring.remark(benchmark, found.ready(found.protocols[0], file)))
    found.compute()
    data = as_json(found, args.examples, args.number)
    common.output(args, data, lambda: explanation_report.report(found, data, args.number))


# ablate. Source: THRONE, supplement, section 1, Table 1. Every vote is asked for once and kept; all values of
# --agreement use the same votes.

Rows = list[dict[str, Any]]


def options_ablate(benchmark: Benchmark) -> Benchmark:
    return benchmark.without((AGREEMENT, ASK))


def parser_ablate(parser: ArgumentParser, benchmark: Benchmark) -> None:
    (agreement,) = (option for option in benchmark.options if option.name == AGREEMENT)
    parser.add_argument(
        "--agreement",
        nargs="+",
        required=True,
        type=agreement.type,
        metavar="K",
        help="how many votes must agree: unanimous, majority, or a number; each value gets a row",
    )


def ablate(args: Namespace) -> None:
    """Show how scores change with the number of votes that must agree."""
    benchmark = registry.benchmark(args.name)
    options = common.options_of(args, options_ablate(benchmark)) | {ASK: "all"}
    if twice := [k for k in args.agreement if args.agreement.count(k) > 1]:
        raise ValueError(f"--agreement names {twice[0]} twice; expected each number of votes once.")
    ready = common.ready(args, benchmark, options)
    rows: Rows = [
        {"responses": one.matched.name, AGREEMENT: k}
        | scoring.compute(benchmark, one, options | {AGREEMENT: k})
        for one in ready
        for k in args.agreement
    ]
    scores = [name for name in benchmark.scores if all(name in row for row in rows)]
    alike = _alike(rows, args.agreement, scores)
    columns = [*scores, IGNORED]
    cells = [
        [name, str(row[AGREEMENT]), row[ROWS], *(share(row[column]) for column in columns)]
        for name, row in counted([(row["responses"], row) for row in rows])
    ]
    likeness = [
        [" and ".join(map(str, row["agreements"])), row["score"], *(plain(row[one]) for one in COEFFICIENTS)]
        for row in alike
    ]
    too_few = (
        f"There are {len(ready)} files of responses; a correlation between agreements needs at least "
        f"{FEWEST_MODELS}, with scores that differ."
    )
    report: Report = [
        Table("scores", ["responses", "k", ROWS, *columns], cells, left=2),
        Table("correlations", ["k", "score", *COEFFICIENTS], likeness, left=2) if alike else Notes([too_few]),
        *(Notes([f"signature: {row['signature']}"], f"{row['responses']}, {row[AGREEMENT]}") for row in rows),
    ]
    common.output(args, {"results": rows, "correlations": alike}, lambda: report)


def _alike(rows: Rows, agreements: Sequence[Any], scores: Sequence[str]) -> Rows:
    """Return how similarly each two values of --agreement rank the models."""
    alike = []
    for pair in combinations(agreements, 2):
        for score in scores:
            first, second = ([row[score] for row in rows if row[AGREEMENT] == k] for k in pair)
            defined = len(first) >= FEWEST_MODELS and finite([first, second]) == [first, second]
            if defined and not undefined(first, second):
                coefficients = correlations(first, second, Bootstrap())
                values = {name: each["value"] for name, each in coefficients.items()}
                alike.append({"agreements": [*pair], "score": score, **values})
    return alike
