"""Decides which column of a file holds the responses, once for the whole file.

Names decide first (`by_name`). Then what the column holds decides, beside what the dataset says of each row (`decide`):
right answers and prompts are never taken for responses. If they were named like responses, the only other column of
texts is taken, or the file is refused. A row without a text in the column has no response (`missing`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.reading.columns import plain
from halluscope.reading.tables import Located
from halluscope.responses.cells import is_nothing, label_in, text_in, yes_no_labels
from halluscope.responses.column_facts import FEWEST_ROWS, Facts, Told, facts_of, is_label, plain_answer
from halluscope.responses.names import (
    CAPTION,
    IDS,
    LABEL,
    OTHER_USES,
    PROMPT,
    QUESTIONS,
    SAYS,
    TEXTS,
    is_image_file,
)
from halluscope.sanitize import one_line, short_repr

Row = Mapping[str, Any]

# The columns whose names have a use of their own
KNOWN = {*IDS, *QUESTIONS, *TEXTS, PROMPT}

# How many columns are looked at for responses
MOST_COLUMNS = 200

_LETTER = re.compile(r"[^\W\d_]")


# Which column, by names


def first_named(names: Iterable[str], columns: Sequence[str] = ()) -> tuple[Sequence[str], str]:
    """Return the columns that may hold the text, by default those of `TEXTS`, and the first that a file has."""
    there = {*names}
    known = [*columns] or [*TEXTS]
    # beside a label, `text` is the question, unless another column asks
    if not columns and LABEL in there and there.intersection(QUESTIONS) == {"text"}:
        known.remove("text")
    for name in known:
        if name in there:
            return known, name
    return known, ""


def by_name(rows: Sequence[Row], without: str = "") -> str:
    """Return the column that is named like one of responses: the first of `TEXTS`, or the only other; "" for none.

    Args:
        rows: all rows of a file.
        without: a column that does not hold the responses, whatever its name.
    """
    names = columns_of(rows)
    listed = first_named([name for name in names if name != without])[1]
    if listed:
        return listed
    if len(names) > 1 and not {*names}.intersection((*IDS, *QUESTIONS)):
        return ""
    own = [name for name in _named_so(names) if name not in TEXTS and name != without]
    own = _first_two_with_texts(rows, own)
    if not own and not without:
        own = [name for name in _first_two_with_texts(rows, _of_other_names(names)) if _is_full(rows, name)]
    return own[0] if len(own) == 1 else ""


def _first_two_with_texts(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    found = []
    for name in names:
        if _holds_texts(rows, name):
            found.append(name)
        if len(found) == 2:
            break
    return found


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the columns that any row has, in their order."""
    names: dict[str, None] = {}
    for kind in dict.fromkeys(map(tuple, rows)):
        names.update(dict.fromkeys(kind))
    return [name for name in names if isinstance(name, str)]


def _named_so(names: Sequence[str]) -> list[str]:
    """Return the columns whose names say that they hold an LVLM's texts; those of `TEXTS` come first."""
    there = {*names}
    listed = [name for name in first_named(names)[0] if name in there]
    return listed + [name for name in names if SAYS.match(name) and _may_be_own(name, there)]


def _of_other_names(names: Sequence[str]) -> list[str]:
    """Return the columns whose names say nothing of what they hold."""
    there = {*names}
    found = []
    for name in names:
        tells = SAYS.match(name) or OTHER_USES.fullmatch(plain(name))
        if not tells and _may_be_own(name, there):
            found.append(name)
    return found


def _may_be_own(name: str, there: Collection[str]) -> bool:
    """Whether a column is not one of those with known uses, or one of them under a second name."""
    is_second_name = plain(name) != name and plain(name) in there
    return name not in KNOWN and not is_second_name


def _is_full(rows: Sequence[Row], name: str) -> bool:
    return not any(is_nothing(row.get(name)) for row in rows)


def _holds_texts(rows: Sequence[Row], name: str) -> bool:
    """Whether each cell of a column is nothing or a text, some with letters, and no image's name or question."""
    some = False
    for row in rows:
        cell = row.get(name)
        if is_nothing(cell):
            continue
        if not isinstance(cell, str) or is_image_file(cell) or (cell and cell == row.get("question")):
            return False
        some = some or _LETTER.search(cell) is not None
    return some


# Rows without a response


@dataclass(frozen=True)
class Table:
    """The rows of a file."""

    source: str  # the file, for messages
    where: Sequence[str]  # the location of each row, for messages
    rows: Sequence[Row]

    @classmethod
    def of(cls, source: str, located: Sequence[Located]) -> "Table":
        """Return the rows of a file, given with their locations."""
        return cls(source, [where for where, _ in located], [row for _, row in located])


def missing(rows: Sequence[Row], columns: Sequence[str], blank: bool) -> list[bool]:
    """Return which rows have no text in any of some columns.

    Args:
        rows: the rows of a file.
        columns: the column with the responses, or several, of which each row has one.
        blank: whether an empty cell is none, as in a table, which cannot tell an empty text from none.
    """
    found = []
    for row in rows:
        cells = [row.get(name) for name in columns]
        found.append(all(is_nothing(cell) or (blank and cell == "") for cell in cells))
    return found


def refuse_missing(table: Table, columns: Sequence[str], rows: int) -> None:
    """Raise an error for rows without a response.

    Args:
        table: these rows.
        columns: the columns with the responses.
        rows: how many rows the file has, with or without a response.
    """
    named = " or ".join(one_line(name, 80) for name in columns)
    cell = table.rows[0].get(columns[0])
    state = f"{named} is {short_repr(cell)}" if columns[0] in table.rows[0] else f"it has no {named}"
    blank = ""
    if any(row.get(columns[0]) == "" for row in table.rows):
        blank = (
            " An empty cell of a table counts as none; if the LVLM said nothing there, say so: --text-column "
            f"{one_line(columns[0], 80)}."
        )
    raise ValueError(
        f"{table.source}: {len(table.rows):,} of {rows:,} rows have no response, the first of them {table.where[0]}: "
        f"{state}; expected the LVLM's text in each row. Ask the LVLM about them, or pass --partial (partial=True) to "
        f"leave them out. If another column holds their texts, name both: --text-column {one_line(columns[0], 80)} "
        f"OTHER (text_column).{blank}"
    )


# Which column, by what it holds


@dataclass(frozen=True)
class Choice:
    """The column with the responses."""

    column: str
    remarks: Sequence[str] = ()  # what a user should know of the choice


def decide(table: Table, taken: str, texts: Sequence[str | None], told: Told) -> Choice:
    """Return the column with the responses, by what the columns hold.

    Args:
        table: the rows of a file.
        taken: the column that is named like one of responses.
        texts: that column's text in each row; None for none.
        told: what the dataset says of each row.

    Raises:
        ValueError: the column holds right answers or prompts, or nearly always the same text, and it does not follow
            which other column holds the responses.
    """
    first = facts_of(taken, texts, told)
    if first.is_usable and not first.is_constant and taken != CAPTION:
        return Choice(taken)
    beside = others(table.rows, taken, told)
    varied = [facts for facts in beside if facts.same is None]
    if not first.is_usable:
        left = varied or [facts for facts in beside if not facts.is_sentence]
        if len(left) == 1:
            return Choice(left[0].name, [_passed_over(first, left[0].name), *_about_same(left[0])])
        raise ValueError(_refusal(table, first, left))
    if first.is_constant and not varied:
        return Choice(taken, _about_same(first))
    # an LVLM may say yes to all, but nobody is asked nothing but "Yes"
    if first.is_sentence and len(varied) == 1:
        return Choice(varied[0].name, [_passed_over(first, varied[0].name)])
    if varied:
        raise ValueError(_refusal(table, first, varied))
    return Choice(taken)


def others(rows: Sequence[Row], taken: str, told: Told) -> list[Facts]:
    """Return the other columns that may hold responses; those of equal texts once."""
    names = columns_of(rows)
    found = _usable(rows, [name for name in _named_so(names) if name != taken], told)
    if found:
        return found
    unnamed = [name for name in _of_other_names(names)[:MOST_COLUMNS] if _holds_texts(rows, name)]
    of_labels = any(_are_labels(answers) for answers in told.answers)
    return [
        facts
        for facts in _usable(rows, unnamed, told)
        if facts.same is None and (not of_labels or _begin_with_labels(_texts(rows, facts.name), told))
    ]


def _usable(rows: Sequence[Row], names: Sequence[str], told: Told) -> list[Facts]:
    """Return those of some columns that have a text in at least half of the rows, and neither answers nor prompts."""
    found: dict[tuple[str | None, ...], Facts] = {}
    for name in names[:MOST_COLUMNS]:
        texts = _texts(rows, name)
        facts = facts_of(name, texts, told)
        if 2 * facts.filled >= len(rows) and facts.is_usable and _LETTER.search(texts[facts.shown] or ""):
            found.setdefault(tuple(texts), facts)
    return [*found.values()]


def _texts(rows: Sequence[Row], name: str) -> list[str | None]:
    cells = [row.get(name) for row in rows]
    labels = yes_no_labels(cells)
    if labels:
        return [None if is_nothing(cell) else labels[label_in(cell)] for cell in cells]
    return [text_in(cell) for cell in cells]


def _are_labels(answers: Sequence[Any]) -> bool:
    return any(answers) and all(answer is None or is_label(answer) for answer in answers)


def _begin_with_labels(texts: Sequence[str | None], told: Told) -> bool:
    """Whether at least half of some texts begin with one of the right answers."""
    labels = {plain_answer(answer) for answers in told.answers for answer in answers if is_label(answer)}
    begin = [text.split()[0] for text in texts if text and text.split()]
    return 2 * sum(plain_answer(word) in labels for word in begin) >= len(texts)


# What is said of the choice


def _passed_over(first: Facts, taken: str) -> str:
    holds = "has the prompts"
    if first.right:
        holds = "has the right answers"
    elif not first.is_prompt:
        holds = f"has the same text in nearly all rows ({short_repr(first.same, 60)})"
    return (
        f"the column {one_line(first.name, 80)} {holds}, so the responses are those in {one_line(taken, 80)}"
    )


def _about_same(facts: Facts) -> list[str]:
    if facts.same is None or facts.rows < FEWEST_ROWS:
        return []
    return [f"nearly all of the {facts.rows:,} responses are the same text, {short_repr(facts.same, 60)}"]


def _refusal(table: Table, first: Facts, others: Sequence[Facts]) -> str:
    """Say why the first column is not taken, what it and others may hold, and which option settles it."""
    name = one_line(first.name, 80)
    named = " or ".join(one_line(facts.name, 80) for facts in others[:5])
    settle = "if they are in another column, name it: --text-column (text_column)"
    if others:
        settle = (
            f"if they are in {named}, name it: --text-column {one_line(others[0].name, 80)} (text_column)"
        )
    if first.right:
        many = f"in {first.right:,} of {first.rows:,} rows"
        if first.right == first.rows:
            many = f"in all {first.rows:,} rows"
        return (
            f"{table.source}: the column {name!r} is the right answer {many}; expected the LVLM's responses, so "
            f"{settle}. If the LVLM is right there, say so: --text-column {name}."
        )
    shown = short_repr(text_in(table.rows[first.shown].get(first.name)))
    if first.is_prompt:
        return (
            f"{table.source} holds questions, not responses: in {table.where[first.shown]}, {name} is {shown}, which "
            f"is the question or prompt itself. Expected the LVLM's responses; {settle}. If {name} holds them, say so: "
            f"--text-column {name}."
        )
    if first.is_constant:
        return (
            f"{table.source}: the column {name!r} has the text {short_repr(first.same, 60)} in nearly all rows, beside "
            f"{named}; expected one column with the LVLM's responses, so {settle}. If {name} holds them, say so: "
            f"--text-column {name}."
        )
    return (
        f"{table.source}: {name} and {named} both hold texts; expected one column with the LVLM's. Name it: "
        f"--text-column {name} or --text-column {one_line(others[0].name, 80)} (text_column)."
    )
