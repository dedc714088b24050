"""Commands that test a benchmark: by a second run, by another benchmark, by questions in other words.

`reliability` and `correlate` take runs, or what `halluscope score NAME ... --json` printed, of the same models. In a
second run the models responded again (`answer --sample --seed N`), or a judge judged again (`score --seed N`, or
`--fresh`).
"""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from halluscope import registry
from halluscope.benchmark import LOWER, Benchmark
from halluscope.cli.parameters import OUTPUT, File, Resampling, Scores, Whole
from halluscope.cli.printing import Output
from halluscope.errors import OutputError
from halluscope.files.opening import file_key
from halluscope.files.writing import check_new, real
from halluscope.judging.cache import Cache
from halluscope.judging.verdicts import RUN
from halluscope.reading.datasets import Source, configs, read_rows, without_pictures
from halluscope.reporting.result_files import read_results
from halluscope.runs.folder import SCORES, checked
from halluscope.sanitize import short_repr
from halluscope.stats.indicators import CONTENT, CRITERION, PARALLEL, RETEST, content_validity
from halluscope.studies import hqm
from halluscope.studies.hqm import AGREE, DISAGREE
from halluscope.studies.marked_sheet import read_sheet
from halluscope.studies.marks import rejected
from halluscope.studies.parallel import form as forms
from halluscope.studies.sheet import VALID
from halluscope.terminal import is_quiet, say, tell


def read(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return results by their models' names: of a run, of a folder of runs, or of a file."""
    folder = path
    is_file_of_run = path.name == SCORES and (path.parent / RUN).is_file()
    if is_file_of_run:
        folder = path.parent
    if not folder.is_dir():
        return read_results(path)
    results = {}
    for name, run in checked([folder]).items():
        results[name] = {"responses": name, **run.scores}
    return results


def reliability(
    first: File,
    /,
    *,
    retest: File | None = None,
    parallel: File | None = None,
    criterion: File | None = None,
    content: Annotated[File | None, Parameter(metavar="SHEET")] = None,
    scores: Scores = (),
    criterion_score: Annotated[str | None, Parameter(metavar="SCORE")] = None,
    published: Annotated[bool, Parameter(group=OUTPUT)] = False,
    resampling: Resampling = Resampling(),
    output: Output = Output(),
) -> None:
    """Measure how reliable a benchmark is, in the columns of HQM's Table I.

    Args:
        first: runs of three models or more (a folder), or what `halluscope score ... --json` printed
        retest: the same for a second run with other seeds
        parallel: the same for the parallel form
        criterion: the models' scores by people, as `study sheet read --json` prints them
        content: a marked sheet of questions and right answers
        scores: the score that is compared (default: the benchmark's principal one); with --parallel further ones,
            which are shown in both forms (default: the share of yes)
        criterion_score: the score in --criterion (default: agree; disagree if lower is better for the score that is
            compared); if higher is better for one of the two and lower for the other, the sign of one is reversed
        published: show the paper's results too (Table I)
    """
    results = read(first)
    benchmark = hqm.benchmark_of(results)
    if benchmark is None:
        raise ValueError(f"{first} holds results of no benchmark, or of several; expected one benchmark.")
    compared = benchmark.principal
    if scores:
        compared = scores[0]
    files = {RETEST: retest, PARALLEL: parallel, CRITERION: criterion}
    tests = {name: read(path) for name, path in files.items() if path}
    if not tests and not content:
        raise ValueError("Nothing to compare with; name --retest, --parallel, --criterion or --content.")
    if len(scores) > 1 and not parallel:
        raise ValueError(
            f"--scores names {len(scores)} scores; expected one, or --parallel, in whose form the others are shown."
        )
    bootstrap = resampling.bootstrapped()
    data: dict[str, Any] = {"benchmark": benchmark.name, "by": compared}
    for name, second in tests.items():
        score_in_second = compared
        if name == CRITERION:
            score_in_second = criterion_score or human_score(benchmark, compared)
        data[name] = hqm.measure(name, results, second, compared, score_in_second, resampling=bootstrap)
    if content:
        sheet = read_sheet(content)
        sheet.check(VALID)
        data[CONTENT] = content_validity(sheet.ones(), sheet.strata())
    report = hqm.report(data, published)
    if parallel:
        columns = list(scores) if len(scores) > 1 else []
        report.append(hqm.table_of_forms(results, tests[PARALLEL], compared, columns))
    output.show(data, lambda: report)


def human_score(benchmark: Benchmark, score: str) -> str:
    """Return people's score that is better in the same direction."""
    if benchmark.better(score) == LOWER:
        return DISAGREE
    return AGREE


def correlate(
    first: File,
    second: File,
    /,
    *,
    scores: Scores = (),
    leave_out: Annotated[Sequence[str], Parameter(metavar="MODEL...")] = (),
    resampling: Resampling = Resampling(),
    output: Output = Output(),
) -> None:
    """Tell whether two benchmarks rank the same models alike.

    Args:
        first: several models' runs (a folder), or what `halluscope score ... --json` printed
        second: the same for another benchmark; models are matched by name
        scores: the score, or one per file (default: each benchmark's principal score)
        leave_out: models to leave out
    """
    if len(scores) > 2:
        raise ValueError(
            f"--scores names {len(scores)} scores; expected one, or one for each of the two files."
        )
    ours = read(first)
    theirs = read(second)
    compared = (scores[0], scores[-1]) if scores else hqm.principal_scores(ours, theirs)
    for model in leave_out:
        if model not in ours:
            raise ValueError(f"--leave-out names {short_repr(model)}, which is not in {first}.")
    if file_key(first) == file_key(second) and compared[0] == compared[1]:
        warnings.warn("Both files are the same: scores always agree with themselves.", stacklevel=2)
    correlation = hqm.correlate(ours, theirs, compared, leave_out, resampling.bootstrapped())
    output.show(correlation, lambda: hqm.correlation_report(correlation, compared))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Rewording:
    """How questions are reworded: by rules, or by a model."""

    model: Annotated[
        str | None,
        Parameter(
            metavar="MODEL",
            help="the model that rewords free-form questions, instead of rules: openai:MODEL[@BASE_URL] (extra api), "
            "or a local model (extra judge)",
        ),
    ] = None
    check: Annotated[
        str | None, Parameter(metavar="MODEL", help="the model that says whether a rewording asks the same")
    ] = None
    seed: Annotated[Whole, Parameter(help="seed that chooses wordings and orders (default: 0)")] = 0
    device: Annotated[
        str | None, Parameter(metavar="DEVICE", help="where local models run (default: a GPU if any)")
    ] = None
    store: Annotated[
        str | None,
        Parameter(metavar="FILE", help="where the models' replies are kept (default: the user's cache)"),
    ] = None


def parallel(
    source: str,
    /,
    *,
    out: File,
    first: Annotated[File | None, Parameter(metavar="OUT")] = None,
    marks: Annotated[File | None, Parameter(metavar="SHEET")] = None,
    rewording: Rewording = Rewording(),
) -> None:
    """Reword a benchmark's questions, to test the benchmark with them.

    Args:
        source: JSON lines, a .parquet file, or a dataset (folder or Hub id; name:config)
        out: write the form here: to a .jsonl file (without images), or to a folder for load_dataset
        first: also write the original rows that have a parallel form
        marks: keep only the rows that people marked valid on this sheet, made of the form by `study sheet make`
    """
    check_new(out)
    if first:
        check_new(first)
        check_apart(out, first)
    rows = read_rows(source)
    _tell_config(source)
    plain = without_pictures(rows)
    form = _form(plain, rewording)
    if marks:
        sheet = read_sheet(marks, allow_unmarked=True)
        form.leave_out(rejected(form.rows, sheet), sheet.name)
    for reason, indices in form.refused.items():
        tell(f"no parallel form: {len(indices):,} rows, since {reason}; such as row {min(indices)}")
    if not form.rows:
        raise ValueError(f"No row of {source} has a parallel form: {', '.join(form.refused)}.")
    with ExitStack() as together:
        forms.write(form.rows, rows, form.originals, out, together)
        if first:
            originals = [plain[index] for index in form.originals]
            forms.write(originals, rows, form.originals, first, together)
    done = ", ".join(f"{count:,} {method}" for method, count in Counter(form.methods).items())
    refused = len(rows) - len(form.rows)
    say(f"{out}: {len(form.rows):,} of {len(rows):,} rows: {done}; {refused:,} without a parallel form")


def _tell_config(source: str) -> None:
    """Say which of a dataset's configs is taken if none is named."""
    written = Source.of(source)
    if written.config or not written.path.is_dir():
        return
    names = configs(source)
    if len(names) > 1:
        tell(
            f"{source} has the configs {', '.join(names)}; {names[0]} is reworded. Name another: {source}:{names[1]}."
        )


def check_apart(path: Path, other: Path) -> None:
    """Check that neither of two places is the other, or inside it."""
    place = real(path)
    other_place = real(other)
    if place == other_place or place in other_place.parents or other_place in place.parents:
        raise OutputError(
            f"{path} and {other} are the same place, or one is inside the other; name two separate places."
        )


def _form(rows: Any, rewording: Rewording) -> forms.ParallelForm:
    """Return the parallel form of rows, made by rules or by a model."""
    if rewording.check and not rewording.model:
        raise ValueError("--check needs --model: only a model's wordings are checked, not those of rules.")
    subject = forms.unknown
    for benchmark in registry.benchmarks():
        if benchmark.dataset(list(rows[0])):
            subject = getattr(benchmark.module("rows"), "subject", forms.unknown)
            break
    if not rewording.model:
        return forms.parallel_form(rows, rewording.seed, None, "", subject)

    from halluscope.judging.resolve import resolve_chat
    from halluscope.studies.parallel.paraphrasing import name_of, paraphrase

    model = resolve_chat(rewording.model, device=rewording.device, structured=False)
    check = None
    if rewording.check:
        check = resolve_chat(rewording.check, device=rewording.device, structured=False)
    wordings = paraphrase(
        forms.free_questions(rows),
        model,
        check,
        seed=rewording.seed,
        store=Cache(rewording.store),
        progress=not is_quiet(),
    )
    return forms.parallel_form(rows, rewording.seed, wordings, name_of(model, check), subject)
