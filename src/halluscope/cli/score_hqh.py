"""`halluscope score hqh`: answers to free-form questions."""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope import published
from halluscope.cli import common
from halluscope.metrics import hqh
from halluscope.records.files import Read, plain_name
from halluscope.records.free_questions import FreeQuestion, read_judgements, read_questions, read_replies
from halluscope.report import Named, group_table, percent, table, to_json

NAME = "hqh"
COLUMNS = {
    "main_hal/object": "object",
    "main_hal/attribute": "attribute",
    "main_hal/scene": "scene",
    "main_hal": "main",
    "extra_hal": "extra, number",
    "overall_hal": "overall",
}
"""The columns of Table IV, and how they are headed here."""

PLAIN = ("extra_hal",)
"""What is a number of claims."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    common.add_files(parser, "JSON lines with id and the LVLM's text as response, answer or text", [NAME])
    option = parser.add_argument
    option("--data", required=True, help="the built dataset's folder, a Hub id, or HQH.json")
    option(
        "--judge",
        default=hqh.REFERENCE_ONLY,
        help="openai:MODEL[@BASE_URL], a local model, or reference-only (default): does the answer contain the right "
        "one? It sees no extra claims",
    )
    option(
        "--judgements",
        nargs="+",
        metavar="FILE",
        help="JSON lines with id, correct and extra_claims, a file for each of --responses; nothing else judges",
    )
    option(
        "--per-question",
        metavar="FILE",
        help="write what was judged, as JSON lines (--judgements reads them)",
    )
    option("--compare", action="store_true", help="among the paper's results (Table IV)")
    common.add_asking(parser, hqh.MAX_TOKENS)
    common.add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Score one or more files of answers; all are read and matched before the first is judged."""
    questions = read_questions(options.data)
    files, read = common.files(options)
    names = [plain_name(Path(file)) for file in files]
    texts = [_replies(Path(file), questions, read) for file in files]
    judgements = _judgements(options.judgements, names, questions)
    rows = [question.row for question in questions]
    results = [
        (
            name,
            hqh.compute(
                replies,
                rows,
                judge=options.judge,
                judgements=judged,
                bootstrap=options.bootstrap,
                seed=options.seed,
                per_question=bool(options.per_question),
                **common.asking(options),
            ),
        )
        for name, replies, judged in zip(names, texts, judgements, strict=True)
    ]
    if options.per_question:
        _write(Path(options.per_question), results)
    shown = published.among(results, NAME) if options.compare else results
    print(to_json(shown) if options.json else _report(results, shown, options))


def _replies(file: Path, questions: Sequence[FreeQuestion], read: Read) -> list[str]:
    texts, matched = read_replies(file, questions, read)
    if matched == "order":
        print(f"{file}: no id, so the answers are matched by their order.", file=sys.stderr)
    return texts


def _judgements(
    files: Sequence[str] | None, names: Sequence[str], questions: Sequence[FreeQuestion]
) -> Sequence[list[Mapping[str, Any]] | None]:
    if files is None:
        return [None] * len(names)
    if len(files) != len(names):
        raise ValueError(
            f"There are {len(files)} files of judgements and {len(names)} of responses; expected one for each, in the "
            "same order."
        )
    return [read_judgements(Path(file), name, questions) for file, name in zip(files, names, strict=True)]


def _write(path: Path, results: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Move the rows of each question out of the results into a file of JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for name, result in results:
            for row in result.pop("per_question"):
                file.write(json.dumps({"responses": name} | row, ensure_ascii=False) + "\n")


def _report(results: Named, shown: Named, options: argparse.Namespace) -> str:
    """Tables like the paper's, the least hallucination first, and what a reader of the numbers has to know."""
    by = "main_hal" if any(math.isnan(result["overall_hal"]) for _, result in shown) else "overall_hal"
    ranked = sorted(shown, key=lambda named: (math.isnan(named[1][by]), named[1][by]))
    lines = [
        table(ranked, COLUMNS, options.style, plain=PLAIN),
        "",
        group_table(results, "main_hal", options.style),
    ]
    if options.compare:
        source = published.load(NAME).source
        lines += [
            "",
            f"With square brackets: as published, of all 4,000 questions, and who judged. {source}.",
        ]
    below = common.below({name: _remarks(result) for name, result in results})
    return "\n".join([*lines, below])


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [f"{result['questions']:,} questions about {result['images']:,} images"]
    counts = result["counts"]["all"]
    if counts["judged"] and counts["extra_claims"] is None:
        lines.append("claims beside the main answer were not looked for: no extra and overall rate")
    elif counts["judged_in_full"] < counts["judged"]:
        lines.append(
            f"overall is of the {counts['judged_in_full']:,} of {counts['judged']:,} answers beside which claims were "
            "looked for; it may be below main"
        )
    if result["unjudged"]:
        lines.append(f"not judged: {percent(result['unjudged'])} % of the answers (they count in no figure)")
    for key, text in (("interval", "interval over images"), ("spread", "least and greatest of the repeats")):
        if key in result:
            low, high = result[key]["main_hal"]
            shown = [f"main {percent(low)} to {percent(high)}"]
            low, high = result[key]["overall_hal"]
            shown += [f"overall {percent(low)} to {percent(high)}"] * (not math.isnan(low))
            lines.append(f"{text}: {', '.join(shown)}")
    return [*lines, f"signature: {result['signature']}"]
