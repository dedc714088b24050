"""The parallel form of a benchmark: the same questions in other words (HQM, section III.A).

Yes/no questions are negated and get the opposite answer; options are shuffled; prompts and free-form questions are
rephrased. Rows keep their ids and columns, so responses to them are scored like responses to the original.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from halluscope.foreign import brief
from halluscope.judging.questions import OBJECT_ASKED
from halluscope.reliability.parallel.negation import OPPOSITE, Refused, negate, opposite
from halluscope.reliability.parallel.options import shuffle
from halluscope.reliability.parallel.rephrasing import frame, rephrase
from halluscope.reliability.parallel.table import digest

QUESTIONS = ("question", "text", "instruction", "prompt")
"""The columns that may hold a row's question, in the order of preference."""

ANSWERS_OF_TEXT = ("answer", "ground_truth")
ANSWERS = (*ANSWERS_OF_TEXT, "gt_answer", "label")
YES_NO = ("yes", "no")
CODED = (*OPPOSITE, "true", "false")
"""The values of a `gt_answer` or `label` that mean yes or no; in an `answer`, 1 is a number ("How many dogs ...?")."""

OPTIONS = ("options", "choices")
NEGATED, REPHRASED, SHUFFLED = "negated", "rephrased", "shuffled"

VERSION = "1"
"""Part of the form's name; it goes up when a rule changes. A changed wording changes the digest in the name instead."""

FORM = "form"
"""The column that names the parallel form of a row; original rows do not have it."""

_LEADING = re.compile(r"\s*(yes|no)\b(?:[\s,.:;!]+|$)(?!answer)", re.IGNORECASE)
_SAYS_MORE = re.compile(r"(?:yes|no)[,.:;!]\s")
_LETTERS = tuple(tuple(re.compile(rf"(?:^|[\s(\[]){one}[.):\]]") for one in pair) for pair in ("AB", "12"))

Row = Mapping[str, Any]


def unknown(row: Row) -> str:
    """Return "", for a question whose subject is unknown."""
    return ""


@dataclass(frozen=True)
class ParallelForm:
    """A parallel form of rows.

    Attributes:
        rows: the parallel rows, in order.
        kept: the place of each parallel row's original among the given rows.
        done: how each parallel row was made: "negated", "shuffled" or "rephrased".
        refused: the reason why rows have no parallel form -> the places of these rows.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    refused: dict[str, list[int]] = field(default_factory=dict)

    @property
    def how(self) -> dict[str, int]:
        """How many rows were "negated", "shuffled" and "rephrased"."""
        return dict(Counter(self.done))

    def without(self, reasons: Mapping[int, str], marks: str) -> "ParallelForm":
        """Return the form without the rows at these indices of `rows`; the form's name then ends in `marks`.

        Args:
            reasons: the place of a row -> why it is left out.
            marks: the name of the sheet that gives the reasons.
        """
        left = [i for i in range(len(self.rows)) if i not in reasons]
        refused = {reason: [*places] for reason, places in self.refused.items()}
        for i, reason in reasons.items():
            refused.setdefault(reason, []).append(self.kept[i])
        return ParallelForm(
            [{**self.rows[i], FORM: f"{self.rows[i][FORM]}-{marks}"} for i in left],
            [self.kept[i] for i in left],
            [self.done[i] for i in left],
            refused,
        )


def parallel_form(
    rows: Iterable[Row],
    seed: int = 0,
    wordings: Mapping[str, str | Refused] | None = None,
    by: str = "",
    subject: Callable[[Row], str] = unknown,
) -> ParallelForm:
    """Make the parallel form of a benchmark's rows.

    The columns of a row decide what is done to it: a row with `options` (or `choices`) is shuffled and rephrased, a row
    whose answer is yes or no is negated, and any other row is rephrased.

    Args:
        rows: rows of any dataset of halluscope, or any rows with a question (`question`, `text`, `instruction` or
            `prompt`) and, except for descriptions, an answer (`answer`, `gt_answer`, `label` or `ground_truth`).
        seed: chooses wordings and orders. The same row and seed give the same parallel row, whatever the other rows
            are.
        wordings: other wordings for `free_questions`, to use instead of rules: question -> its other wording, or why it
            has no other wording.
        by: who gave these wordings, for the form's name.
        subject: returns what a row's yes/no question is about, if the benchmark knows it (`subject` of its `rows`), or
            "" to let rules find where the subject ends.

    Returns:
        The rows that have a parallel form, and why other rows have none. A row is refused if its form might be wrong.

    Raises:
        ValueError: for a row without a question, or if there are no rows.
    """
    form, name = ParallelForm(), form_name(seed, by)
    place = -1
    for place, row in enumerate(rows):
        try:
            how, changed = _parallel(
                row, place, seed, lambda question: _said(question, seed, wordings), subject
            )
        except Refused as reason:
            form.refused.setdefault(str(reason), []).append(place)
            continue
        form.rows.append({**row, **changed, FORM: _after(row.get(FORM), name)})
        form.kept.append(place)
        form.done.append(how)
    if place < 0:
        raise ValueError("There are no rows; expected a dataset's rows, each with a question.")
    return form


def free_questions(rows: Iterable[Row]) -> list[str]:
    """Return the questions that are neither negated nor shuffled, each once, for a language model to rephrase.

    Raises:
        ValueError: for a row without a question.
    """
    found: dict[str, None] = {}

    def say(question: str) -> str:
        if "?" in question:
            found[question] = None
        return question

    for place, row in enumerate(rows):
        with suppress(Refused):
            _parallel(row, place, 0, say, unknown)
    return list(found)


def form_name(seed: int, by: str = "") -> str:
    """Return a parallel form's name, for its rows and for signatures.

    It holds the rules' version, a digest of their wordings, `by` (who gave other wordings, if any), and the seed.
    """
    return "-".join(["parallel", VERSION, digest(), *([by] if by else []), str(seed)])


def _after(before: object, name: str) -> str:
    """Return the form's name for a row that may already be in a parallel form."""
    return f"{before}-{name}" if isinstance(before, str) and before.startswith("parallel-") else name


def _said(question: str, seed: int, wordings: Mapping[str, str | Refused] | None) -> str:
    """Return a question's other wording: the given wording, or that of the rules."""
    if wordings is None or "?" not in question:
        return rephrase(question, seed)
    wording = wordings.get(question, Refused("no model was asked for another wording"))
    if isinstance(wording, Refused):
        raise wording
    return wording


def _parallel(
    row: Row, place: int, seed: int, say: Callable[[str], str], subject: Callable[[Row], str]
) -> tuple[str, dict[str, Any]]:
    """Return what is done to a row, and the columns that change."""
    column = next((name for name in QUESTIONS if isinstance(row.get(name), str)), None)
    if column is None:
        raise ValueError(
            f"rows[{place}] has no question, only {brief(list(row), 120)}; expected {' or '.join(QUESTIONS)}."
        )
    question = row[column]
    answer = next((name for name in ANSWERS if row.get(name) is not None), None)
    options = next((name for name in OPTIONS if row.get(name) is not None), None)
    if options and answer:
        return SHUFFLED, _shuffled(row, column, options, answer, seed)
    if answer and _is_yes_or_no(row[answer], YES_NO if answer in ANSWERS_OF_TEXT else CODED):
        return NEGATED, _negated(row, column, answer, seed, subject(row))
    return REPHRASED, {column: say(question)}


def _is_yes_or_no(answer: object, known: Sequence[str]) -> bool:
    """Whether an answer is yes or no; refuses an answer that says more than that."""
    if isinstance(answer, bool):
        return True
    text = str(answer).strip().rstrip(".!").lower()
    if text not in known and _SAYS_MORE.match(text):
        raise Refused("its answer says more than yes or no")
    return text in known


def _negated(row: Row, column: str, answer: str, seed: int, subject: str) -> dict[str, Any]:
    question = row[column]
    changed = {column: negate(question, seed, subject), answer: opposite(row[answer])}
    asked = OBJECT_ASKED.fullmatch(question)
    if asked and "object" not in row:  # the parallel question no longer shows the object
        changed["object"] = asked["object"]
    if isinstance(row.get("gt_answer_details"), str):
        changed["gt_answer_details"] = _details(row["gt_answer_details"])
    return changed


def _shuffled(row: Row, column: str, options: str, answer: str, seed: int) -> dict[str, Any]:
    if not isinstance(row[options], list):
        raise Refused("its options are not a list of texts")
    if _holds_options(row[column]):
        raise Refused("its question holds the options in their order")
    shuffled, right = shuffle(row[options], row[answer], seed)
    return {column: frame(row[column], seed), options: shuffled, answer: right}


def _holds_options(question: str) -> bool:
    """Whether a question itself lists options by letters or numbers: "A. cat B. dog"."""
    starts = ((first.search(question), second) for first, second in _LETTERS)
    return any(start and second.search(question, start.end()) for start, second in starts)


def _details(details: str) -> str:
    """Return a row's details of the right answer, without an opening yes or no, which has changed."""
    opening = _LEADING.match(details)
    if not opening:
        return details
    rest = details[opening.end() :]
    return rest if re.search(r"\w", rest) else str(opposite(opening[1].lower()))
