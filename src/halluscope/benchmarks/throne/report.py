"""Presents THRONE's results as text, the columns of Table 1 and notes, and its rows with their mentions marked.

The lexical judge's reader finds the mentions, whoever judged; the rows and the votes say which mentions count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.throne import prompts
from halluscope.judging.lexical import LexicalJudge
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
RANKED_BY = "f0.5_cls"  # THRONE's principal metric (section 3.1)
DISPUTED = "disputed"


def report(results: Named, **_: Any) -> Report:
    """Return tables of the results, with notes on each result; the best class-wise F0.5 comes first."""
    best = ranked(results, RANKED_BY)
    # The columns of THRONE's Table 1, after `LENGTH`; F with another beta comes last among those of its kind.
    names = dict.fromkeys(name for _, result in results for name in result)
    known = [name for name in names if re.fullmatch(r"(precision|recall|f[\d.e+-]+)_(all|cls)", name)]
    columns = sorted(known, key=lambda name: (name.endswith("cls"), not re.match("[pr]|f1_|f0.5_", name)))
    rows = [
        [*label, plain(result.get(LENGTH), "g"), *(score(result, name) for name in columns)]
        for label, (_, result) in zip(labels(best), best, strict=True)
    ]
    # The scores on sampled cells, and the differences from those on all cells (supplement, Table 2)
    sampled = [
        [name, what, *(share(result[what].get(column)) for column in columns)]
        for name, result in best
        for what in ("sampled", "difference")
        if what in result
    ]
    header = [*label_names(best), LENGTH, *columns]
    return [
        Table("scores", header, rows, ranked=True, intervals=(RANKED_BY,)),
        *([Table("sampled", ["responses", "cells", *columns], sampled, left=2)] if sampled else []),
        *below({name: remarks(result) for name, result in results}),
        *(part for name, result in results if "corrected" in result for part in _corrected(result, name)),
        *(class_table(result, name) for name, result in results if "classes" in result),
    ]


def _corrected(result: Mapping[str, Any], of: str) -> list[Table | Notes]:
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
        rules = Counter(mention["taken_back_by"] for image in result["explained"] for mention in image)
        counts = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common() if rule is not None)
        total = f"{rules.total():,}"
        lines.append(f"mentions that the lexical judge read: {total}; taken back: {counts or 'none'}")
    if "sampled" in result:
        cells, of = result["sampled"]["cells"], result["sampled"]["cells_of"]
        part = "" if of is None else f" of {of:,} ({percent(cells / of)} %)"
        lines.append(f"sampled cells in the scored images: {cells:,}{part}")
    return [*lines, f"signature: {result['signature']}"]


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Mapping[str, Any] | None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    reader = LexicalJudge(vocabularies.load(options.get("vocabulary", "coco")))
    cut = prompts.load(options.get("questions", VoteOptions.questions)).cut
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
