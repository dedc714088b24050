"""Presents THRONE's results as text, the columns of Table 1 and notes, and its rows with their mentions marked.

The lexical judge's reader finds the mentions, whoever judged.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.throne.metric import questions_of
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.options import VoteOptions
from halluscope.reporting import tables
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
    Declared,
    Named,
    Notes,
    Report,
    Table,
    best_first,
    class_table,
    estimate,
    percent,
    share,
)
from halluscope.sanitize import one_line

VIEW = Declared(__file__)
meaning = VIEW.meaning
DISPUTED = "disputed"
LONGEST_NAME = 80  # of a judge, in a table


def report(results: Named, **_: Any) -> Report:
    """Return tables of the results, with notes on each result; the best class-wise F0.5 comes first."""
    # The columns of THRONE's Table 1 after the length; F with another beta comes last among those of its kind.
    names = dict.fromkeys(name for _, result in results for name in result)
    known = [name for name in names if re.fullmatch(r"(precision|recall|f[\d.e+-]+)_(all|cls)", name)]
    columns = sorted(known, key=lambda name: (name.endswith("cls"), not re.match("[pr]|f1_|f0.5_", name)))
    # The scores on sampled cells, and the differences from those on all cells (supplement, Table 2)
    sampled = [
        [name, what, *(share(result[what].get(column)) for column in columns)]
        for name, result in best_first(VIEW.record, results)
        for what in ("sampled", "difference")
        if what in result
    ]
    every = [
        VIEW.table(results, ["median_characters:g", *columns]),
        Table("sampled", ["responses", "cells", *columns], sampled, left=2),
    ]
    judges = _judges(best_first(VIEW.record, results))
    every.append(Table("judges", ["responses", "judge", "yes if present", "yes if absent"], judges, left=2))
    return [
        *tables.report(every, {name: VIEW.notes(result, *_further(result)) for name, result in results}),
        *(part for name, result in results if "corrected" in result for part in _corrected(result, name)),
        *(class_table(result, name) for name, result in results if "classes" in result),
    ]


def _judges(results: Named) -> list[list[Cell]]:
    """Return a row per judge of each result: how often it says yes."""
    rows: list[list[Cell]] = []
    for name, result in results:
        for judge, yes in result.get("yes_shares", {}).items():
            rows.append([name, one_line(judge, LONGEST_NAME), share(yes["present"]), share(yes["absent"])])
    return rows


def _corrected(result: Mapping[str, Any], of: str) -> list[Table | Notes]:
    """Tabulate each score raw, from the judges' labels, and corrected by people's labels; with notes on the latter."""
    found = result["corrected"]
    rows = [
        [name, share(result[name]), estimate(one)]
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


def _further(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the lexical judge took back, and how many cells are sampled."""
    if "explained" in result:
        rules = Counter(mention["taken_back_by"] for image in result["explained"] for mention in image)
        counts = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common() if rule is not None)
        yield f"mentions that the lexical judge read: {rules.total():,}; taken back: {counts or 'none'}"
    if "sampled" in result:
        cells, of = result["sampled"]["cells"], result["sampled"]["cells_of"]
        part = "" if of is None else f" of {of:,} ({percent(cells / of)} %)"
        yield f"sampled cells in the scored images: {cells:,}{part}"


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Mapping[str, Any] | None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    reader = LexicalJudge(vocabularies.load(options.get("vocabulary", "coco")))
    cut = questions_of(options.get("questions", VoteOptions.questions)).cut
    for row, whole in zip(rows, judged_texts(rows, options), strict=True):
        text = cut(whole)
        mentions, votes, classes = reader.mentions(text), ballots(row, voters), outcomes(row)
        mentioned = {mention.object for mention in mentions}
        affirmed = {mention.object for mention in mentions if mention.implied}
        disputed = [name for name, signs in votes.items() if votes_differ(signs)]
        marks = []
        for one in mentions:
            name, outcome = one.object, classes.get(one.object, "")
            kind: Kind = "back"
            if outcome in KIND_OF and (one.implied or name not in affirmed):
                # the judges may count a class although a rule takes back every mention of it
                rule = "" if one.implied else f" (though a rule takes it back: {one.rule})"
                kind, says = KIND_OF[outcome], f"{outcome}{rule}"
            elif not one.implied:
                says = f"not counted ({one.rule})"
            elif outcome != MISSED and name in disputed:
                kind, says = "open", "mentioned, but the judges do not agree"
            else:
                says = "mentioned, but the judges say no"
            marks.append(Mark(one.start, one.end, kind, f"{name}: {says}", name))
        implied = [  # classes that judges counted although no word mentions them
            (f"{name}: {outcome}", KIND_OF[outcome])
            for name, outcome in classes.items()
            if name not in mentioned and outcome in KIND_OF
        ]
        errors = {HALLUCINATED: row[HALLUCINATED], MISSED: row[MISSED], DISPUTED: disputed}
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=sorted(marks, key=lambda mark: (mark.start, mark.end)),
            facts=[*word_facts(row[MISSED], MISSED), *([Fact("implied", implied)] if implied else [])],
            errors=[error for error, names in errors.items() if names],
            classes=classes,
            votes={name: signs for name, signs in votes.items() if name in {*classes, *mentioned, *disputed}},
            disputed=bool(disputed),
            badness=badness(row[HALLUCINATED], row[MISSED]),
        )
