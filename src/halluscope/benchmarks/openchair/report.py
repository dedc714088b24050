"""Presents OpenCHAIR's results as text, and its rows with each noun that counts marked with the vote on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.benchmarks.openchair.metric import FIRST
from halluscope.reporting import tables
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
from halluscope.reporting.tables import Named, Report, interval, is_defined, percent, ranked, table
from halluscope.signature import keys_of
from halluscope.stats.tallies import Ints

MANY = 0.1  # Above this share of unreadable votes, a note says what to do.
COLUMNS = ("openchair", "undecided", "unreadable")
UNDECIDED = "undecided"

# The vote on a noun -> the kind of its mark, and its outcome.
OUTCOMES: Mapping[str | None, tuple[Kind, str]] = {
    "yes": ("good", FOUND),
    "no": ("bad", HALLUCINATED),
    None: ("open", UNDECIDED),
}


def report(results: Named, **_: Any) -> Report:
    """Return a table in percent, and the signatures."""
    scores = table(ranked(results, "openchair", higher=False), COLUMNS)
    return tables.report([scores], {name: _remarks(result) for name, result in results})


def _remarks(result: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{result['nouns']:,} nouns in {result['images']:,} captions ({result['nouns_per_caption']:.2f} per caption): "
        f"{result['found']:,} found, {result['hallucinated']:,} hallucinated"
    ]
    if result["without_nouns"]:
        lines.append(f"captions without a noun that counts: {result['without_nouns']:,}")
    if result["undecided"] > 0:
        lines.append(f"undecided nouns: {percent(result['undecided'])} %")
    if (result["unreadable"] or 0) > MANY:
        lines.append("many votes are neither yes nor no: --questions plain asks for only yes or no")
    if "interval" in result:
        lines.append(f"interval of openchair over images: {interval(result['interval']['openchair'])}")
    return [*lines, f"signature: {result['signature']}"]


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


def meaning(scores: Mapping[str, Any]) -> str:
    """Say in a sentence what the share of hallucinated nouns means."""
    if not is_defined(scores["openchair"]):
        return "The share of hallucinated nouns is undefined: no noun was decided."
    share = f"Of 100 nouns in the captions, {percent(scores['openchair'])} name what is not in the image"
    if keys_of(scores["signature"])["convention"] == FIRST:
        return f"{share}, or are undecided; a noun counts once per caption."
    return f"{share}; undecided nouns are left out."
