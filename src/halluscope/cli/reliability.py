"""Commands that test a benchmark: by a second run, by another benchmark, by questions in other words.

`reliability` and `correlate` take runs, or what `halluscope score NAME ... --json` printed, of the same models. In a
second run the models responded again (`answer --sample --seed N`), or a judge judged again (`score --seed N`, or
`--fresh`).
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.benchmark import LOWER
from halluscope.cli import common
from halluscope.errors import OutputError
from halluscope.files.opening import file_key
from halluscope.files.writing import check_new, real
from halluscope.judging.cache import Cache
from halluscope.reading.datasets import read_rows, without_pictures
from halluscope.reliability import hqm
from halluscope.reliability import parallel as forms
from halluscope.reliability.hqm import AGREE, CONTENT, CRITERION, DISAGREE, PARALLEL, RETEST
from halluscope.reliability.review import rejected
from halluscope.reliability.sheet import VALID, read_sheet
from halluscope.reporting.result_files import read_results
from halluscope.runs.folder import SCORES, checked
from halluscope.sanitize import short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.terminal import is_quiet, say, tell


def _results(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return results by their models' names: of a run, of a folder of runs, or of a file."""
    folder = path.parent if path.name == SCORES else path
    if not folder.is_dir():
        return read_results(path)
    return {name: {"responses": name, **run.scores} for name, run in checked([folder]).items()}


def reliability(args: argparse.Namespace) -> None:
    """Measure how reliable a benchmark is, in the columns of HQM's Table I."""
    first = _results(args.first)
    benchmark = hqm.benchmark_of(first)
    if benchmark is None:
        raise ValueError(
            f"{args.first} holds results of no benchmark, or of several; expected one benchmark."
        )
    by = args.by or benchmark.principal
    # people's score that is better in the same direction
    human = args.criterion_by or (DISAGREE if benchmark.better(by) == LOWER else AGREE)
    files = {RETEST: args.retest, PARALLEL: args.parallel, CRITERION: args.criterion}
    others = {name: _results(path) for name, path in files.items() if path}
    if not others and not args.content:
        raise ValueError("Nothing to compare with; name --retest, --parallel, --criterion or --content.")
    if args.scores and not args.parallel:
        raise ValueError(
            "--scores names scores in both forms of the questions; expected --parallel beside it."
        )
    resampling = Bootstrap(args.bootstrap, args.seed)
    data = {"benchmark": benchmark.name, "by": by} | {
        name: hqm.measure(name, first, second, by, human if name == CRITERION else by, resampling)
        for name, second in others.items()
    }
    if args.content:
        sheet = read_sheet(args.content)
        sheet.check(VALID)
        data[CONTENT] = hqm.content(sheet.ones(), sheet.strata())
    forms = [hqm.table_of_forms(first, others[PARALLEL], by, args.scores)] if args.parallel else []
    common.output(args, data, lambda: [*hqm.report(data, args.published), *forms])


def correlate(args: argparse.Namespace) -> None:
    """Tell whether two benchmarks rank the same models alike."""
    if len(args.by) > 2:
        raise ValueError(f"--by names {len(args.by)} scores; expected one, or one for each of the two files.")
    first, second = _results(args.first), _results(args.second)
    by = (args.by[0], args.by[-1]) if args.by else hqm.principal_scores(first, second)
    if unknown := {*args.leave_out} - first.keys():
        raise ValueError(f"--leave-out names {short_repr(min(unknown))}, which is not in {args.first}.")
    if file_key(args.first) == file_key(args.second) and by[0] == by[1]:
        warnings.warn("Both files are the same: scores always agree with themselves.", stacklevel=2)
    found = hqm.correlate(first, second, by, args.leave_out, Bootstrap(args.bootstrap, args.seed))
    common.output(args, found, lambda: hqm.correlation_report(found, by))


def parallel(args: argparse.Namespace) -> None:
    """Reword a benchmark's questions, to test the benchmark with them."""
    outs = [out for out in (args.out, args.first) if out]
    for out in outs:
        check_new(out)
    if any(one in (other, *other.parents) for one, other in permutations(map(real, outs), 2)):
        raise OutputError(
            f"{outs[0]} and {outs[1]} are the same place, or one is inside the other; name two separate places."
        )
    rows = read_rows(args.source)
    plain = without_pictures(rows)
    form = _form(plain, args)
    if args.marks:
        sheet = read_sheet(args.marks, allow_unmarked=True)
        form.leave_out(rejected(form.rows, sheet), sheet.name)
    for reason, indices in form.refused.items():
        tell(f"no parallel form: {len(indices):,} rows, since {reason}; such as row {min(indices)}")
    if not form.rows:
        raise ValueError(f"No row of {args.source} has a parallel form: {', '.join(form.refused)}.")
    with ExitStack() as together:
        forms.write(form.rows, rows, form.originals, args.out, together)
        if args.first:
            originals = [plain[index] for index in form.originals]
            forms.write(originals, rows, form.originals, args.first, together)
    done = ", ".join(f"{count:,} {method}" for method, count in Counter(form.methods).items())
    refused = len(rows) - len(form.rows)
    say(f"{args.out}: {len(form.rows):,} of {len(rows):,} rows: {done}; {refused:,} without a parallel form")


def _form(rows: Any, args: argparse.Namespace) -> forms.ParallelForm:
    known = next((one for one in registry.records() if one.dataset([*rows[0]])), None)
    subject = getattr(known.module("rows") if known else None, "subject", forms.unknown)
    if args.check and not args.model:
        raise ValueError("--check needs --model: only a model's wordings are checked, not those of rules.")
    wordings, by = None, ""
    if args.model:
        from halluscope.judging.resolve import resolve_chat
        from halluscope.reliability.parallel.paraphrasing import name_of, paraphrase

        names = filter(None, (args.model, args.check))
        models = [resolve_chat(name, device=args.device, structured=False) for name in names]
        questions, store = forms.free_questions(rows), Cache(args.store)
        wordings = paraphrase(questions, *models, seed=args.seed, store=store, progress=not is_quiet())
        by = name_of(*models)
    return forms.parallel_form(rows, args.seed, wordings, by, subject)
