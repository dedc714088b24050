"""Prepares THRONE's rows for display: each mention of a class is marked, with the judges' decision on it.

The lexical judge's reader finds the mentions, whoever judged; the rows and the votes say which mentions count.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.throne import prompts
from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.judging.options import VoteOptions
from halluscope.reporting.report_items import (
    HALLUCINATED,
    KIND_OF,
    MISSED,
    Fact,
    Item,
    Kind,
    Mark,
    badness,
    ballots,
    judged_texts,
    outcomes,
    votes_differ,
    word_facts,
)
from halluscope.reporting.tables import is_defined, percent

DISPUTED = "disputed"


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Mapping[str, Any] | None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    reader = LexicalJudge(vocabularies.load(options.get("vocabulary", "coco")))
    cut = prompts.load(options.get("questions", VoteOptions.questions)).cut
    for row, whole in zip(rows, judged_texts(rows, options), strict=True):
        text = cut(whole)
        yield _item(row, text, reader.mentions(text), ballots(row, voters))


def meaning(scores: Mapping[str, Any]) -> str:
    """Say in a sentence what F0.5 over classes means."""
    if not is_defined(scores["f0.5_cls"]):
        return "F0.5 is undefined: the descriptions name no class, or the images have none."
    precision, recall = percent(scores["precision_cls"]), percent(scores["recall_cls"])
    return (
        f"F0.5 is {percent(scores['f0.5_cls'])} of 100; on average over the classes, a class that is described is in "
        f"the image {precision} times in 100 (precision, which weighs more), and one that is in the image is described "
        f"{recall} times in 100 (recall)."
    )


def _item(row: Mapping[str, Any], text: str, mentions: Sequence[Mention], votes: Mapping[str, str]) -> Item:
    classes, mentioned = outcomes(row), {mention.object for mention in mentions}
    disputed = [name for name, signs in votes.items() if votes_differ(signs)]
    errors = {HALLUCINATED: row[HALLUCINATED], MISSED: row[MISSED], DISPUTED: disputed}
    return Item(
        id=str(row["image_id"]),
        text=text,
        image=str(row["image_id"]),
        marks=_marks(mentions, classes, votes),
        facts=[*word_facts(row[MISSED], MISSED), *_implied(classes, mentioned)],
        errors=[error for error, names in errors.items() if names],
        classes=classes,
        votes={name: signs for name, signs in votes.items() if name in {*classes, *mentioned, *disputed}},
        disputed=bool(disputed),
        badness=badness(row[HALLUCINATED], row[MISSED]),
    )


def _marks(mentions: Sequence[Mention], classes: Mapping[str, str], votes: Mapping[str, str]) -> list[Mark]:
    """Return a mark per mention, in the order of the text."""
    affirmed = {mention.object for mention in mentions if mention.implied}
    marks = [
        Mark(one.start, one.end, *_outcome(one, classes.get(one.object, ""), affirmed, votes), one.object)
        for one in mentions
    ]
    return sorted(marks, key=lambda mark: (mark.start, mark.end))


def _outcome(
    mention: Mention, outcome: str, affirmed: set[str], votes: Mapping[str, str]
) -> tuple[Kind, str]:
    """Return the kind and the text of a mention's mark.

    If the judges counted a class although a rule takes back every mention of it, the mark says both.
    """
    name = mention.object
    if outcome in KIND_OF and (mention.implied or name not in affirmed):
        rule = "" if mention.implied else f" (though a rule takes it back: {mention.rule})"
        return KIND_OF[outcome], f"{name}: {outcome}{rule}"
    if not mention.implied:
        return "back", f"{name}: not counted ({mention.rule})"
    if outcome != MISSED and votes_differ(votes.get(name, "")):
        return "open", f"{name}: mentioned, but the judges do not agree"
    return "back", f"{name}: mentioned, but the judges say no"


def _implied(classes: Mapping[str, str], mentioned: set[str]) -> list[Fact]:
    """Return the classes that judges counted although no word mentions them."""
    values = [
        (f"{name}: {outcome}", KIND_OF[outcome])
        for name, outcome in classes.items()
        if name not in mentioned and outcome in KIND_OF
    ]
    return [Fact("implied", values)] if values else []
