"""Presents OpenCHAIR's results as text, and its rows with each noun that counts marked with the vote on it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.benchmarks.openchair.metric import METRIC
from halluscope.benchmarks.openchair.nouns import FIRST
from halluscope.reporting import tables
from halluscope.reporting.report_items import (
    FOUND,
    HALLUCINATED,
    Addends,
    Fact,
    Item,
    Kind,
    ToMark,
    badness,
    ballots,
    judged_texts,
    placed,
    votes_differ,
)
from halluscope.reporting.tables import (
    Named,
    Report,
    Values,
    best_first,
    filled,
    is_defined,
    percent,
    score,
    table,
)
from halluscope.signature import keys_of

UNDECIDED = "undecided"

# The vote on a noun -> the kind of its mark, and its outcome
OUTCOMES: Mapping[str | None, tuple[Kind, str]] = {
    "yes": ("good", FOUND),
    "no": ("bad", HALLUCINATED),
    None: ("open", UNDECIDED),
}

# The vote on a noun -> what people may say of it
LABELS = {"yes": 1.0, "no": 0.0, None: math.nan}

COLUMNS = ("openchair", "undecided", "unreadable")

# The share of votes that are neither yes nor no above which another question is better
MANY_UNREADABLE = 0.1

UNDEFINED = "The share of hallucinated nouns is undefined: no noun was decided."
MEANING = (
    "Of 100 nouns in the captions, {openchair} name what is not in the image; undecided nouns are left out."
)
MEANING_FIRST = (
    "Of 100 nouns in the captions, {openchair} name what is not in the image, or are undecided; a noun counts once per "
    "caption."
)


def meaning(scores: Values) -> str:
    """Say in a sentence what the share of hallucinated nouns means."""
    if not is_defined(scores[METRIC.principal]):
        return UNDEFINED
    if keys_of(scores["signature"]).get("convention") == FIRST:
        return filled(MEANING_FIRST, scores)
    return filled(MEANING, scores)


def report(results: Named, **_: Any) -> Report:
    """Return a table of scores, the best result first, and notes on each result."""
    remarks = {}
    for name, result in results:
        remarks[name] = notes(result)
    return tables.report([table(best_first(METRIC, results), COLUMNS)], remarks)


def notes(result: Values) -> list[str]:
    """Return what is said of a result below the table."""
    lines = [
        f"{result['nouns']:,} nouns in {result['images']:,} captions ({result['nouns_per_caption']:.2f} per caption): "
        f"{result['found']:,} found, {result['hallucinated']:,} hallucinated"
    ]
    if result["without_nouns"]:
        lines.append(f"captions without a noun that counts: {result['without_nouns']:,}")
    undecided = result["undecided"]
    if is_defined(undecided) and undecided > 0:
        lines.append(f"undecided nouns: {percent(undecided)} %")
    unreadable = result["unreadable"]
    if is_defined(unreadable) and unreadable > MANY_UNREADABLE:
        lines.append("many votes are neither yes nor no: --questions plain asks for only yes or no")
    interval = score(result, METRIC.principal).interval
    if interval:
        lines.append(f"interval of {METRIC.principal} over images: {interval}")
    lines.append(f"signature: {result['signature']}")
    return lines


# Rows


def items(rows: Sequence[Values], options: Values, voters: Values | None) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    for row, text in zip(rows, judged_texts(rows, options), strict=True):
        nouns = row["nouns"]
        outcomes = [OUTCOMES[vote] for vote in row["votes"]]
        marks, unplaced = placed(nouns, row["places"], outcomes)
        facts = list(unplaced)
        facts.append(Fact("right caption", [(right_caption(row), "plain")]))
        classes = {}
        undecided = []
        for noun, (_, outcome) in zip(nouns, outcomes, strict=True):
            if outcome == UNDECIDED:
                undecided.append(noun)
            else:
                classes[noun] = outcome
        votes = {noun: signs for noun, signs in ballots(row, voters).items() if noun in nouns}
        errors = []
        if row["hallucinated"]:
            errors.append(HALLUCINATED)
        if undecided:
            errors.append(UNDECIDED)
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks,
            facts=facts,
            errors=errors,
            classes=classes,
            votes=votes,
            disputed=any(votes_differ(signs) for signs in votes.values()),
            badness=badness(row["hallucinated"], undecided),
        )


def right_caption(row: Values) -> str:
    caption: str = row["inputs"]["references"]
    return caption


# For certificates


def asks(row: Values) -> ToMark:
    """Return what people may mark: whether the image has each noun that counts."""
    labels = {}
    for noun, vote in zip(row["nouns"], row["votes"], strict=True):
        labels[noun] = LABELS[vote]
    return ToMark(f"right caption: {right_caption(row)}", labels, most=dict.fromkeys(labels, 1))


def counted(values: Sequence[Mapping[str, float]]) -> dict[str, Addends]:
    """Return each caption's nouns that the image lacks, and its decided nouns, by votes."""
    lacking = []
    decided = []
    for labels in values:
        known = [label for label in labels.values() if not np.isnan(label)]
        lacking.append(known.count(0))
        decided.append(len(known))
    return {METRIC.principal: Addends(np.array(lacking, dtype=float), np.array(decided, dtype=float))}
