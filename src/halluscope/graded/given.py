"""Verdicts that a user gives: as numbers, or as a judge's own texts, which are read as the replies to a prompt."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halluscope.judging.options import GIVEN
from halluscope.judging.prompts import said_of
from halluscope.judging.verdicts import Criterion, Judged, from_given, reply_of
from halluscope.options import check_effect
from halluscope.validation import listed

if TYPE_CHECKING:
    from halluscope.graded.metric import Case, Graded, Verdict

AUTHORS = "authors"
"""Whose prompt other people's texts reply to, unless the user says otherwise."""


def judged(graded: "Graded", case: "Case", given: Any) -> Judged:
    """Return the verdicts that a user gives.

    Raises:
        WithoutEffect: if the user also says how replies are read, and none of the verdicts is a text.
        ValueError: for bad verdicts, and if none of the texts can be read.
    """
    name = graded.option
    verdicts = listed(name, given, "a list, one per row", len(case.rows))
    names = [criterion.name for criterion in graded.criteria]
    replies = [reply_of(verdict, names) for verdict in verdicts]
    if all(reply is None for reply in replies):
        why = f"the {name} are given as numbers, so no reply is read"
        check_effect(case.written, graded.reply_options, why)
        return from_given(name, verdicts, graded.criteria, len(case.rows))
    return _of_texts(graded, case, verdicts, replies)


def _of_texts(
    graded: "Graded", case: "Case", verdicts: Sequence[Any], replies: Sequence[str | None]
) -> Judged:
    """Read the texts as replies to the prompt that the options name, and take numbers as they are."""
    written = {name: case.written.get(name) for name in graded.choices}
    if written.get("prompts", AUTHORS) is None and AUTHORS in graded.choices["prompts"]:
        written["prompts"] = AUTHORS
    prompt = graded.prompt(**graded.defaults(written))
    numbers: list[Any] = []
    readable: list[
        float
    ] = []  # whether a text could be read; of the authors' readings, which give 0 otherwise
    read: list[Verdict | None] = []
    refusals = []
    for verdict, reply, response in zip(verdicts, replies, case.texts, strict=True):
        if reply is None:
            numbers.append(verdict)
            readable.append(1.0)
            continue
        found = graded.read_text(prompt, reply, response)
        read.append(found)
        if found is None:
            refusals.append(graded.refusal(prompt, reply, ""))
            numbers.append(None)
            readable.append(np.nan)
        else:
            numbers.append(_plain(graded.criteria, found.numbers))
            readable.append(float(found.numbers.get("readable", 1.0)))
    if refusals:
        message = f"{len(refusals):,} of the {len(read):,} texts in {graded.option} have no readable verdict."
        message += said_of(refusals)
        if len(refusals) == len(read):
            raise ValueError(
                f"{message} Say by `prompts` which prompt they reply to, if there is another one."
            )
        warnings.warn(message, stacklevel=4)
    graded.warn([read])
    of_numbers = from_given(graded.option, numbers, graded.criteria, len(case.rows))
    criteria = [*of_numbers.criteria]
    values = dict(of_numbers.values)
    for flag in graded.data["verdict"].get("flags", ()):
        criteria.append(Criterion(flag, bool))
        values[flag] = np.array([readable])
    return of_numbers._replace(criteria=criteria, values=values, key=[GIVEN, prompt.key])


def _plain(criteria: Sequence[Criterion], numbers: Mapping[str, float]) -> dict[str, Any]:
    """Return the numbers of a reply as a user would give them."""
    return {criterion.name: criterion.plain(numbers[criterion.name]) for criterion in criteria}
