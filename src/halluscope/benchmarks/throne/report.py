"""Presents THRONE's results as text, the columns of Table 1 and notes, and its rows with their mentions marked.

The lexical judge's reader finds the mentions, whoever judged.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.throne.metric import METRIC
from halluscope.benchmarks.throne.questions import questions_of
from halluscope.benchmarks.throne.yes_shares import MOST_IGNORED
from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.judging.options import VoteOptions
from halluscope.judging.votes import OTHER, SIGNS, UNASKED
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
    Named,
    Report,
    Table,
    best_first,
    class_table,
    filled,
    is_defined,
    percent,
    share,
    table,
)
from halluscope.sanitize import one_line

Values = Mapping[str, Any]

DISPUTED = "disputed"
LONGEST_NAME = 80  # of a judge, in a table

UNDEFINED = "F0.5 is undefined: the descriptions name no class, or the images have none."
MEANING = (
    "F0.5 is {f0_5_cls} of 100; on average over the classes, a class that is described is in the image {precision_cls} "
    "times in 100 (precision, which weighs more), and one that is in the image is described {recall_cls} times in 100 "
    "(recall)."
)

# A score, with F of any beta, of all cells or over classes
SCORE = re.compile(r"(precision|recall|f[\d.e+-]+)_(all|cls)")
SAMPLED = "sampled"
DIFFERENCE = "difference"


def meaning(scores: Values) -> str:
    """Say in a sentence what F0.5 means."""
    if not is_defined(scores[METRIC.principal]):
        return UNDEFINED
    return filled(MEANING, scores)


def report(results: Named, **_: Any) -> Report:
    """Return tables of the results, with notes on each result; the best class-wise F0.5 comes first."""
    best = best_first(METRIC, results)
    columns = score_columns(results)
    scores_header = ["median_characters:g"]
    scores_header += columns
    sampled_header = ["responses", "cells"]
    sampled_header += columns
    overview = [
        table(best, scores_header, intervals=("f0.5_cls",)),
        Table("sampled", sampled_header, _sampled(best, columns), left=2),
        _judges(best),
    ]
    remarks = {}
    for name, result in results:
        remarks[name] = notes(result)
    parts = list(tables.report(overview, remarks))
    for name, result in results:
        if "classes" in result:
            parts.append(class_table(result, name))
    return parts


def score_columns(results: Named) -> list[str]:
    """Return the columns of Table 1 after the length; F with another beta comes last among those of its kind."""
    columns = []
    for _, result in results:
        for name in result:
            if SCORE.fullmatch(name) and name not in columns:
                columns.append(name)
    return sorted(columns, key=lambda name: (name.endswith("cls"), not re.match("[pr]|f1_|f0.5_", name)))


def _sampled(results: Named, columns: Sequence[str]) -> list[list[Cell]]:
    """Return the scores on sampled cells, and the differences from those on all cells (supplement, Table 2)."""
    rows = []
    for name, result in results:
        if DIFFERENCE not in result:
            continue
        on_sample: list[Cell] = [name, SAMPLED]
        difference: list[Cell] = [name, DIFFERENCE]
        for column in columns:
            on_sample.append(share(result.get(f"{column}/{SAMPLED}")))
            difference.append(share(result[DIFFERENCE].get(column)))
        rows.append(on_sample)
        rows.append(difference)
    return rows


def notes(result: Values) -> list[str]:
    """Return what is said of a result below the tables."""
    lines = []
    if result.get("ignored") is not None:
        lines.append(f"cells ignored because the judges disagree: {percent(result['ignored'])} %")
    ignored_present = result.get("ignored_present")
    if ignored_present is not None:
        share_of = percent(ignored_present)
        lines.append(f"objects in the images that are ignored because the judges disagree: {share_of} %")
        if ignored_present > MOST_IGNORED:
            lines.append(
                "more than a fifth of the objects in the images is ignored: if one judge is broken, recall is too "
                "high; compare how often each says yes"
            )
    if any(is_defined(equal) for equal in result.get("equal_votes", {}).values()):
        asked = "all questions"
        if result.get("ignored") is None:
            asked = "the questions that both were asked, which earlier votes left open"
        lines.append(f"equal votes: how often a judge votes as another does, of {asked}")
    if result.get("unparsed"):
        lines.append(
            f"votes that are neither yes nor no: {percent(result['unparsed'])} % (not counted as yes)"
        )
    if result.get("undefined_classes"):
        lines.append(f"classes that are never described, or in no image: {result['undefined_classes']}")
    lines += _further(result)
    lines.append(f"signature: {result['signature']}")
    return lines


def _judges(results: Named) -> Table:
    """Return a row per judge of each result: how often it says yes, votes as the others do, and cannot be read.

    The last two are left out where there is nothing to say: of a single judge, and if all votes can be read.
    """
    has_others = any(
        is_defined(equal) for _, result in results for equal in result.get("equal_votes", {}).values()
    )
    has_unread = any(result.get("unparsed") for _, result in results)
    header = ["responses", "judge", "yes if present", "yes if absent"]
    if has_others:
        header.append("equal votes")
    if has_unread:
        header.append("unreadable")
    rows: list[list[Cell]] = []
    for name, result in results:
        equal = result.get("equal_votes", {})
        unreadable = result.get("unparsed_shares", {})
        for judge, yes in result.get("yes_shares", {}).items():
            row: list[Cell] = [name, one_line(judge, LONGEST_NAME)]
            row += [share(yes["present"]), share(yes["absent"])]
            if has_others:
                row.append(share(equal.get(judge)))
            if has_unread:
                row.append(share(unreadable.get(judge)))
            rows.append(row)
    return Table("judges", header, rows, left=2)


def _further(result: Values) -> Iterator[str]:
    """Yield what the lexical judge took back, and how many cells are sampled."""
    if "explained" in result:
        yield _taken_back(result["explained"])
    if DIFFERENCE in result:
        cells = result["cells"]
        cells_of = result["cells_of"]
        text = f"sampled cells in the scored images: {cells:,}"
        if cells_of is not None:
            text += f" of {cells_of:,} ({percent(cells / cells_of)} %)"
        yield text


def _taken_back(explained: Sequence[Sequence[Values]]) -> str:
    """Say by which rules the lexical judge took mentions back; `explained` has a list of mentions per image."""
    rules: Counter[str | None] = Counter()
    for mentions in explained:
        for mention in mentions:
            rules[mention["taken_back_by"]] += 1
    counts = []
    for rule, count in rules.most_common():
        if rule is not None:
            counts.append(f"{rule} {count:,}")
    taken_back = ", ".join(counts) or "none"
    return f"mentions that the lexical judge read: {rules.total():,}; taken back: {taken_back}"


# Rows


def items(rows: Sequence[Values], options: Values, voters: Values | None) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    reader = LexicalJudge(vocabularies.load(options.get("vocabulary", "coco")))
    questions = questions_of(options.get("questions", VoteOptions.questions))
    for row, response in zip(rows, judged_texts(rows, options), strict=True):
        text = questions.cut(response)
        mentions = reader.mentions(text)
        votes = ballots(row, voters)
        classes = outcomes(row)
        disputed = [name for name, signs in votes.items() if votes_differ(signs)]
        unread = [name for name, signs in votes.items() if SIGNS[OTHER - UNASKED] in signs]
        mentioned = {mention.object for mention in mentions}
        shown_classes = mentioned.union(classes, disputed, unread)
        missed = row[MISSED]
        facts = list(word_facts(missed, MISSED))
        facts += implied_facts(classes, mentioned)
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks_of(mentions, classes, disputed),
            facts=facts,
            errors=errors_of(row, disputed),
            classes=classes,
            votes={name: signs for name, signs in votes.items() if name in shown_classes},
            disputed=bool(disputed),
            badness=badness(row[HALLUCINATED], missed),
        )


def errors_of(row: Values, disputed: Collection[str]) -> list[str]:
    """Return the kinds of errors that a row has."""
    errors = []
    if row[HALLUCINATED]:
        errors.append(HALLUCINATED)
    if row[MISSED]:
        errors.append(MISSED)
    if disputed:
        errors.append(DISPUTED)
    return errors


def marks_of(
    mentions: Sequence[Mention], classes: Mapping[str, str], disputed: Collection[str]
) -> list[Mark]:
    """Return the marks of mentions, in the order of their places."""
    affirmed = {mention.object for mention in mentions if mention.implied}
    marks = []
    for mention in mentions:
        outcome = classes.get(mention.object, "")
        kind, words = outcome_of(mention, outcome, affirmed, disputed)
        mark = Mark(
            start=mention.start,
            end=mention.end,
            kind=kind,
            says=f"{mention.object}: {words}",
            of=mention.object,
        )
        marks.append(mark)
    return sorted(marks, key=lambda mark: (mark.start, mark.end))


def outcome_of(
    mention: Mention, outcome: str, affirmed: Collection[str], disputed: Collection[str]
) -> tuple[Kind, str]:
    """Return the kind of a mention's mark, and what it says of the class, whose outcome this is."""
    if outcome in KIND_OF and (mention.implied or mention.object not in affirmed):
        if mention.implied:
            return KIND_OF[outcome], outcome
        # the judges may count a class although a rule takes back every mention of it
        return KIND_OF[outcome], f"{outcome} (though a rule takes it back: {mention.rule})"
    if not mention.implied:
        return "back", f"not counted ({mention.rule})"
    if outcome != MISSED and mention.object in disputed:
        return "open", "mentioned, but the judges do not agree"
    return "back", "mentioned, but the judges say no"


def implied_facts(classes: Mapping[str, str], mentioned: Collection[str]) -> list[Fact]:
    """Return the classes that judges counted although no word mentions them, as a fact."""
    implied: list[tuple[str, Kind]] = []
    for name, outcome in classes.items():
        if name not in mentioned and outcome in KIND_OF:
            implied.append((f"{name}: {outcome}", KIND_OF[outcome]))
    if not implied:
        return []
    return [Fact("implied", implied)]
