"""Verdicts on responses as numbers: given by the user, by a rule, by a language model, or missing.

A missing verdict is NaN and counts in no score, neither as good nor as bad.
"""

import math
import re
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from halluscope.files.opening import json_rows, read_json
from halluscope.judging import completions, question_ids
from halluscope.judging.completions import Located
from halluscope.judging.options import GIVEN
from halluscope.paths import path_of
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of
from halluscope.stats.ratios import Floats
from halluscope.validation import is_number, listed

# The judge that gives no verdict, for responses that are collected first and judged later
NOBODY = "none"

# The columns where other people's files hold a judge's reply, ours first
JUDGE_TEXT = "judge_text"
REPLIES = (
    JUDGE_TEXT,
    "judge_reply",
    "judge_response",
    "judge_output",
    "reply",
    "gpt_eval",
    "gpt_evaluation",
    "gpt_response",
    "gpt_output",
    "gpt4_review",
    "review",
    "evaluation",
)

# How a truth value is spelled, in lower case
_TRUTHS = {
    "true": True,
    "yes": True,
    "1": True,
    "1.0": True,
    "false": False,
    "no": False,
    "0": False,
    "0.0": False,
}

# A number that is spelled, such as in a cell of a csv
_NUMBER = re.compile(r"\s*\d+(?:\.\d+)?\s*")

# The model that gave a judge's text, where the file names it
JUDGE_MODEL = "judge_model"

# The column of rows with a judge's reply in which no verdict can be read
UNREAD_REPLY = "unread_reply"

# The files of a run's folder that say whose responses were judged, and what judges said about each
RUN = "run.json"
ITEMS = "items.jsonl"


@dataclass(frozen=True)
class Criterion:
    """One thing that a verdict says about a response."""

    name: str  # its name, such as "rating"
    kind: type  # the type of its values: bool, int or float
    most: int = 1  # its largest value; the smallest is 0

    def number(self, value: Any, where: str) -> float:
        """Return a value as a number; NaN for None, which means that the response could not be judged."""
        if value is None:
            return math.nan
        if not self._fits(value):
            raise ValueError(
                f"{where}: {self.name} is {short_repr(value)}; expected {self._expected()}, or null for a response "
                "that could not be judged."
            )
        return float(value)

    def plain(self, number: float) -> Any:
        """Return the value that a number stands for; None if the response could not be judged."""
        if math.isnan(number):
            return None
        return self.kind(number)

    def _fits(self, value: Any) -> bool:
        if self.kind is bool:
            return isinstance(value, bool | np.bool_)
        if self.kind is int and not isinstance(value, int | np.integer):
            return False
        return is_number(value) and bool(0 <= value <= self.most)

    def _expected(self) -> str:
        if self.kind is bool:
            return "true or false"
        if self.kind is int:
            return f"a whole number from 0 to {self.most:,}"
        return f"a number from 0 to {self.most:,}"


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on all responses."""

    criteria: Sequence[Criterion]  # what a verdict says
    # maps a criterion to an array [repeats, responses], with NaN for responses that could not be judged
    values: Mapping[str, Floats]
    key: Any  # who judged, as in a signature
    # the seeds of a language model's replies, as in a signature
    drawn: Mapping[str, str] = field(default_factory=dict)
    # what else a language model says about each response, in the first repeat; empty if no model judged
    notes: Sequence[Mapping[str, Any]] = ()

    @property
    def by_model(self) -> bool:
        """Whether a language model judged."""
        return bool(self.notes)

    @property
    def repeats(self) -> int:
        """How often each response was judged."""
        return len(next(iter(self.values.values())))

    def each(self) -> Iterator[dict[str, Floats]]:
        """Yield the verdicts of each repeat, as a mapping from criterion to values [responses]."""
        for repeat in range(self.repeats):
            verdicts = {}
            for name, values in self.values.items():
                verdicts[name] = values[repeat]
            yield verdicts

    def of(self, row: int) -> dict[str, Any]:
        """Return what the first repeat says about a response, for a table of rows.

        If there are several repeats, `repeats` holds the verdict of each.
        """
        facts: dict[str, Any] = {}
        repeats = {}
        for criterion in self.criteria:
            numbers = self.values[criterion.name][:, row].tolist()
            verdicts = [criterion.plain(number) for number in numbers]
            facts[criterion.name] = verdicts[0]
            repeats[criterion.name] = verdicts
        if self.notes:
            facts.update(self.notes[row])
        if self.repeats > 1:
            facts["repeats"] = repeats
        return facts

    def digest(self, ids: Sequence[Hashable]) -> dict[str, str]:
        """Return `verdicts`, a digest that tells a language model's verdicts from others; {} if no model judged."""
        if not self.by_model:
            return {}
        table = np.stack(list(self.values.values())).reshape(-1, len(ids)).T
        rows = []
        for id, numbers in zip(ids, table.tolist(), strict=True):
            row = [id]
            for number in numbers:
                row.append(_for_digest(number))
            rows.append(row)
        return {"verdicts": data_of("verdicts", rows)}


def _for_digest(number: float) -> float:
    """Return a verdict's number as digests have it: -1 for a response that could not be judged."""
    if math.isnan(number):
        return -1
    if number.is_integer():
        return int(number)
    return number


def from_given(
    name: str, verdicts: Any, criteria: Sequence[Criterion], rows: int, key: Any = GIVEN
) -> Verdicts:
    """Return verdicts that a user gives; `key` says who judged, as in a signature."""
    names = [criterion.name for criterion in criteria]
    table = []
    for row, verdict in enumerate(listed(name, verdicts, "a list, one per row", rows)):
        where = f"{name}[{row}]"
        if verdict is None or (len(names) == 1 and not isinstance(verdict, Mapping)):
            verdict = dict.fromkeys(names, verdict)
        if not isinstance(verdict, Mapping) or not verdict.keys() >= set(names):
            raise ValueError(
                f"{where} is {short_repr(verdict, 120)}; expected {' and '.join(map(repr, names))}, or null for a "
                "response that could not be judged."
            )
        table.append([criterion.number(verdict[criterion.name], where) for criterion in criteria])
    numbers = np.array([table], dtype=np.float64)  # [1, rows, criteria]
    values = {}
    for column, name in enumerate(names):
        values[name] = numbers[:, :, column]
    return Verdicts(criteria, values, key)


def model_of(verdict: Any) -> str:
    """Return the model that a verdict's text says it is by; "" if it names none."""
    if isinstance(verdict, Mapping) and verdict.get(JUDGE_MODEL):
        return str(verdict[JUDGE_MODEL])
    return completions.model_in(verdict)


def reply_of(verdict: Any, criteria: Collection[str], where: str) -> str | None:
    """Return the judge's own text where a verdict states that in place of numbers; else None."""
    if isinstance(verdict, str):
        return verdict
    completion = completions.reply_in(verdict, where)
    if completion is not None:  # it may have a column that is called as a criterion is, such as `model`
        return completion
    if not isinstance(verdict, Mapping) or not verdict.keys().isdisjoint(criteria):
        return None
    for name in REPLIES:
        reply = verdict.get(name)
        if isinstance(reply, str):
            return reply
    return None


def read_verdicts(
    file: str | Path,
    responses: str,
    ids: Sequence[Hashable],
    criteria: Sequence[Criterion],
    by_our_names: Callable[[Mapping[str, Any], str], Mapping[str, Any]] = lambda row, where: row,
    check: Callable[[str, Mapping[str, Any]], None] = lambda where, row: None,
    texts: Mapping[Hashable, str] = MappingProxyType({}),
    rows_in: Callable[[Path], Iterable[Located]] = json_rows,
) -> list[Mapping[str, Any]]:
    """Read verdicts from a file (each row with `id`) or from a run, in the ids' order.

    Other people's files may have another column for the id, or none, and then a row per question in the questions'
    order; and the judge's reply instead of a verdict. A run says which responses its verdicts are on, and these must be
    the same.

    Args:
        file: the file, or the folder of a run.
        responses: the name of the responses.
        ids: the ids of the rows.
        criteria: what a verdict says.
        by_our_names: takes a row and its place, and returns it by our names.
        check: takes the place of a row with an id, and the row; raises an error if it is about something else.
        texts: the responses by their ids; empty if they are not known.
        rows_in: reads the rows of a file that is no run's.
    """
    verdicts: dict[Hashable, Mapping[str, Any]] = {}
    names = [criterion.name for criterion in criteria]
    path = path_of(file)
    is_of_a_run = _is_of_a_run(path)
    known = set(ids)
    rows = []
    for where, row in completions.with_ids(list(_rows(path, responses, rows_in)), ids, str(file)):
        if is_number(row) and len(names) == 1:
            row = {names[0]: row}
        if not isinstance(row, Mapping):
            raise _not_a_verdict(where, row, names)
        row = by_our_names(row, where)
        if row.get("responses", responses) == responses:
            rows.append((where, row))
    for where, row in _with_ids(rows, ids, str(file), names):
        id = row["id"]
        if not question_ids.is_among(id, known):
            raise _unknown_id(where, id, ids, names)
        check(where, row)
        if is_of_a_run and id in texts:
            _check_rated(where, row, responses, texts[id])
        if id in verdicts:
            raise ValueError(
                f"{where} is the second verdict on the id {id}; expected one. Remove one of them."
            )
        verdicts[id] = _verdict_in(row, criteria, where)
    missing = [id for id in ids if id not in verdicts]
    if missing:
        raise ValueError(
            f"{file} has no verdict on {len(missing):,} of the {len(ids):,} questions, such as id {missing[0]} of "
            f"{responses}; expected one per question, with null for a response that could not be judged."
        )
    return [verdicts[id] for id in ids]


def _with_ids(
    rows: Sequence[tuple[str, Mapping[str, Any]]], ids: Sequence[Hashable], file: str, names: Sequence[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return rows with the `id` of the question that each is on; rows that name none get the ids in their order."""
    known = set(ids)
    stated = question_ids.in_rows([row for _, row in rows], known)
    without = [place for place, id in enumerate(stated) if id is None]
    if rows and (len(without) == len(rows) or question_ids.are_count(stated, known)):
        if len(rows) != len(ids):
            where, row = rows[0]
            raise _not_a_verdict(where, row, names, f"{len(rows):,} rows here, and {len(ids):,} questions")
        warnings.warn(
            f"{file} holds verdicts without the questions' ids: they are taken in the questions' order.",
            stacklevel=3,
        )
        stated = list(ids)
    elif without:
        where, row = rows[without[0]]
        raise _not_a_verdict(where, row, names, "without the id of its question, unlike others")
    with_ids: list[tuple[str, Mapping[str, Any]]] = []
    for (where, row), id in zip(rows, stated, strict=True):
        with_ids.append((where, dict(row, id=id)))
    return with_ids


def _verdict_in(row: Mapping[str, Any], criteria: Sequence[Criterion], where: str) -> Mapping[str, Any]:
    """Return the judge's text, or the numbers, of a row of a file."""
    names = [criterion.name for criterion in criteria]
    reply = reply_of(row, names, where)
    if reply is None and row.keys() >= set(names):
        values = {criterion.name: _spelled(row[criterion.name], criterion.kind) for criterion in criteria}
        only = values[names[0]]
        if len(names) > 1 or not isinstance(only, str):
            return values
        reply = only  # a judge's text, under the name of what it rates
    if reply is not None:
        return {JUDGE_TEXT: reply, JUDGE_MODEL: model_of(row)}
    if not row.keys().isdisjoint(REPLIES) and row.keys().isdisjoint(names):
        return dict.fromkeys(names)  # the judge said nothing
    raise _not_a_verdict(where, row, names)


def _spelled(value: Any, kind: type) -> Any:
    """Return the number or the truth value that a cell spells, as tables and pandas write it; others as they are.

    >>> _spelled("4", int), _spelled(4.0, int), _spelled("True", bool), _spelled(1, bool), _spelled("4/6", int)
    (4, 4, True, True, '4/6')
    """
    if isinstance(value, float) and math.isnan(value):
        return None
    if kind is bool:
        return _TRUTHS.get(str(value).strip().lower(), value)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _check_rated(where: str, row: Mapping[str, Any], responses: str, text: str) -> None:
    """Check that a row of a run is a verdict on this response."""
    if row.get("response", text) != text:
        raise ValueError(
            f"{where}: the run rated the response {short_repr(row['response'])}, but {responses} says "
            f"{short_repr(text)} there: these are ratings of other responses. Score these responses by a judge, "
            "or name the run in which they were rated."
        )


def _is_of_a_run(path: Path) -> bool:
    """Whether a path is the folder of a run, or its file of items, which hold the responses too."""
    folder = path
    if path.name == ITEMS:
        folder = path.parent
    return (folder / RUN).is_file()


def _unknown_id(where: str, id: Any, ids: Sequence[Hashable], names: Sequence[str]) -> ValueError:
    return ValueError(
        f"{where}: the id {short_repr(id)} is not among the {len(ids):,} questions; expected one such as "
        f"{short_repr(ids[0])}. Leave verdicts on questions that are not scored out, and write the others as "
        f"objects with id, {', '.join(names)}, or with id and {JUDGE_TEXT}, the judge's text."
    )


def _not_a_verdict(where: str, row: Any, names: Sequence[str], why: str = "") -> ValueError:
    reason = f" ({why})" if why else ""
    columns = ""
    if isinstance(row, Mapping):
        stated = one_line(", ".join(str(column) for column in row if column != "id"), 120)
        columns = f" Its columns are {stated}: rename the one that holds it."
    return ValueError(
        f"{where} is {short_repr(row)}{reason}; expected an object with id, {', '.join(names)} (null for a response "
        f"that could not be judged), or with id and {JUDGE_TEXT}, the judge's text.{columns}"
    )


def _rows(path: Path, responses: str, rows_in: Callable[[Path], Iterable[Located]]) -> Iterable[Located]:
    """Return the rows of a file, or of a run of these responses, each with its place for messages."""
    if not path.is_dir():
        return rows_in(path)
    if not (path / RUN).is_file():
        raise ValueError(
            f"{path} is a folder without {RUN}; expected a file of verdicts, or the folder of one run, as "
            "`halluscope score NAME ... --out FOLDER` writes it."
        )
    about = read_json(path / RUN)
    judged_responses = None
    if isinstance(about, Mapping):
        judged_responses = about.get("responses")
    if judged_responses != responses:
        raise ValueError(
            f"{path} is a run of the responses {short_repr(judged_responses)}; expected a run of "
            f"{short_repr(responses)}. Name the "
            "runs in the order of the responses, and give the responses the names of those runs: NAME=FILE."
        )
    return json_rows(path / ITEMS)
