"""OpenCHAIR's rows as people look at them: each noun that counts marked, with what was voted on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.openchair.scoring import FIRST
from halluscope.reporting.marking import badness, ballots, differ, placed
from halluscope.reporting.shown import FOUND, HALLUCINATED, Fact, Item, Kind, said
from halluscope.reporting.tables import is_defined, percent
from halluscope.signature import keys_of

UNDECIDED = "undecided"

OUTCOMES: Mapping[str | None, tuple[Kind, str]] = {
    "yes": ("good", FOUND),
    "no": ("bad", HALLUCINATED),
    None: ("open", UNDECIDED),
}
"""What was voted on a noun -> what came of it."""


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Mapping[str, Any] | None
) -> Iterator[Item]:
    """A run's rows as items, one each, in their order.

    Args:
        rows: as they stand in a run's items.jsonl.
        options: of the metric.
        voters: who voted on which nouns; None where votes were given.
    """
    for row, text in zip(rows, said(rows, options), strict=True):
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
            disputed=any(map(differ, votes.values())),
            badness=badness(row["hallucinated"], [of for of in came if of == UNDECIDED]),
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """What the share of hallucinated nouns says, in a sentence."""
    if not is_defined(scores["openchair"]):
        return "The share of hallucinated nouns is undefined: there is no noun on which anything was decided."
    share = f"Of 100 nouns in the captions, {percent(scores['openchair'])} name what is not in the image"
    if keys_of(scores["signature"])["convention"] == FIRST:
        return f"{share}, or what nobody could decide on; a noun counts once per caption."
    return f"{share}; nouns on which nothing was decided are left out."
