"""Presents THRONE's results as text, the columns of Table 1 and notes, and its rows with their mentions marked.

The lexical judge's reader finds the mentions, whoever judged; the rows and the votes say which mentions count.
"""

import re
from collections import Counter
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
from halluscope.reporting.tables import (
    Cell,
    Named,
    Notes,
    Report,
    Table,
    below,
    class_table,
    is_defined,
    label_names,
    labels,
    percent,
    plain,
    ranked,
    score,
    share,
)

LENGTH = "median_characters"
# The columns of THRONE's Table 1, after `LENGTH`.
COLUMNS = (
    *("precision_all", "recall_all", "f1_all", "f0.5_all"),
    *("precision_cls", "recall_cls", "f1_cls", "f0.5_cls"),
)

RANKED_BY = "f0.5_cls"  # THRONE's principal metric (section 3.1)

DISPUTED = "disputed"

# The rows shown for a result that was also scored on sampled cells (THRONE, supplement, Table 2).
SAMPLED = ("sampled", "difference")


def report(results: Named, **_: Any) -> Report:
    """Return tables of the results, with notes on each result."""
    sampled = [_sampled(results)] if any("sampled" in result for _, result in results) else []
    parts: list[Table | Notes] = [
        table(results),
        *sampled,
        *below({name: remarks(result) for name, result in results}),
    ]
    for name, result in results:
        parts += corrected(result, name) if "corrected" in result else []
    return parts + [class_table(result, name) for name, result in results if "classes" in result]


def table(results: Named) -> Table:
    """Return one row per LVLM, the best class-wise F0.5 first, in percent, with any intervals."""
    best, columns = ranked(results, RANKED_BY), _columns(results)
    rows = [
        [*label, plain(result.get(LENGTH), "g"), *(score(result, name) for name in columns)]
        for label, (_, result) in zip(labels(best), best, strict=True)
    ]
    header = [*label_names(best), LENGTH, *columns]
    return Table("scores", header, rows, ranked=True, intervals=(RANKED_BY,))


def _sampled(results: Named) -> Table:
    """Tabulate the scores on the sampled cells, and the differences from the scores on all cells."""
    columns = _columns(results)
    rows: list[list[Cell]] = [
        [name, what, *(share(result[what].get(column)) for column in columns)]
        for name, result in ranked(results, RANKED_BY)
        for what in SAMPLED
        if what in result
    ]
    return Table("sampled", ["responses", "cells", *columns], rows, left=2)


def _columns(results: Named) -> list[str]:
    return [*COLUMNS[:4], *_asked(results, "all"), *COLUMNS[4:], *_asked(results, "cls")]


def corrected(result: Mapping[str, Any], of: str) -> list[Table | Notes]:
    """Tabulate each score raw, from the judges' labels, and corrected by people's labels; with notes on the latter."""
    found = result["corrected"]
    rows = [
        [name, share(result[name]), share(one["value"], (one["low"], one["high"]))]
        for name, one in found.items()
        if isinstance(one, Mapping) and "value" in one
    ]
    lines = [
        f"corrected by {found['labels']:,} labels of {found['labelled_texts']:,} texts, given by "
        f"{found['labelled_by']}",
        *(f"{name} is not corrected: {why}" for name, why in found["refused"].items()),
        f"signature: {found['signature']}",
    ]
    header = ["score", "raw", "corrected"]
    return [Table("corrected", header, rows, of=of, intervals=("corrected",)), Notes(lines, of)]


def remarks(result: Mapping[str, Any]) -> list[str]:
    """Return the notes on a result: the shares of cells and votes that do not count, and the signature."""
    lines = []
    if result["ignored"] is not None:
        lines.append(f"cells ignored because the judges disagree: {percent(result['ignored'])} %")
    if result["unparsed"]:
        lines.append(
            f"votes that are neither yes nor no: {percent(result['unparsed'])} % (not counted as yes)"
        )
    if result["undefined_classes"]:
        lines.append(f"classes that are never described, or in no image: {result['undefined_classes']}")
    if "explained" in result:
        lines.append(_explained(result["explained"]))
    if "sampled" in result:
        lines.append(_cells(**{name: result["sampled"][name] for name in ("cells", "cells_of")}))
    return [*lines, f"signature: {result['signature']}"]


def _explained(images: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Say how many mentions each rule of the lexical judge took back."""
    rules = Counter(mention["taken_back_by"] for mentions in images for mention in mentions)
    counts = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common() if rule is not None)
    return f"mentions that the lexical judge read: {rules.total():,}; taken back: {counts or 'none'}"


def _cells(cells: int, cells_of: int | None) -> str:
    """Say how much of the sample lies in the scored images."""
    of = "" if cells_of is None else f" of {cells_of:,} ({percent(cells / cells_of)} %)"
    return f"sampled cells in the scored images: {cells:,}{of}"


def _asked(results: Named, suffix: str) -> list[str]:
    """Return the columns of F with a beta other than 1 and 0.5, if it was asked for."""
    columns = dict.fromkeys(column for _, result in results for column in result)
    return [
        column
        for column in columns
        if column not in COLUMNS and re.fullmatch(rf"f[\d.e+-]+_{suffix}", column)
    ]


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
