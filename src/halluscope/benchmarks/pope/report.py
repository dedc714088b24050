"""Presents POPE's results as text, a row per sampling and one for all, and its rows as how each response was read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.pope.metric import CONVENTIONS, own_convention
from halluscope.reporting.report_items import (
    ABSENT,
    FOUND,
    HALLUCINATED,
    MISSED,
    UNREADABLE,
    WRONG_NO,
    WRONG_YES,
    Fact,
    Item,
    answer_error,
    answer_facts,
    answer_kind,
    judged_texts,
)
from halluscope.reporting.tables import (
    Cell,
    Declared,
    Named,
    Notes,
    Report,
    Table,
    class_table,
    gap,
    score,
    share,
)

POOLED = "pooled"

BADNESS = {"": 0.0, UNREADABLE: 1.0, WRONG_NO: 2.0, WRONG_YES: 3.0}

# The scores shown, followed by the mean of the samplings' F1, which LLaVA reports.
COLUMNS = ("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed", "f1_mean")

meaning = Declared(__file__).meaning


def report(results: Named, *, every: bool = False, **_: Any) -> Report:
    """Return tables of the results, in percent, and the signatures."""
    rows: list[list[Cell]] = []
    for name, result in results:
        ends, parts = result.get("interval", {}), result.get("samplings", {})
        if len(parts) == 1:
            parts = dict.fromkeys(parts, result)
        else:
            of = ends.get("samplings", {})
            each = (
                {} if every else {part: {**one, "interval": of.get(part, {})} for part, one in parts.items()}
            )
            parts = {**each, POOLED: result}
        about = [name, result["parser"]]
        rows += [
            [*about, part, one["rows"], *(score(one, column) for column in COLUMNS)]
            for part, one in parts.items()
        ]
    header = ["responses", "parser", "sampling", "rows"]
    found: list[Table | Notes] = [
        Table("scores", [*header, *COLUMNS], rows, left=3, ranked=True, intervals=("accuracy", "f1"))
    ]
    if any("corrected" in result for _, result in results):
        names = ("f1", "corrected f1", "moved", "rank", "corrected rank")
        found.append(Table("corrected", [*header, *names], [*_correction(results)], left=3))
    for name, result in results:
        read = f"{name}, {result['parser']}"
        found.append(Notes([f"signature: {result['signature']}"], read))
        if "classes" in result:
            found.append(class_table(result, read))
    return found


def _correction(results: Named) -> Iterator[list[Cell]]:
    """Yield each sampling's F1 and rank by POPE's own right answers and by the corrected ones."""
    both = [
        [{**one.get("samplings", {}), POOLED: one} for one in (result, result["corrected"])]
        for _, result in results
    ]
    for sampling in sorted(dict.fromkeys(part for own, _ in both for part in own), key=POOLED.__eq__):
        pairs = [[of[sampling]["f1"] for of in each] for each in both]
        for (name, result), (_, other), pair in zip(results, both, pairs, strict=True):
            own, corrected = pair
            yield [
                name,
                result["parser"],
                sampling,
                other[sampling]["rows"],
                share(own),
                share(corrected),
                gap(corrected - own, False),
                *(1 + sum(each[i] > pair[i] for each in pairs) for i in (0, 1)),
            ]


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    named = options.get("convention") or own_convention(options.get("parser", ""))
    misses_unread = CONVENTIONS[named].unread_missed
    for row, text in zip(rows, judged_texts(rows, options), strict=True):
        asked, said, right = row["inputs"], row["said"], row["answer"]
        error, facts = answer_error(said, right), answer_facts(said, right)
        outcomes = (FOUND, MISSED) if right == "yes" else (HALLUCINATED, ABSENT)
        outcome = outcomes[said != "yes"]
        is_counted = said or (outcome == MISSED and misses_unread)
        if better := asked.get("corrected"):
            facts.append(Fact("corrected answer", [(better, answer_kind(said, better))]))
        elif "corrected" in asked:
            facts.append(Fact("corrected answer", [("none: the question is ambiguous", "open")]))
        yield Item(
            id=f"{row['sampling']} {row['question_id']}".strip(),
            text=text,
            image=str(asked["image_ids"]) if "image_ids" in asked else None,
            question=asked.get("questions", ""),
            facts=facts,
            errors=[error] if error else [],
            classes={str(asked["objects"]): outcome} if is_counted and "objects" in asked else {},
            parts={"sampling": row["sampling"]} if row["sampling"] else {},
            badness=BADNESS[error],
        )
