"""`halluscope certify LABELS`: measures how often judges err about the responses' texts, by labels that people gave.

Labels are a sheet that `review make --marks implied` made, or JSON lines. `score --certificate` takes what it writes.
"""

import argparse
from pathlib import Path

from halluscope import inputs, vocabularies
from halluscope.cli import common
from halluscope.options import defaults
from halluscope.reliability.certifying import labels
from halluscope.reliability.certifying.certificate import Certificate, certify
from halluscope.reliability.certifying.labels import PEOPLE, Population
from halluscope.reliability.certifying.report import report
from halluscope.responses.thoughts import KEPT, take_out
from halluscope.signature import data_of


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
    common.add_responses(parser, benchmark)
    common.add_options(parser, benchmark.without({"ask"}))
    option(
        "--by",
        default=PEOPLE,
        metavar="WHO",
        help="who gave the labels, for the certificate (default: people)",
    )
    option("--allow-unmarked", action="store_true", help="leave out texts that have unmarked rows")
    option("--out", **common.FILE, help="write the certificate here, as JSON")
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    if not given.by.strip():
        raise ValueError("--by is empty; expected who gave the labels.")
    if given.out:
        common.check_output(given, "out")
    certificate = _certify(given)
    if given.out:
        certificate.write(given.out)
    content = {name: value for name, value in certificate.content.items() if name != "labels"}
    common.output(given, lambda: content, lambda: report(certificate))


def _certify(given: argparse.Namespace) -> Certificate:
    benchmark = common.certified()
    ready, ids, options = common.judged_texts(given, benchmark)
    judge = benchmark.module("metric").judge
    options = defaults(judge) | options
    texts, _ = take_out(ready.matched.texts, options["thoughts"])
    references = ready.inputs["references"]
    population, vocabulary = Population(texts, ids), vocabularies.load(options["vocabulary"])
    labelled = labels.read(given.labels, population, vocabulary, given.allow_unmarked)
    rows = [population.rows[text.text] for text in labelled.texts]
    judgement = judge(
        [texts[row] for row in rows], [references[row] for row in rows], **options | {"thoughts": KEPT}
    )
    return certify(
        judgement,
        labelled,
        population.name,
        given.by,
        responses=ready.matched.name,
        data=data_of(vocabulary.name, inputs.labelled(references, ready.inputs["image_ids"])),
        store=options.get("store"),
    )
