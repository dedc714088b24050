"""Scores responses with each number of votes that must agree: `score --agreement K K ...`.

Source: THRONE, supplement, section 1, Table 1. Every vote is asked for once and kept; all numbers use the same votes.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from halluscope import scoring
from halluscope.cli.printing import Output
from halluscope.cli.responses import Chosen
from halluscope.options import Option
from halluscope.reporting.tables import ROWS, Cell, Notes, Report, Table, counted, finite, plain, share
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS, FEWEST_MODELS, correlations, undefined

AGREEMENT = "agreement"
ASK = "ask"
IGNORED = "ignored"

SEVERAL_AGREEMENTS = Option(
    AGREEMENT,
    "how many votes must agree: unanimous (default), majority, or a number; several values give a row each",
    many=True,
    metavar="K",
)

Rows = list[dict[str, Any]]


def agreements_of(words: Sequence[str]) -> list[str | int]:
    """Return the values of --agreement."""
    agreements: list[str | int] = []
    for word in words:
        agreements.append(int(word) if word.isdecimal() else word)
    return agreements


def compare_agreements(
    choice: Chosen,
    agreements: Sequence[str | int],
    responses: Sequence[str],
    dataset: Sequence[str],
    output: Output,
) -> None:
    """Show how scores change with the number of votes that must agree."""
    for agreement in agreements:
        if agreements.count(agreement) > 1:
            raise ValueError(f"--agreement names {agreement} twice; expected each number of votes once.")
    ready = choice.ready(responses, dataset)
    results: Rows = []
    for model in ready:
        for agreement in agreements:
            options = {**choice.options, AGREEMENT: agreement}
            scores = scoring.compute(choice.benchmark, model, options)
            results.append({"responses": model.matched.name, AGREEMENT: agreement, **scores})
    names = []
    for name in choice.benchmark.scores:
        if all(name in result for result in results):
            names.append(name)
    alike = _alike(results, agreements, names)
    output.show(
        {"results": results, "correlations": alike}, lambda: _report(results, alike, names, len(ready))
    )


def _alike(results: Rows, agreements: Sequence[str | int], names: Sequence[str]) -> Rows:
    """Return how similarly each two values of --agreement rank the models."""
    alike = []
    for first, second in combinations(agreements, 2):
        for name in names:
            ours = _scores(results, first, name)
            theirs = _scores(results, second, name)
            if len(ours) < FEWEST_MODELS or finite([ours, theirs]) != [ours, theirs]:
                continue
            if undefined(ours, theirs):
                continue
            row: dict[str, Any] = {"agreements": [first, second], "score": name}
            for coefficient, facts in correlations(ours, theirs, Bootstrap()).items():
                row[coefficient] = facts["value"]
            alike.append(row)
    return alike


def _scores(results: Rows, agreement: str | int, name: str) -> list[float]:
    """Return the models' scores with this number of votes."""
    return [result[name] for result in results if result[AGREEMENT] == agreement]


def _report(results: Rows, alike: Rows, names: Sequence[str], models: int) -> Report:
    columns = list(names)
    columns.append(IGNORED)
    cells: list[list[Cell]] = []
    signatures: list[Notes] = []
    for name, result in counted([(result["responses"], result) for result in results]):
        row: list[Cell] = [name, str(result[AGREEMENT]), result[ROWS]]
        row += [share(result[column]) for column in columns]
        cells.append(row)
        heading = f"{result['responses']}, {result[AGREEMENT]}"
        signatures.append(Notes([f"signature: {result['signature']}"], heading))
    header = ["responses", "k", ROWS]
    header += columns
    report: list[Table | Notes] = [Table("scores", header, cells, left=2), _correlations(alike, models)]
    report += signatures
    return report


def _correlations(alike: Rows, models: int) -> Table | Notes:
    if not alike:
        return Notes(
            [
                f"There are {models} files of responses; a correlation between agreements needs at least "
                f"{FEWEST_MODELS}, with scores that differ."
            ]
        )
    cells: list[list[Cell]] = []
    for pair in alike:
        row: list[Cell] = [" and ".join(map(str, pair["agreements"])), pair["score"]]
        row += [plain(pair[coefficient]) for coefficient in COEFFICIENTS]
        cells.append(row)
    header = ["k", "score"]
    header += COEFFICIENTS
    return Table("correlations", header, cells, left=2)
