"""Commands that test a benchmark: by a second run, by another benchmark, by questions in other words.

The files of `reliability` and `correlate` hold what `halluscope score NAME ... --json` printed for the same models. In
a second run the models responded again (`answer --sample --seed N`), or a judge judged again (`score --seed N`, or
`--fresh`).
"""

import argparse
import warnings
from contextlib import ExitStack
from itertools import permutations
from typing import Any

from halluscope import registry
from halluscope.cli import common
from halluscope.errors import OutputError
from halluscope.files.opening import same
from halluscope.files.writing import check_new, real
from halluscope.reading.datasets import read_rows, without_pictures
from halluscope.registry import LOWER
from halluscope.reliability import hqm
from halluscope.reliability import parallel as forms
from halluscope.reliability.hqm import AGREE, CONTENT, CRITERION, DISAGREE, PARALLEL, RETEST
from halluscope.reliability.sheet import VALID, read_sheet
from halluscope.reporting.formats import aligned
from halluscope.reporting.results import read_results
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line, short_repr
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS
from halluscope.terminal import is_quiet, say, tell


def reliability(given: argparse.Namespace) -> None:
    """Measure how reliable a benchmark is, in the columns of HQM's Table I."""
    first = read_results(given.first)
    benchmark = hqm.benchmark_of(first)
    by = given.by or benchmark.principal
    # people's score that is better in the same direction
    human = given.criterion_by or (DISAGREE if hqm.direction(first, by) == LOWER else AGREE)
    files = {RETEST: given.retest, PARALLEL: given.parallel, CRITERION: given.criterion}
    others = {name: read_results(path) for name, path in files.items() if path}
    if not others and not given.content:
        raise ValueError("Nothing to compare with; name --retest, --parallel, --criterion or --content.")
    if given.scores and not given.parallel:
        raise ValueError(
            "--scores names scores in both forms of the questions; expected --parallel beside it."
        )
    resampling = Bootstrap(given.bootstrap, given.seed)
    found = {
        name: hqm.measure(name, first, second, by, human if name == CRITERION else by, resampling)
        for name, second in others.items()
    }
    if given.content:
        sheet = read_sheet(given.content)
        sheet.check(VALID)
        found[CONTENT] = hqm.content(sheet.ones(), sheet.strata())
    pair = (first, others[PARALLEL]) if PARALLEL in others else None
    data = {"benchmark": benchmark.name, "by": by, **found}
    common.output(given, data, lambda: hqm.report(data, pair, given.published, given.scores))


def correlate(options: argparse.Namespace) -> None:
    """Tell whether two benchmarks rank the same models alike."""
    if len(options.by) > 2:
        raise ValueError(
            f"--by names {len(options.by)} scores; expected one, or one for each of the two files."
        )
    by = (options.by[0], options.by[-1])
    first, second = read_results(options.first), read_results(options.second)
    if unknown := {*options.leave_out} - first.keys():
        raise ValueError(f"--leave-out names {short_repr(min(unknown))}, which is not in {options.first}.")
    if same(options.first) == same(options.second) and by[0] == by[1]:
        warnings.warn("Both files are the same: scores always agree with themselves.", stacklevel=2)
    resampling = Bootstrap(options.bootstrap, options.seed)
    found = hqm.correlate(first, second, by, options.leave_out, resampling)
    if options.json:
        say(to_json(found))
        return
    rows = [[name, *(f"{value:.3f}" for value in found[name].values())] for name in COEFFICIENTS]
    say(f"{len(found['models'])} models in both: {', '.join(map(one_line, found['models']))}\n")
    say(aligned(rows, ["", "correlation", "low", "high"], left=4))
    if found["turned"]:
        say(f"\nthe sign of {by[1]} is reversed: its better direction is opposite to that of {by[0]}")
    chance = f"probability of a Pearson correlation this strong by chance: {found['chance']:.3f}"
    say(f"\n{found['undefined'] or chance}\nsignature: {found['signature']}")


def parallel(options: argparse.Namespace) -> None:
    """Reword a benchmark's questions, to test the benchmark with them."""
    from halluscope.reliability.review import rejected

    outs = [out for out in (options.out, options.first) if out]
    for out in outs:
        check_new(out)
    if any(one in (other, *other.parents) for one, other in permutations(map(real, outs), 2)):
        raise OutputError(
            f"{outs[0]} and {outs[1]} are the same place, or one is inside the other; name two separate places."
        )
    rows = read_rows(options.source)
    plain = without_pictures(rows)
    form = _form(plain, options)
    if options.marks is not None:
        sheet = read_sheet(options.marks, allow_unmarked=True)
        form.leave_out(rejected(form.rows, sheet), sheet.name)
    for reason, indices in form.refused.items():
        tell(f"no parallel form: {len(indices):,} rows, since {reason}; such as row {indices[0]}")
    if not form.rows:
        raise ValueError(f"No row of {options.source} has a parallel form: {', '.join(form.refused)}.")
    with ExitStack() as together:
        forms.write(form.rows, rows, form, options.out, together)
        if options.first:
            forms.write([plain[index] for index in form.originals], rows, form, options.first, together)
    done = ", ".join(f"{count:,} {how}" for how, count in form.how.items())
    refused = sum(map(len, form.refused.values()))
    say(
        f"{options.out}: {len(form.rows):,} of {len(rows):,} rows: {done}; {refused:,} without a parallel form"
    )


def _form(rows: Any, options: argparse.Namespace) -> forms.ParallelForm:
    columns = [*rows[0]] if len(rows) else []
    room = next((room for room in registry.rooms() if room.dataset(columns)), None)
    subject = getattr(room.module("rows") if room else None, "subject", forms.unknown)
    if options.model is None:
        if options.check is not None:
            raise ValueError(
                "--check needs --model: only a model's wordings are checked, not those of rules."
            )
        return forms.parallel_form(rows, options.seed, subject=subject)
    from halluscope.judging.cache import Cache
    from halluscope.judging.resolve import resolve_chat
    from halluscope.reliability.parallel.paraphrasing import name_of, paraphrase

    names = [name for name in (options.model, options.check) if name is not None]
    models = [resolve_chat(name, device=options.device, structured=False) for name in names]
    questions, store = forms.free_questions(rows), Cache(options.store)
    wordings = paraphrase(questions, *models, seed=options.seed, store=store, progress=not is_quiet())
    return forms.parallel_form(rows, options.seed, wordings, name_of(*models), subject)
