"""`halluscope score pope`: yes/no answers about objects against what is in the images."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from halluscope import report
from halluscope.cli import common
from halluscope.metrics import pope
from halluscope.records.files import plain_name
from halluscope.records.object_questions import SAMPLINGS, ObjectQuestion
from halluscope.records.question_answers import match, read_answers, read_questions
from halluscope.replies import PARSERS

ALL = "all"
COLUMNS = {
    "accuracy": "accuracy",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "yes_ratio": "yes",
    "unparsed": "unparsed",
}
"""Figures, and their names in a table; beside them stands the mean of the samplings' F1, which LLaVA reports."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    what = "JSON lines with the LVLM's reply as response, answer or text, and question_id"
    common.add_files(parser, what, ("pope", "pope_c"))
    option = parser.add_argument
    option(
        "--questions",
        nargs="+",
        required=True,
        metavar="SOURCE",
        help="POPE's question files, or a dataset (name:config picks a config)",
    )
    option("--sampling", choices=SAMPLINGS, help="score only the questions of this sampling")
    option(
        "--parser",
        default="pope",
        choices=[*PARSERS, ALL],
        help="how a reply is read (default: pope, the official rule); all shows a row for each",
    )
    option("--per-class", action="store_true", help="also a table of the classes")
    common.add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Score one or more files of answers; all are read and matched before the first is scored."""
    questions = _questions(options.questions, options.sampling)
    replies: dict[str, list[str]] = {}
    files, read = common.files(options)
    for file in map(Path, files):
        answers = read_answers(file, read)
        if options.sampling:
            answers = [a for a in answers if a[1].get("sampling", options.sampling) == options.sampling]
        texts, matched = match(answers, questions)
        if matched == "order":
            print(f"{file}: no question_id, so the answers are matched by their order.", file=sys.stderr)
        replies[str(file)] = texts
    parsers = list(PARSERS) if options.parser == ALL else [options.parser]
    results = [
        (
            plain_name(Path(file)),
            parser,
            _score(texts, questions, parser, options),
        )
        for file, texts in replies.items()
        for parser in parsers
    ]
    if options.json:
        print(report.to_json([(name, {"parser": parser} | result) for name, parser, result in results]))
        return
    print(_table(results, options.style, pooled_only=options.parser == ALL))
    for name, parser, result in results:
        print(f"\n{name}, {parser}\n  signature: {result['signature']}")
        if options.per_class:
            print(report.class_table(result, options.style))


def _questions(sources: Sequence[str], sampling: str | None) -> list[ObjectQuestion]:
    """The questions of all sources, or those of one sampling."""
    questions = [question for source in sources for question in read_questions(source)]
    kept = [question for question in questions if sampling in (None, question.sampling)]
    if not kept:
        raise ValueError(f"{', '.join(sources)}: there is no question of the sampling {sampling!r}.")
    return kept


def _score(
    texts: Sequence[str], questions: Sequence[ObjectQuestion], parser: str, options: argparse.Namespace
) -> dict[str, Any]:
    sampled = all(question.sampling for question in questions)
    return pope.compute(
        texts,
        [question.answer for question in questions],
        parser=parser,
        objects=[question.object for question in questions],
        sampling=[question.sampling for question in questions] if sampled else None,
        image_ids=[question.file_name or question.image_id for question in questions],
        bootstrap=options.bootstrap,
        seed=options.seed,
        per_class=options.per_class,
    )


def _table(results: Sequence[tuple[str, str, dict[str, Any]]], style: str, pooled_only: bool) -> str:
    """A row for each sampling and one for all questions, in percent."""
    rows = []
    for name, parser, result in results:
        intervals = result.get("interval", {})
        for sampling, figures in ({} if pooled_only else result.get("samplings", {})).items():
            of_sampling = intervals.get("samplings", {}).get(sampling, {})
            rows.append([name, parser, sampling, *_row(figures, of_sampling)])
        rows.append([name, parser, "pooled", *_row(result, intervals)])
    header = ["responses", "parser", "sampling", "questions", *COLUMNS.values(), "F1 interval", "mean F1"]
    align = ["left"] * 3 + ["right"] * (len(header) - 3)
    return tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=align)


def _row(figures: Mapping[str, Any], intervals: Mapping[str, Any]) -> list[Any]:
    return [
        figures["rows"],
        *(report.percent(figures[column]) for column in COLUMNS),
        " to ".join(map(report.percent, intervals.get("f1", ()))),
        report.percent(figures["f1_mean"]) if "f1_mean" in figures else "",
    ]
