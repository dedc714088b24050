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
from halluscope.reporting.tables import ROWS, Notes, Report, Table, counted, finite, plain, share
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import COEFFICIENTS, FEWEST_MODELS, correlations, undefined

AGREEMENT, ASK, IGNORED = "agreement", "ask", "ignored"

SEVERAL_AGREEMENTS = Option(
    AGREEMENT,
    "how many votes must agree: unanimous (default), majority, or a number; several values give a row each",
    many=True,
    metavar="K",
)

Rows = list[dict[str, Any]]


def agreements_of(words: Sequence[str]) -> list[str | int]:
    """Return the values of --agreement."""
    return [int(word) if word.isdecimal() else word for word in words]


def compare_agreements(
    choice: Chosen,
    agreements: Sequence[str | int],
    responses: Sequence[str],
    dataset: Sequence[str],
    output: Output,
) -> None:
    """Show how scores change with the number of votes that must agree."""
    benchmark = choice.benchmark
    choice.options[ASK] = "all"
    for agreement in agreements:
        if agreements.count(agreement) > 1:
            raise ValueError(f"--agreement names {agreement} twice; expected each number of votes once.")
    ready = choice.ready(responses, dataset)
    rows: Rows = []
    for model in ready:
        for agreement in agreements:
            scores = scoring.compute(benchmark, model, choice.options | {AGREEMENT: agreement})
            rows.append({"responses": model.matched.name, AGREEMENT: agreement, **scores})
    shown = [name for name in benchmark.scores if all(name in row for row in rows)]
    alike = _alike(rows, agreements, shown)
    columns = [*shown, IGNORED]
    cells = [
        [name, str(row[AGREEMENT]), row[ROWS], *(share(row[column]) for column in columns)]
        for name, row in counted([(row["responses"], row) for row in rows])
    ]
    likeness = [
        [" and ".join(map(str, row["agreements"])), row["score"], *(plain(row[one]) for one in COEFFICIENTS)]
        for row in alike
    ]
    too_few = (
        f"There are {len(ready)} files of responses; a correlation between agreements needs at least "
        f"{FEWEST_MODELS}, with scores that differ."
    )
    report: Report = [
        Table("scores", ["responses", "k", ROWS, *columns], cells, left=2),
        Table("correlations", ["k", "score", *COEFFICIENTS], likeness, left=2) if alike else Notes([too_few]),
        *(Notes([f"signature: {row['signature']}"], f"{row['responses']}, {row[AGREEMENT]}") for row in rows),
    ]
    output.show({"results": rows, "correlations": alike}, lambda: report)


def _alike(rows: Rows, agreements: Sequence[Any], scores: Sequence[str]) -> Rows:
    """Return how similarly each two values of --agreement rank the models."""
    alike = []
    for pair in combinations(agreements, 2):
        for score in scores:
            first, second = ([row[score] for row in rows if row[AGREEMENT] == k] for k in pair)
            defined = len(first) >= FEWEST_MODELS and finite([first, second]) == [first, second]
            if defined and not undefined(first, second):
                coefficients = correlations(first, second, Bootstrap())
                values = {name: each["value"] for name, each in coefficients.items()}
                alike.append({"agreements": [*pair], "score": score, **values})
    return alike
