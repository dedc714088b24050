"""`halluscope certify LABELS`: measures how often judges err about the responses' texts, by labels that people gave.

Labels are a sheet that `review make --marks implied` made, or JSON lines. `score --certificate` takes what it writes.
With --run, labels are a sheet of `review make RUN --marks verdict`: the grader's errors and corrected scores.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope import inputs, vocabularies
from halluscope.cli import common
from halluscope.files.writing import new_file
from halluscope.options import defaults
from halluscope.reliability.certificate import (
    PEOPLE,
    Certificate,
    certify,
    name_of,
    read_labels,
    report,
    rows_of,
)
from halluscope.reporting.tables import to_json
from halluscope.responses.thoughts import KEPT, take_out
from halluscope.runs import certifying as graders
from halluscope.runs.folder import check
from halluscope.signature import data_of
from halluscope.stats.bootstrap import Bootstrap


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    benchmark = common.certified()
    # The labelled texts are few, so every vote is worth asking for.
    parser.set_defaults(name=benchmark.name, ask="all")
    option = parser.add_argument
    option(
        "labels",
        type=Path,
        help="a marked sheet of `review make --marks implied`, or JSON lines {id or text, class, answer, [weight]}; "
        "without weights each class of a labelled text must have a label",
    )
    option(
        "--run", dest="graded", type=Path, metavar="RUN", help="the run whose verdicts the sheet was made for"
    )
    common.add_responses(parser, benchmark, required=False)
    common.add_options(parser, benchmark.without({"ask"}))
    option(
        "--by",
        default=PEOPLE,
        metavar="WHO",
        help="who gave the labels, for the certificate (default: people)",
    )
    option("--allow-unmarked", action="store_true", help="leave out texts that have unmarked rows")
    option("--out", **common.FILE, help="write the certificate here, as JSON")
    common.add_intervals(parser, "with --run: resamples")
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    if not given.by.strip():
        raise ValueError("--by is empty; expected who gave the labels.")
    if given.out:
        common.check_output(given, "out")
    if given.graded:
        _of_grader(given)
        return
    if missing := [name for name in ("responses", "dataset") if not getattr(given, name)]:
        raise ValueError(
            f"--{missing[0]} is missing; expected --responses and --dataset, or --run for a grader."
        )
    certificate = _certify(given)
    _write(given.out, certificate.content)
    content = {name: value for name, value in certificate.content.items() if name != "labels"}
    common.output(given, lambda: content, lambda: report(certificate))


def _of_grader(given: argparse.Namespace) -> None:
    if given.responses or given.dataset:
        raise ValueError(
            "--run has the responses and their rows; expected no --responses and no --dataset beside it."
        )
    found = graders.certify(
        given.labels,
        check(given.graded),
        given.by,
        given.allow_unmarked,
        Bootstrap(given.bootstrap, given.seed),
    )
    _write(given.out, found)
    common.output(given, lambda: found, lambda: found.report)


def _write(out: Path | None, content: Mapping[str, Any]) -> None:
    if out:
        with new_file(out) as file:
            file.write(to_json(content) + "\n")


def _certify(given: argparse.Namespace) -> Certificate:
    benchmark = common.certified()
    ready, ids, options = common.judged_texts(given, benchmark)
    judge = benchmark.module("metric").judge
    options = defaults(judge) | options
    texts, _ = take_out(ready.matched.texts, options["thoughts"])
    references = ready.inputs["references"]
    population, vocabulary = rows_of(texts), vocabularies.load(options["vocabulary"])
    labelled = read_labels(given.labels, texts, ids, vocabulary, given.allow_unmarked)
    rows = [population[text] for text in labelled.texts]
    judgement = judge(
        [texts[row] for row in rows], [references[row] for row in rows], **options | {"thoughts": KEPT}
    )
    return certify(
        judgement,
        labelled,
        name_of(population),
        given.by,
        responses=ready.matched.name,
        data=data_of(vocabulary.name, inputs.labelled(references, ready.inputs["image_ids"])),
        store=options.get("store"),
    )
