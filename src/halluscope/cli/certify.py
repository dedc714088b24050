"""`halluscope certify LABELS`: measures how often judges err about the responses' texts, by labels that people gave.

Labels are a sheet that `review make --marks implied` made, or JSON lines. `score --certificate` takes what it writes.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from halluscope import inputs, vocabularies
from halluscope.cli import common
from halluscope.options import defaults
from halluscope.reliability.certifying import labels
from halluscope.reliability.certifying.certificate import Certificate, certify
from halluscope.reliability.certifying.labels import PEOPLE, Population
from halluscope.reporting.formats import JSON
from halluscope.reporting.tables import Cell, Notes, Table, interval, percent, share, to_json
from halluscope.responses.thoughts import KEPT, take_out
from halluscope.signature import data_of
from halluscope.stats.judged import RATES
from halluscope.terminal import say

VOTES = "single votes"

MEANING = {
    "false_yes": "of the labels no, the share to which the judges say yes",
    "false_no": "of the labels yes, the share to which the judges do not say yes",
    "wrong_yes": "of what the judges say yes to, the share that is labelled no",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options: labels, responses, judges, and the certificate's file."""
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
    asked = tuple(option for option in benchmark.options if option.name != "ask")
    common.add_options(parser, replace(benchmark, options=asked))
    option(
        "--by",
        default=PEOPLE,
        metavar="WHO",
        help="who gave the labels, for the certificate (default: people)",
    )
    option("--allow-unmarked", action="store_true", help="leave out texts that have unmarked rows")
    option("--out", type=Path, metavar="FILE", help="write the certificate here, as JSON")
    common.add_format(parser)


def run(given: argparse.Namespace) -> None:
    """Ask the judges about the labelled texts, compare, write and print."""
    if not given.by.strip():
        raise ValueError("--by is empty; expected who gave the labels.")
    if given.out:
        common.check_output(given, "out")
    certificate = _certify(given)
    if given.out:
        certificate.write(given.out)
    if given.format == JSON:
        say(to_json({name: value for name, value in certificate.content.items() if name != "labels"}))
    else:
        common.show(_report(certificate), given)


def _certify(given: argparse.Namespace) -> Certificate:
    benchmark = common.certified()
    ready, ids, options = common.judged_texts(given, given.dataset, benchmark)
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


def _report(certificate: Certificate) -> list[Table | Notes]:
    content = certificate.content
    whose = f"against {certificate.count:,} labels of {certificate.texts:,} texts, given by {certificate.labelled_by}"
    report: list[Table | Notes] = [Notes([", ".join(content["judges"]), whose])]
    report += [
        _table(by, {by: table} if by == "all" else table) for by, table in content["errors"].items() if table
    ]
    report.append(_table(VOTES, content["votes"]))
    for judge, rates in content["votes"].items():
        report += _of_votes(judge, rates)
    report.append(Notes([f"{name}: {meaning}, in percent" for name, meaning in MEANING.items()]))
    kinds = "cue words in the sentences that mention a class decide its kinds; a label may count in several"
    return [*report, Notes([kinds, f"certificate: {certificate.digest}"])]


def _of_votes(judge: str, rates: Mapping[str, Any]) -> list[Table | Notes]:
    """Say what else is known of a judge's single votes."""
    lines = [f"{judge}: {percent(rates['unreadable'])} % of the votes were neither yes nor no"]
    known = rates["calibration"]
    if not known:
        return [Notes(lines)]
    ece = known["ece"]
    ends = interval([_number(ece["low"]), _number(ece["high"])])
    lines.append(f"expected calibration error: {percent(ece['value'])} % ({ends})")
    cells = [
        [interval((bin["from"], bin["to"])), bin["votes"], share(bin["said"]), share(bin["implied"])]
        for bin in known["bins"]
    ]
    header = ["P(yes) %", "votes", "mean P(yes) %", "people say yes %"]
    return [Notes(lines), Table("calibration", header, cells, of=judge)]


def _table(first: str, rates: Mapping[str, Mapping[str, Any]]) -> Table:
    cells: list[list[Cell]] = [
        [
            name,
            *(row[count] for count in ("texts", "labels", "implied")),
            *(
                share(_number(row[rate]["value"]), [_number(row[rate][end]) for end in ("low", "high")])
                for rate in RATES
            ),
        ]
        for name, row in rates.items()
    ]
    header = [first, "texts", "votes" if first == VOTES else "labels", "people: yes", *RATES]
    return Table(f"by {first}", header, cells, intervals=RATES)


def _number(value: float | None) -> float:
    """Return a number of a certificate; null, which means undefined, becomes NaN."""
    return float("nan") if value is None else value
