"""Presents POPE's results as text, a row per sampling and one for all, and its rows as how each response was read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.pope.metric import CONVENTIONS, Convention, own_convention
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
    Named,
    Notes,
    Number,
    Report,
    Table,
    class_table,
    is_defined,
    percent,
    share,
)
from halluscope.signature import keys_of

POOLED = "pooled"

# The right answer and how the response was read -> the outcome of the object.
OUTCOMES = {
    ("yes", "yes"): FOUND,
    ("yes", "no"): MISSED,
    ("yes", None): MISSED,
    ("no", "yes"): HALLUCINATED,
    ("no", "no"): ABSENT,
    ("no", None): ABSENT,
}

BADNESS = {"": 0.0, UNREADABLE: 1.0, WRONG_NO: 2.0, WRONG_YES: 3.0}

# The scores shown, followed by the mean of the samplings' F1, which LLaVA reports.
COLUMNS = ("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed")


def report(results: Named, *, every: bool = False, **_: Any) -> Report:
    """Return tables of the results, in percent, and the signatures."""
    parts: list[Table | Notes] = [_table(results, every)]
    if any("corrected" in result for _, result in results):
        parts.append(_correction(results))
    for name, result in results:
        read = f"{name}, {result['parser']}"
        parts.append(Notes([f"signature: {result['signature']}"], read))
        if "classes" in result:
            parts.append(class_table(result, read))
    return parts


def _table(results: Named, pooled_only: bool) -> Table:
    rows: list[list[Cell]] = []
    for name, result in results:
        intervals, parser = result.get("interval", {}), result["parser"]
        samplings = result.get("samplings", {})
        (of_all,) = samplings if len(samplings) == 1 else (POOLED,)
        for sampling, scores in ({} if pooled_only or of_all != POOLED else samplings).items():
            of_sampling = intervals.get("samplings", {}).get(sampling, {})
            rows.append([name, parser, sampling, *_row(scores, of_sampling)])
        rows.append([name, parser, of_all, *_row(result, intervals)])
    header = ["responses", "parser", "sampling", "rows", *COLUMNS, "f1_mean"]
    return Table("scores", header, rows, left=3, ranked=True, intervals=("accuracy", "f1"))


def _correction(results: Named) -> Table:
    """Tabulate each sampling's F1 and rank by POPE's own right answers and by the corrected ones."""
    rows: list[list[Cell]] = []
    samplings = dict.fromkeys(name for _, result in results for name in result.get("samplings", ()))
    for sampling in (*samplings, POOLED):
        other = [_of(result["corrected"], sampling) for _, result in results]
        f1 = [[of["f1"] for of in each] for each in ([_of(result, sampling) for _, result in results], other)]
        for i, (name, result) in enumerate(results):
            own, corrected = (scores[i] for scores in f1)
            ranks = [1 + sum(score > scores[i] for score in scores) for scores in f1]
            moved = Number(corrected - own, "+.1f")
            about = [name, result["parser"], sampling, other[i]["rows"]]
            rows.append([*about, share(own), share(corrected), moved, *ranks])
    names = ("f1", "corrected f1", "moved", "rank", "corrected rank")
    return Table("corrected", ["responses", "parser", "sampling", "rows", *names], rows, left=3)


def _of(result: Mapping[str, Any], sampling: str) -> Mapping[str, Any]:
    """Return the scores of a sampling, or of all questions."""
    found: Mapping[str, Any] = result if sampling == POOLED else result["samplings"][sampling]
    return found


def _row(scores: Mapping[str, Any], intervals: Mapping[str, Any]) -> list[Cell]:
    return [
        scores["rows"],
        *(share(scores.get(column), intervals.get(column, ())) for column in (*COLUMNS, "f1_mean")),
    ]


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    misses_unread = _convention(options).unread_missed
    for row, text in zip(rows, judged_texts(rows, options), strict=True):
        asked, error = row["inputs"], answer_error(row["said"], row["answer"])
        outcome = OUTCOMES[row["answer"], row["said"]]
        is_counted = row["said"] or (outcome == MISSED and misses_unread)
        yield Item(
            id=f"{row['sampling']} {row['question_id']}".strip(),
            text=text,
            image=str(asked["image_ids"]) if "image_ids" in asked else None,
            question=asked.get("questions", ""),
            facts=_facts(row),
            errors=[error] if error else [],
            classes={str(asked["objects"]): outcome} if is_counted and "objects" in asked else {},
            parts={"sampling": row["sampling"]} if row["sampling"] else {},
            badness=BADNESS[error],
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Say in a sentence what the accuracy means."""
    if not is_defined(scores["accuracy"]):
        return "The accuracy is undefined: there is no response to count."
    accuracy, convention = percent(scores["accuracy"]), _convention(keys_of(scores["signature"]))
    if not convention.unread_wrong:
        yes = percent(scores["yes_ratio"])
        return f"{accuracy} of 100 readable responses are right; they are yes to {yes} of 100."
    right = f"{accuracy} of 100 questions are answered correctly"
    if convention.yes_of_labels:
        return f"{right}."
    return f"{right}; the response is yes to {percent(scores['yes_ratio'])} of 100."


def _convention(choices: Mapping[str, Any]) -> Convention:
    """Return how options, or the keys of a signature, count unreadable responses."""
    return CONVENTIONS[choices.get("convention") or own_convention(choices.get("parser", ""))]


def _facts(row: Mapping[str, Any]) -> list[Fact]:
    reply, corrected = row["said"], row["inputs"].get("corrected", "")
    facts = answer_facts(reply, row["answer"])
    if corrected is None:
        facts.append(Fact("corrected answer", [("none: the question is ambiguous", "open")]))
    elif corrected:
        facts.append(Fact("corrected answer", [(corrected, answer_kind(reply, corrected))]))
    return facts
