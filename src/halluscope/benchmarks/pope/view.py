"""Prepares POPE's rows for display: the question, the response, how it was read, and the right answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.pope.metric import LMMS_EVAL
from halluscope.reporting import answered
from halluscope.reporting.answered import WRONG_NO, WRONG_YES
from halluscope.reporting.shown import ABSENT, FOUND, HALLUCINATED, MISSED, UNREADABLE, Fact, Item, said
from halluscope.reporting.tables import is_defined, percent
from halluscope.signature import keys_of

OUTCOMES = {
    ("yes", "yes"): FOUND,
    ("yes", "no"): MISSED,
    ("yes", None): MISSED,
    ("no", "yes"): HALLUCINATED,
    ("no", "no"): ABSENT,
    ("no", None): ABSENT,
}
"""The right answer and how the response was read -> the outcome of the object."""

BADNESS = {"": 0.0, UNREADABLE: 1.0, WRONG_NO: 2.0, WRONG_YES: 3.0}


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order.

    Args:
        rows: the rows of a run's items.jsonl.
        options: the metric's options.
        voters: unused, because no judge votes.
    """
    misses_unread = not _is_of_lmms_eval(options)
    for row, text in zip(rows, said(rows, options), strict=True):
        asked, error = row["inputs"], answered.error(row["said"], row["answer"])
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
        return "The accuracy is undefined: there are no questions."
    right = f"{percent(scores['accuracy'])} of 100 questions are answered correctly"
    if _is_of_lmms_eval(keys_of(scores["signature"])):  # its yes ratio is that of the right answers
        return f"{right}."
    return f"{right}; the response is yes to {percent(scores['yes_ratio'])} of 100."


def _is_of_lmms_eval(choices: Mapping[str, Any]) -> bool:
    """Whether options, or the keys of a signature, say that unreadable responses are counted as lmms-eval does."""
    return (choices.get("convention") or choices.get("parser")) == LMMS_EVAL


def _facts(row: Mapping[str, Any]) -> list[Fact]:
    reply, corrected = row["said"], row["inputs"].get("corrected", "")
    facts = answered.facts(reply, row["answer"])
    if corrected is None:
        facts.append(Fact("corrected answer", [("none: the question is ambiguous", "open")]))
    elif corrected:
        facts.append(Fact("corrected answer", [(corrected, answered.kind(reply, corrected))]))
    return facts
