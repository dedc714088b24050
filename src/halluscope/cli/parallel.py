"""`halluscope parallel SOURCE --out OUT`: rewords a benchmark's questions, to test the benchmark with them."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.arguments import whole
from halluscope.errors import OutputError
from halluscope.files.writing import check_new, check_no_folder, real
from halluscope.reading.datasets import read_rows, without_pictures
from halluscope.reliability.parallel import (
    LINES,
    ParallelForm,
    Row,
    free_questions,
    parallel_form,
    unknown,
    write,
)
from halluscope.reliability.parallel.paraphrasing import name_of, paraphrase
from halluscope.reliability.review import rejected
from halluscope.reliability.sheet import read_sheet
from halluscope.terminal import is_quiet, say, tell


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    option = parser.add_argument
    option("source", help="JSON lines, a .parquet file, or a dataset (folder or Hub id; name:config)")
    option(
        "--out",
        required=True,
        type=Path,
        help="write the form here: to a .jsonl file (without images), or to a folder for load_dataset",
    )
    option("--first", type=Path, metavar="OUT", help="also write the original rows that have a parallel form")
    option("--seed", type=whole, default=0, help="seed that chooses wordings and orders (default: 0)")
    option(
        "--model",
        help="the model that rewords free-form questions, instead of rules: openai:MODEL[@BASE_URL] (extra api), or a "
        "local model (extra judge)",
    )
    option("--check", metavar="MODEL", help="the model that says whether a rewording asks the same")
    option(
        "--marks",
        type=Path,
        metavar="SHEET",
        help="keep only the rows that people marked valid on this sheet, made of the form by `halluscope review make`",
    )
    option("--device", help="where local models run (default: a GPU if any)")
    option("--store", metavar="FILE", help="where the models' replies are kept (default: the user's cache)")


def run(options: argparse.Namespace) -> None:
    _check([out for out in (options.out, options.first) if out])
    rows = read_rows(options.source)
    plain = without_pictures(rows)
    form = _form(plain, options)
    if options.marks is not None:
        sheet = read_sheet(options.marks, allow_unmarked=True)
        form = form.without(rejected(form.rows, sheet), sheet.name)
    for reason, indices in form.refused.items():
        tell(f"no parallel form: {len(indices):,} rows, since {reason}; such as row {indices[0]}")
    if not form.rows:
        raise ValueError(f"No row of {options.source} has a parallel form: {', '.join(form.refused)}.")
    with ExitStack() as together:
        write(form.rows, rows, form, options.out, together)
        if options.first:
            write([plain[index] for index in form.originals], rows, form, options.first, together)
    done = ", ".join(f"{count:,} {how}" for how, count in form.how.items())
    refused = sum(map(len, form.refused.values()))
    say(
        f"{options.out}: {len(form.rows):,} of {len(rows):,} rows: {done}; {refused:,} without a parallel form"
    )


def _form(rows: Any, options: argparse.Namespace) -> ParallelForm:
    if options.model is None:
        if options.check is not None:
            raise ValueError(
                "--check needs --model: only a model's wordings are checked, not those of rules."
            )
        return parallel_form(rows, options.seed, subject=_subject(rows))
    from halluscope.judging.cache import Cache
    from halluscope.judging.resolve import resolve_chat

    models = [
        resolve_chat(name, device=options.device, structured=False)
        for name in (options.model, options.check)
        if name is not None
    ]
    questions, store = free_questions(rows), Cache(options.store)
    wordings = paraphrase(questions, *models, seed=options.seed, store=store, progress=not is_quiet())
    return parallel_form(rows, options.seed, wordings, name_of(*models), _subject(rows))


def _subject(rows: Any) -> Callable[[Row], str]:
    columns = list(rows[0]) if len(rows) else []
    room = next((room for room in registry.rooms() if room.dataset(columns)), None)
    return getattr(room.module("rows"), "subject", unknown) if room else unknown


def _check(outs: Sequence[Path]) -> None:
    for out in outs:
        if out.suffix != LINES:
            check_no_folder(out)
        check_new(out)
    if any(one in (other, *other.parents) for one, other in permutations(map(real, outs), 2)):
        raise OutputError(
            f"{outs[0]} and {outs[1]} are the same place, or one is inside the other; name two separate places."
        )
