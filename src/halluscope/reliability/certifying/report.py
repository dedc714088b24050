"""A certificate as tables and notes."""

from collections.abc import Mapping
from typing import Any

from halluscope.reliability.certifying.certificate import Certificate
from halluscope.reporting.tables import Cell, Notes, Report, Table, interval, percent, share
from halluscope.stats.samples import RATES

VOTES = "single votes"

MEANING = {
    "false_yes": "of the labels no, the share to which the judges say yes",
    "false_no": "of the labels yes, the share to which the judges do not say yes",
    "wrong_yes": "of what the judges say yes to, the share that is labelled no",
}


def report(certificate: Certificate) -> Report:
    """Return how often the judges err: by kind of text, vote by vote, and how far their probabilities hold."""
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
