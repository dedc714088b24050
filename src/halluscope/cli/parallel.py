"""`halluscope parallel SOURCE --out OUT`: rewords a benchmark's questions, to test the benchmark with them."""

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.arguments import whole
from halluscope.errors import OutputError
from halluscope.files.writing import check_new, json_line, new_file, new_folder, real
from halluscope.reading.rows import picture_columns, read_rows, without_pictures
from halluscope.reliability.parallel import ParallelForm, Row, free_questions, parallel_form, unknown
from halluscope.reliability.parallel.paraphrasing import name_of, paraphrase
from halluscope.reliability.review.marked import rejected
from halluscope.reliability.review.sheet import read_sheet
from halluscope.terminal import is_quiet, say, tell

LINES = ".jsonl"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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
    """Make the parallel form, write it, and say which rows have none."""
    outs = [out for out in (options.out, options.first) if out]
    _check(outs)
    rows = read_rows(options.source)
    form = _marked(_form(without_pictures(rows), options), options)
    for reason, places in form.refused.items():
        tell(f"no parallel form: {len(places):,} rows, since {reason}; such as row {places[0]}")
    if not form.rows:
        raise ValueError(f"No row of {options.source} has a parallel form: {', '.join(form.refused)}.")
    with ExitStack() as together:
        _write(form.rows, rows, form, options.out, together)
        if options.first:
            kept = without_pictures(rows)
            _write([kept[place] for place in form.kept], rows, form, options.first, together)
    done = ", ".join(f"{count:,} {how}" for how, count in form.how.items())
    refused = sum(map(len, form.refused.values()))
    say(
        f"{options.out}: {len(form.rows):,} of {len(rows):,} rows: {done}; {refused:,} without a parallel form"
    )


def _form(rows: Any, options: argparse.Namespace) -> ParallelForm:
    """Make the parallel form by rules alone, or in a model's words."""
    if options.model is None:
        if options.check is not None:
            raise ValueError(
                "--check needs --model: only a model's wordings are checked, not those of rules."
            )
        return parallel_form(rows, options.seed, subject=_subject(rows))
    from halluscope.judging.graders.resolve import resolve_chat
    from halluscope.judging.store import AnswerStore

    model = resolve_chat(options.model, device=options.device, structured=False)
    check = None
    if options.check is not None:
        check = resolve_chat(options.check, device=options.device, structured=False)
    questions, store = free_questions(rows), AnswerStore(options.store)
    said = paraphrase(questions, model, check, seed=options.seed, store=store, progress=not is_quiet())
    return parallel_form(rows, options.seed, said, name_of(model, check), _subject(rows))


def _subject(rows: Any) -> Callable[[Row], str]:
    """Return the function by which the rows' benchmark finds what a question is about."""
    columns = list(rows[0]) if len(rows) else []
    room = next((room for room in registry.rooms() if room.dataset(columns)), None)
    return getattr(room.module("rows"), "subject", unknown) if room else unknown


def _marked(form: ParallelForm, options: argparse.Namespace) -> ParallelForm:
    """Return the form without the rows that people did not mark valid."""
    if options.marks is None:
        return form
    sheet = read_sheet(options.marks, allow_unmarked=True)
    return form.without(rejected(form.rows, sheet), sheet.name)


def _check(outs: Sequence[Path]) -> None:
    """Check that no output is there yet, and that the two do not overlap.

    Raises:
        OutputError: if one is there, or they overlap.
        OSError: if one cannot be written.
    """
    for out in outs:
        if os.path.lexists(out):
            raise OutputError(f"{out} is there already; name another place, or remove it.")
        check_new(out)
    if any(one in (other, *other.parents) for one, other in permutations(map(real, outs), 2)):
        raise OutputError(
            f"{outs[0]} and {outs[1]} are the same place, or one is inside the other; name two separate places."
        )


def _write(
    changed: list[dict[str, Any]], rows: Any, form: ParallelForm, out: Path, together: ExitStack
) -> None:
    """Write JSON lines, or Parquet with the images of the original rows; the output appears when `together` ends."""
    if out.suffix == LINES:
        file = together.enter_context(new_file(out))
        file.writelines(map(json_line, changed))
        file.flush()
        return
    import datasets

    pictures = picture_columns(rows)
    features = None if isinstance(rows, list) else without_pictures(rows).features.copy()
    if features is not None:
        for added in set(changed[0]) - set(features):
            features[added] = datasets.Value("string")
    table = datasets.Dataset.from_list(changed, features=features)
    if pictures:
        shown = rows.select_columns(pictures).select(form.kept)
        table = datasets.concatenate_datasets([table, shown], axis=1)
        for column in pictures:
            table = table.cast_column(column, datasets.Image())
    split = "test" if isinstance(rows, list) else str(rows.split or "test")
    data = together.enter_context(new_folder(out)) / "data"
    data.mkdir()
    table.to_parquet(data / f"{split}-00000-of-00001.parquet")
