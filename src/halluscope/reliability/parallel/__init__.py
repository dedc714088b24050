"""The parallel form of a benchmark: the same questions in other words (HQM, section III.A).

Rows keep their ids and columns, so responses to them are scored like responses to the original.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halluscope.files.writing import json_line, new_file, new_folder
from halluscope.judging.questions import OBJECT_ASKED
from halluscope.reading.datasets import picture_columns, without_pictures
from halluscope.reliability.parallel.rules import (
    OPPOSITE,
    Refused,
    digest,
    frame,
    negate,
    opposite,
    patterns,
    rephrase,
    shuffle,
)
from halluscope.sanitize import short_repr

# The columns that may hold a row's question, in the order of preference.
QUESTIONS = ("question", "text", "instruction", "prompt")
ANSWERS_OF_TEXT = ("answer", "ground_truth")
ANSWERS = (*ANSWERS_OF_TEXT, "gt_answer", "label")
# The values of a `gt_answer` or `label` that mean yes or no; in an `answer`, 1 is a number ("How many dogs ...?").
CODED = (*OPPOSITE, "true", "false")
OPTIONS = ("options", "choices")
NEGATED, REPHRASED, SHUFFLED = "negated", "rephrased", "shuffled"

# Part of the form's name; it goes up when a rule changes. A changed wording changes the digest in the name instead.
VERSION = "1"
LINES = ".jsonl"  # the ending of a file of JSON lines
FORM = "form"  # the column that names the parallel form of a row; original rows do not have it

Row = Mapping[str, Any]


def unknown(row: Row) -> str:
    return ""


@dataclass
class ParallelForm:
    rows: list[dict[str, Any]] = field(default_factory=list)
    originals: list[int] = field(default_factory=list)  # the index of each row's original
    methods: list[str] = field(default_factory=list)  # how each row was made
    # reason -> indices of originals without a form
    refused: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def leave_out(self, reasons: Mapping[int, str], marks: str) -> None:
        """Leave out rows (index -> reason); the form's name then ends in `marks`, the name of the sheet of reasons."""
        for index in sorted(reasons, reverse=True):
            self.refused[reasons[index]].append(self.originals.pop(index))
            del self.rows[index], self.methods[index]
        for row in self.rows:
            row[FORM] += f"-{marks}"


def parallel_form(
    rows: Iterable[Row],
    seed: int = 0,
    wordings: Mapping[str, str | Refused] | None = None,
    by: str = "",
    subject: Callable[[Row], str] = unknown,
) -> ParallelForm:
    """Make the parallel form of a benchmark's rows.

    A row with `options` (or `choices`) is shuffled and rephrased, one whose answer is yes or no is negated, any other
    rephrased; one whose form might be wrong is refused. `wordings` (question -> wording, or why there is none) by `by`
    replace rules for `free_questions`; `subject` says what a yes/no question is about.
    """
    form, name = ParallelForm(), form_name(seed, by)

    def reword(question: str) -> str:
        if wordings is None or "?" not in question:
            return rephrase(question, seed)
        wording = wordings.get(question, Refused("no model was asked for another wording"))
        if isinstance(wording, Refused):
            raise wording
        return wording

    for index, row in enumerate(rows):
        try:
            method, columns = _parallel(row, index, seed, reword, subject)
        except Refused as reason:
            form.refused[str(reason)].append(index)
            continue
        earlier = str(row.get(FORM))  # a row may already be in a parallel form
        named = f"{earlier}-{name}" if earlier.startswith("parallel-") else name
        form.rows.append({**row, **columns, FORM: named})
        form.originals.append(index)
        form.methods.append(method)
    return form


def free_questions(rows: Iterable[Row]) -> list[str]:
    """Return the questions that are neither negated nor shuffled, each once, for a language model to rephrase."""
    questions: dict[str, None] = {}

    def reword(question: str) -> str:
        if "?" in question:
            questions[question] = None
        return question

    for index, row in enumerate(rows):
        with suppress(Refused):
            _parallel(row, index, 0, reword, unknown)
    return list(questions)


def form_name(seed: int, by: str = "") -> str:
    """Return a form's name for its rows and signatures: version, digest of the table, who gave wordings, and seed."""
    return "-".join(["parallel", VERSION, digest(), *([by] if by else []), str(seed)])


def _parallel(
    row: Row, index: int, seed: int, reword: Callable[[str], str], subject: Callable[[Row], str]
) -> tuple[str, dict[str, Any]]:
    """Return how a row's parallel form is made, and the columns that change."""
    column = next((name for name in QUESTIONS if isinstance(row.get(name), str)), None)
    if column is None:
        raise ValueError(
            f"rows[{index}] has no question, only {short_repr(list(row), 120)}; expected {' or '.join(QUESTIONS)}."
        )
    answer = next((name for name in ANSWERS if row.get(name) is not None), None)
    options = next((name for name in OPTIONS if row.get(name) is not None), None)
    if options and answer:
        return SHUFFLED, _shuffled(row, column, options, answer, seed)
    if answer:
        text = str(row[answer]).strip().rstrip(".!").lower()
        known = ("yes", "no") if answer in ANSWERS_OF_TEXT else CODED
        if isinstance(row[answer], bool) or text in known:
            return NEGATED, _negated(row, column, answer, seed, subject(row))
        if patterns().answer_says_more.match(text):
            raise Refused("its answer says more than yes or no")
    return REPHRASED, {column: reword(row[column])}


def _negated(row: Row, column: str, answer: str, seed: int, subject: str) -> dict[str, Any]:
    columns = {column: negate(row[column], seed, subject), answer: opposite(row[answer])}
    asked = OBJECT_ASKED.fullmatch(row[column])
    if asked and "object" not in row:  # the parallel question no longer shows the object
        columns["object"] = asked["object"]
    if isinstance(details := row.get("gt_answer_details"), str):
        # without an opening yes or no, which has changed
        if opening := patterns().leading.match(details):
            rest = details[opening.end() :]
            details = rest if re.search(r"\w", rest) else str(opposite(opening[1].lower()))
        columns["gt_answer_details"] = details
    return columns


def _shuffled(row: Row, column: str, options: str, answer: str, seed: int) -> dict[str, Any]:
    question = row[column]
    if not isinstance(row[options], list):
        raise Refused("its options are not a list of texts")
    starts = ((first.search(question), second) for first, second in patterns().lists)
    if any(start and second.search(question, start.end()) for start, second in starts):
        raise Refused("its question holds the options in their order")
    shuffled, right = shuffle(row[options], row[answer], seed)
    return {column: frame(question, seed), options: shuffled, answer: right}


def write(
    changed: list[dict[str, Any]], rows: Any, originals: list[int], out: Path, together: ExitStack
) -> None:
    """Write JSON lines, or Parquet with the images of the original rows; the output appears when `together` ends."""
    if out.suffix == LINES:
        file = together.enter_context(new_file(out))
        file.writelines(map(json_line, changed))
        file.flush()
        return
    import datasets

    pictures = picture_columns(rows)
    features = None if isinstance(rows, list) else without_pictures(rows).features.copy()
    if features is not None:
        for added in set(changed[0]) - set(features):
            features[added] = datasets.Value("string")
    table = datasets.Dataset.from_list(changed, features=features)
    if pictures:
        images = rows.select_columns(pictures).select(originals)
        table = datasets.concatenate_datasets([table, images], axis=1)
        for column in pictures:
            table = table.cast_column(column, datasets.Image())
    split = "test" if isinstance(rows, list) else str(rows.split or "test")
    data = together.enter_context(new_folder(out)) / "data"
    data.mkdir()
    table.to_parquet(data / f"{split}-00000-of-00001.parquet")
