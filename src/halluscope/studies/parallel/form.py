"""Makes and writes the parallel form of a benchmark's rows.

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
from halluscope.sanitize import short_repr
from halluscope.studies.parallel.rules import (
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

# The columns that may hold a row's question, in the order of preference.
QUESTIONS = ("question", "text", "instruction", "prompt")
ANSWERS_OF_TEXT = ("answer", "ground_truth")
ANSWERS = ("answer", "ground_truth", "gt_answer", "label")
# The values of a `gt_answer` or `label` that mean yes or no; in an `answer`, 1 is a number ("How many dogs ...?").
CODED = OPPOSITE.keys() | {"true", "false"}
OPTIONS = ("options", "choices")

# How a row's form is made
NEGATED = "negated"
REPHRASED = "rephrased"
SHUFFLED = "shuffled"

# Part of the form's name; it goes up when a rule changes. A changed wording changes the digest in the name instead.
VERSION = "1"
LINES = ".jsonl"  # the ending of a file of JSON lines
FORM = "form"  # the column that names the parallel form of a row; original rows do not have it

Row = Mapping[str, Any]


def unknown(row: Row) -> str:
    """Say nothing of what a row's question is about."""
    return ""


@dataclass
class ParallelForm:
    """The rows of a parallel form."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    originals: list[int] = field(default_factory=list)  # the index of each row's original
    methods: list[str] = field(default_factory=list)  # how each row was made
    # reason -> indices of originals without a form
    refused: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def leave_out(self, reasons: Mapping[int, str], marks: str) -> None:
        """Leave out rows (index -> reason); the form's name then ends in `marks`, the name of the sheet of reasons."""
        for index in sorted(reasons, reverse=True):
            self.refused[reasons[index]].append(self.originals.pop(index))
            del self.rows[index]
            del self.methods[index]
        for row in self.rows:
            row[FORM] += f"-{marks}"


@dataclass(frozen=True)
class Rewording:
    """How questions are put in other words."""

    seed: int = 0
    # question -> wording, or why there is none, in place of rules for `free_questions`; None for rules
    wordings: Mapping[str, str | Refused] | None = None
    subject: Callable[[Row], str] = unknown  # what a row's yes/no question is about; "" where unknown

    def reword(self, question: str) -> str:
        """Say a prompt or a free-form question in other words."""
        if self.wordings is None or "?" not in question:
            return rephrase(question, self.seed)
        wording = self.wordings.get(question, Refused("no model was asked for another wording"))
        if isinstance(wording, Refused):
            raise wording
        return wording


def parallel_form(
    rows: Iterable[Row],
    seed: int = 0,
    wordings: Mapping[str, str | Refused] | None = None,
    wordings_by: str = "",
    subject: Callable[[Row], str] = unknown,
) -> ParallelForm:
    """Make the parallel form of a benchmark's rows.

    A row with `options` (or `choices`) is shuffled and rephrased, one whose answer is yes or no is negated, any other
    rephrased; one whose form might be wrong is refused. `wordings` (question -> wording, or why there is none) by
    `wordings_by` replace rules for `free_questions`; `subject` says what a yes/no question is about.
    """
    form = ParallelForm()
    name = form_name(seed, wordings_by)
    rewording = Rewording(seed, wordings, subject)
    for index, row in enumerate(rows):
        method = method_of(row, index)
        try:
            columns = changed_columns(row, method, rewording)
        except Refused as reason:
            form.refused[str(reason)].append(index)
            continue
        earlier = str(row.get(FORM))  # a row may already be in a parallel form
        columns[FORM] = name
        if earlier.startswith("parallel-"):
            columns[FORM] = f"{earlier}-{name}"
        form.rows.append({**row, **columns})
        form.originals.append(index)
        form.methods.append(method.name)
    return form


def free_questions(rows: Iterable[Row]) -> list[str]:
    """Return the questions that are neither negated nor shuffled, each once, for a language model to rephrase."""
    questions: dict[str, None] = {}
    for index, row in enumerate(rows):
        method = method_of(row, index)
        with suppress(Refused):
            check_answer(row, method)
            if method.name == REPHRASED and "?" in row[method.question]:
                questions[row[method.question]] = None
    return list(questions)


def form_name(seed: int, wordings_by: str = "") -> str:
    """Return a form's name for its rows and signatures: version, digest of the table, who gave wordings, and seed."""
    parts = ["parallel", VERSION, digest()]
    if wordings_by:
        parts.append(wordings_by)
    parts.append(str(seed))
    return "-".join(parts)


@dataclass(frozen=True)
class Method:
    """How a row's parallel form is made."""

    name: str
    question: str  # the columns of the row's question, answer and options; "" for none
    answer: str = ""
    options: str = ""


def method_of(row: Row, index: int) -> Method:
    """Return how a row's parallel form is made."""
    questions = [name for name in QUESTIONS if isinstance(row.get(name), str)]
    if not questions:
        raise ValueError(
            f"rows[{index}] has no question, only {short_repr(list(row), 120)}; expected {' or '.join(QUESTIONS)}."
        )
    answer = _first_column(row, ANSWERS)
    options = _first_column(row, OPTIONS)
    name = REPHRASED
    if answer and options:
        name = SHUFFLED
    elif answer:
        yes_and_no = CODED
        if answer in ANSWERS_OF_TEXT:
            yes_and_no = {"yes", "no"}
        if isinstance(row[answer], bool) or str(row[answer]).strip().rstrip(".!").lower() in yes_and_no:
            name = NEGATED
    return Method(name, questions[0], answer, options)


def _first_column(row: Row, names: Iterable[str]) -> str:
    """Return the first of these columns that holds something; "" for none."""
    for name in names:
        if row.get(name) is not None:
            return name
    return ""


def check_answer(row: Row, method: Method) -> None:
    """Refuse a row whose answer says yes or no and more, which a negated question would contradict."""
    if method.name == REPHRASED and method.answer:
        text = str(row[method.answer]).strip().rstrip(".!").lower()
        if patterns().answer_says_more.match(text):
            raise Refused("its answer says more than yes or no")


def changed_columns(row: Row, method: Method, rewording: Rewording) -> dict[str, Any]:
    """Return the columns of a row that change in its parallel form."""
    if method.name == SHUFFLED:
        return _shuffled(row, method, rewording.seed)
    if method.name == NEGATED:
        return _negated(row, method, rewording)
    check_answer(row, method)
    return {method.question: rewording.reword(row[method.question])}


def _negated(row: Row, method: Method, rewording: Rewording) -> dict[str, Any]:
    question = row[method.question]
    columns = {
        method.question: negate(question, rewording.seed, rewording.subject(row)),
        method.answer: opposite(row[method.answer]),
    }
    about_object = OBJECT_ASKED.fullmatch(question)
    if about_object and "object" not in row:  # the parallel question no longer shows the object
        columns["object"] = about_object["object"]
    details = row.get("gt_answer_details")
    if isinstance(details, str):
        columns["gt_answer_details"] = _without_yes_or_no(details)
    return columns


def _without_yes_or_no(details: str) -> str:
    """Return the details of an answer without an opening yes or no, which has changed."""
    opening = patterns().leading.match(details)
    if not opening:
        return details
    rest = details[opening.end() :]
    if re.search(r"\w", rest):
        return rest
    return str(opposite(opening[1].lower()))


def _shuffled(row: Row, method: Method, seed: int) -> dict[str, Any]:
    question = row[method.question]
    if not isinstance(row[method.options], list):
        raise Refused("its options are not a list of texts")
    for first, second in patterns().lists:
        start = first.search(question)
        if start and second.search(question, start.end()):
            raise Refused("its question holds the options in their order")
    shuffled = shuffle(row[method.options], row[method.answer], seed)
    return {
        method.question: frame(question, seed),
        method.options: shuffled.options,
        method.answer: shuffled.answer,
    }


def write(
    changed: list[dict[str, Any]], rows: Any, originals: list[int], out: Path, together: ExitStack
) -> None:
    """Write JSON lines, or Parquet with the images of the original rows; the output appears when `together` ends."""
    if out.suffix == LINES:
        file = together.enter_context(new_file(out))
        for row in changed:
            file.write(json_line(row))
        file.flush()
        return
    import datasets

    pictures = picture_columns(rows)
    names: dict[str, None] = {}  # a column may be in some rows only
    for row in changed:
        names.update(dict.fromkeys(row))
    columns = {name: [row.get(name) for row in changed] for name in names}
    features = None
    split = "test"
    if not isinstance(rows, list):
        features = without_pictures(rows).features.copy()
        for added in names.keys() - set(features):
            features[added] = datasets.Value("string")
        split = str(rows.split or split)
    table = datasets.Dataset.from_dict(columns, features=features)
    if pictures:
        images = rows.select_columns(pictures).select(originals)
        table = datasets.concatenate_datasets([table, images], axis=1)
        for column in pictures:
            table = table.cast_column(column, datasets.Image())
    data = together.enter_context(new_folder(out)) / "data"
    data.mkdir()
    table.to_parquet(data / f"{split}-00000-of-00001.parquet")
