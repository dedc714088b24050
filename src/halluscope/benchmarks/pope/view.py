"""Prepares POPE's rows for display: the question, the response, how it was read, and the right answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.pope.metric import CONVENTIONS, own_convention
from halluscope.benchmarks.pope.scoring import Conventions
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
from halluscope.reporting.tables import is_defined, percent
from halluscope.signature import keys_of

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


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    misses_unread = _conventions(options).unread_missed
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
    accuracy, conventions = percent(scores["accuracy"]), _conventions(keys_of(scores["signature"]))
    if not conventions.unread_wrong:
        yes = percent(scores["yes_ratio"])
        return f"{accuracy} of 100 readable responses are right; they are yes to {yes} of 100."
    right = f"{accuracy} of 100 questions are answered correctly"
    if conventions.yes_of_labels:
        return f"{right}."
    return f"{right}; the response is yes to {percent(scores['yes_ratio'])} of 100."


def _conventions(choices: Mapping[str, Any]) -> Conventions:
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
