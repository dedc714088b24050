"""Presents OpenCHAIR's results as text, and its rows with each noun that counts marked with the vote on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.reporting.report_items import (
    FOUND,
    HALLUCINATED,
    Fact,
    Item,
    Kind,
    badness,
    ballots,
    judged_texts,
    placed,
    votes_differ,
)
from halluscope.reporting.tables import Declared
from halluscope.stats.tallies import Ints

UNDECIDED = "undecided"

# The vote on a noun -> the kind of its mark, and its outcome.
OUTCOMES: Mapping[str | None, tuple[Kind, str]] = {
    "yes": ("good", FOUND),
    "no": ("bad", HALLUCINATED),
    None: ("open", UNDECIDED),
}


VIEW = Declared(__file__)
report, meaning = VIEW.report, VIEW.meaning


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Mapping[str, Any] | None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    for row, text in zip(rows, judged_texts(rows, options), strict=True):
        outcomes = [OUTCOMES[vote] for vote in row["votes"]]
        marks, unplaced = placed(row["nouns"], row["places"], outcomes)
        votes = {noun: signs for noun, signs in ballots(row, voters).items() if noun in row["nouns"]}
        came = [outcome for _, outcome in outcomes]
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks,
            facts=[*unplaced, Fact("right caption", [(row["inputs"]["references"], "plain")])],
            errors=[error for error in (HALLUCINATED, UNDECIDED) if error in came],
            classes={noun: of for noun, of in zip(row["nouns"], came, strict=True) if of != UNDECIDED},
            votes=votes,
            disputed=any(map(votes_differ, votes.values())),
            badness=badness(row["hallucinated"], [of for of in came if of == UNDECIDED]),
        )


def asks(row: Mapping[str, Any]) -> tuple[str, dict[str, tuple[Any, int]]]:
    """Return the right caption, and what people may mark: whether the image has each noun that counts."""
    votes = {
        noun: {"yes": 1, "no": 0}.get(vote) for noun, vote in zip(row["nouns"], row["votes"], strict=True)
    }
    return f"right caption: {row['inputs']['references']}", {noun: (vote, 1) for noun, vote in votes.items()}


def counted(values: Sequence[Mapping[str, float]]) -> dict[str, tuple[Ints, Ints]]:
    """Return each caption's nouns that the image lacks, and its decided nouns, by votes."""
    decided = [[vote for vote in of.values() if not np.isnan(vote)] for of in values]
    return {"openchair": (np.array([of.count(0) for of in decided]), np.array([len(of) for of in decided]))}
