"""Decides which column of a file holds the responses, once for the whole file.

Names decide first (`by_name`). Then what the column holds decides, beside what the dataset says of each row (`decide`):
right answers and prompts are never taken for responses. If they were named like responses, the only other column of
texts is taken, or the file is refused. A row without a text in the column has no response (`missing`).
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from halluscope.reading.columns import plain
from halluscope.reading.yes_no_labels import YES_NO
from halluscope.responses import other_texts
from halluscope.responses.cells import FAILED, is_nothing, label_in, text_in, yes_no_labels
from halluscope.responses.column_facts import (
    FEWEST_ROWS,
    Expected,
    Facts,
    Texts,
    are_all_right,
    are_numbers,
    facts_of,
    plain_answer,
)
from halluscope.responses.names import (
    BY_ANYBODY,
    CAPTION,
    IDS,
    KNOWN,
    LABEL,
    OTHER_USES,
    QUESTIONS,
    SAMPLING,
    SAYS,
    TEXTS,
    is_image_file,
)
from halluscope.responses.table import Table, kinds
from halluscope.sanitize import one_line, short_repr

# How many columns are looked at for responses, and how many characters of a name are shown
MOST_COLUMNS = 200
SHOWN = 80

# How a column is called that holds what the LVLM said, beside one with what a script read in it
RAW = "raw_"

_LETTER = re.compile(r"[^\W\d_]")


# Which column, by names


def by_name(table: Table, without: str = "") -> str:
    """Return the column that is named like one of responses: the first of `TEXTS`, or the only other; "" for none.

    Args:
        table: all rows of a file.
        without: a column that does not hold the responses, whatever its name.
    """
    names = table.names
    listed = first_named([name for name in names if name != without])
    if listed:
        return listed
    if len(names) > 1 and not set(names).intersection(IDS + QUESTIONS):
        return ""
    candidates = []
    for name in _named_like_responses(names):
        if name not in TEXTS and name != without:
            candidates.append(name)
    raw = [name for name in candidates if plain(name).startswith(RAW)]
    candidates = _first_two_with_texts(table, raw) or _first_two_with_texts(table, candidates)
    if not candidates and not without:
        candidates = _first_two_with_texts(table, _named_otherwise(table))
        candidates = [name for name in candidates if _is_full(table, name)]
    if len(candidates) != 1:
        return ""
    return candidates[0]


def may_hold_responses(table: Table) -> list[str]:
    """Return the columns whose names and texts may be those of responses; [] if there are none."""
    columns = [name for name in _named_like_responses(table.names) if _holds_texts(table, name)]
    if columns:
        return columns
    return [name for name in _named_otherwise(table) if _holds_texts(table, name)]


def first_named(names: Iterable[str]) -> str:
    """Return the first column that is named as one with the text often is; "" for none."""
    present = set(names)
    for name in usual_names(present):
        if name in present:
            return name
    return ""


def usual_names(present: Collection[str]) -> list[str]:
    """Return how a column with the text may be named beside those that are present."""
    names = list(TEXTS)
    # beside a label, `text` is the question, unless another column asks
    if LABEL in present and set(QUESTIONS).intersection(present) == {"text"}:
        names.remove("text")
    return names


def _named_like_responses(names: Sequence[str]) -> list[str]:
    """Return the columns whose names say that they hold an LVLM's texts; those of `TEXTS` come first."""
    present = set(names)
    columns = [name for name in usual_names(present) if name in present]
    for name in names:
        if SAYS.match(name) and _has_no_known_use(name, present):
            columns.append(name)
    return columns


def _named_otherwise(table: Table) -> list[str]:
    """Return the columns whose names say nothing of what they hold."""
    present = set(table.names)
    columns = []
    for name in table.names:
        if SAYS.match(name) or OTHER_USES.fullmatch(plain(name)):
            continue
        if plain(name) == SAMPLING and not _answers(table, name):
            continue
        if _has_no_known_use(name, present):
            columns.append(name)
    return columns[:MOST_COLUMNS]


def _has_no_known_use(name: str, present: Collection[str]) -> bool:
    """Whether a column is not one of those with known uses, and no second name of another column."""
    if name in KNOWN:
        return False
    plain_name = plain(name)
    return plain_name == name or plain_name not in present


def _first_two_with_texts(table: Table, names: Sequence[str]) -> list[str]:
    columns = []
    for name in names:
        if _holds_texts(table, name):
            columns.append(name)
        if len(columns) == 2:
            break
    return columns


def _holds_texts(table: Table, name: str) -> bool:
    """Whether each cell of a column is nothing or a text, some with letters, and no image's name or question."""
    has_letters = False
    questions = table.cells("question")
    for cell, question in zip(table.cells(name), questions, strict=True):
        if is_nothing(cell):
            continue
        if not isinstance(cell, str) or is_image_file(cell):
            return False
        if cell and cell == question:
            return False
        if not has_letters:
            has_letters = _LETTER.search(cell) is not None
    return has_letters


def _answers(table: Table, name: str) -> bool:
    """Whether each cell of a column begins with yes or no."""
    return all(_first_word(text_in(cell)) in YES_NO for cell in table.cells(name))


def _is_full(table: Table, name: str) -> bool:
    return not any(is_nothing(cell) for cell in table.cells(name))


# Rows without a response


def missing(table: Table, columns: Sequence[str], blank: bool) -> list[bool]:
    """Return which rows have no text in any of some columns.

    Args:
        table: the rows of a file.
        columns: the column with the responses, or several, of which each row has one.
        blank: whether an empty cell is none, as in a table, which cannot tell an empty text from none.
    """
    lacking = [True] * len(table)
    for name in columns:
        cells = table.cells(name)
        if kinds(cells) == {str} and not blank and FAILED not in cells:
            return [False] * len(table)
        for place, cell in enumerate(cells):
            if not is_nothing(cell) and not (blank and isinstance(cell, str) and not cell):
                lacking[place] = False
    return lacking


def refuse_missing(table: Table, columns: Sequence[str], rows: int) -> None:
    """Raise an error for rows without a response.

    Args:
        table: these rows.
        columns: the columns with the responses.
        rows: how many rows the file has, with or without a response.
    """
    column = one_line(columns[0], SHOWN)
    named = " or ".join(one_line(name, SHOWN) for name in columns)
    cells = table.cells(columns[0])
    state = f"it has no {named}"
    if table.has(0, columns[0]):
        state = f"{named} is {short_repr(cells[0])}"
    blank = ""
    if any(isinstance(cell, str) and not cell for cell in cells):
        blank = (
            " An empty cell of a table counts as none; if the LVLM said nothing there, say so: --text-column "
            f"{column}."
        )
    raise ValueError(
        f"{table.source}: {len(table):,} of {rows:,} rows have no response, the first of them {table.where[0]}: "
        f"{state}; expected the LVLM's text in each row. Ask the LVLM about them, or pass --partial (partial=True) to "
        f"leave them out. If another column holds their texts, name both: --text-column {column} OTHER (text_column)."
        f"{blank}"
    )


# Which column, by what it holds


@dataclass(frozen=True)
class Choice:
    """The column with the responses."""

    column: str
    remarks: Sequence[str] = ()  # what a user should know of the choice


def decide(table: Table, column: str, texts: Texts, expected: Expected) -> Choice:
    """Return the column with the responses, by what the columns hold.

    Args:
        table: the rows of a file.
        column: the column that is named like one of responses.
        texts: that column's text in each row; None for none.
        expected: what the dataset says of each row.

    Raises:
        ValueError: the column holds right answers or prompts, or nearly always the same text, and it does not follow
            which other column holds the responses.
    """
    facts = facts_of(column, texts, expected)
    if are_numbers(texts):
        raise ValueError(
            f"{table.source}: the column {one_line(column, SHOWN)!r} holds numbers, such as "
            f"{short_repr(texts[facts.example])}; expected the LVLM's texts. If they are in another column, name it: "
            "--text-column (text_column)."
        )
    if not facts.is_usable:
        return _instead_of(table, facts, expected)
    if are_all_right(texts, expected):
        _refuse_all_right(table, facts, expected)
    if facts.is_constant:
        return _despite_one_text(table, facts, expected)
    if _may_be_of_people(column, expected):
        _refuse_beside_others(table, facts, expected)
        return Choice(column)
    return Choice(column, _about_other_responses(table, column, texts, expected))


def _instead_of(table: Table, facts: Facts, expected: Expected) -> Choice:
    """Return the only other column of texts, where a column holds right answers or prompts."""
    columns = beside(table, facts.name, expected)
    candidates = _varied(columns)
    if not candidates:  # an LVLM that says the same to all
        candidates = [candidate for candidate in columns if not candidate.is_sentence]
    if len(candidates) != 1:
        raise ValueError(_refusal(table, facts, candidates))
    column = candidates[0].name
    # a caption beside right answers may be what people wrote
    if facts.right and column == CAPTION:
        raise ValueError(_refusal(table, facts, candidates))
    return Choice(column, [_passed_over(facts, column)] + _about_one_text(candidates[0]))


def _refuse_all_right(table: Table, facts: Facts, expected: Expected) -> None:
    """Raise an error for a column that is always right if another one, which is not, may hold the responses."""
    others = []
    for candidate in _varied(beside(table, facts.name, expected)):
        if not are_all_right(texts_of(table, candidate.name), expected):
            others.append(candidate)
    if others:
        raise ValueError(_refusal(table, replace(facts, right=facts.rows), others))


def _despite_one_text(table: Table, facts: Facts, expected: Expected) -> Choice:
    """Return the column with the responses where the one that is named like them has the same text in nearly all rows.

    An LVLM may say the same to all, but a prompt may be the same too.
    """
    others = _varied(beside(table, facts.name, expected))
    if not others:
        return Choice(facts.name, _about_one_text(facts))
    # an LVLM may say yes to all, but nobody is asked nothing but "Yes"
    if facts.is_sentence and len(others) == 1:
        column = others[0].name
        return Choice(column, [_passed_over(facts, column)])
    raise ValueError(_refusal(table, facts, others))


def _refuse_beside_others(table: Table, facts: Facts, expected: Expected) -> None:
    """Raise an error for a column that may hold what people wrote if another one may hold the responses."""
    others = _varied(beside(table, facts.name, expected))
    if facts.name != CAPTION:  # of two usual names, their order decides
        others = [candidate for candidate in others if candidate.name not in TEXTS]
    if others:
        raise ValueError(_refusal(table, facts, others))


def _about_other_responses(table: Table, column: str, texts: Texts, expected: Expected) -> list[str]:
    """Say which other columns have other responses, such as those of a second method."""
    remarks: list[str] = []
    kind = "answer" if expected.labels else "text"
    for facts in _varied(beside(table, column, expected)):
        others = texts_of(table, facts.name)
        if expected.labels:
            different = _other_labels(texts, others, expected.labels)
        else:
            different = other_texts.count(texts, others, facts.name)
        if different:
            name = one_line(facts.name, SHOWN)
            remarks.append(
                f"The responses are those of the column {one_line(column, SHOWN)!r}; {name!r} has another {kind} in "
                f"{different:,} of {len(texts):,} rows. If these are the LVLM's, name the column: --text-column {name} "
                "(text_column)"
            )
    return remarks


def _other_labels(texts: Texts, others: Texts, labels: Collection[str]) -> int:
    """Return in how many rows two columns begin with different labels, such as yes and no."""
    different = 0
    for text, other in zip(texts, others, strict=True):
        answer = _first_word(text)
        other_answer = _first_word(other)
        if answer != other_answer and answer in labels and other_answer in labels:
            different += 1
    return different


def _first_word(text: str | None) -> str:
    """Return a text's first word, as labels are compared; "" for none."""
    words = (text or "").split(maxsplit=1)
    if not words:
        return ""
    return plain_answer(words[0])


def _may_be_of_people(column: str, expected: Expected) -> bool:
    """Whether a column of this name may hold what people wrote, which no right answers show."""
    if column == CAPTION:
        return True
    if column not in BY_ANYBODY or not expected.versions:
        return False
    of_answers = set()
    for answers in expected.versions:
        of_answers |= kinds(answers)
    return str not in of_answers


def _varied(columns: Sequence[Facts]) -> list[Facts]:
    return [facts for facts in columns if facts.same is None]


def beside(table: Table, column: str, expected: Expected) -> list[Facts]:
    """Return the other columns that may hold responses; those of equal texts once."""
    names = table.names
    named = [name for name in _named_like_responses(names) if name != column]
    columns = _usable(table, named, expected)
    if columns:
        return columns
    unnamed = [name for name in _named_otherwise(table) if _holds_texts(table, name)]
    for facts in _usable(table, unnamed, expected):
        if _are_responses(texts_of(table, facts.name), expected):
            columns.append(facts)
    return columns


def _usable(table: Table, names: Sequence[str], expected: Expected) -> list[Facts]:
    """Return those of some columns that have a text in at least half of the rows, and neither answers nor prompts."""
    columns: dict[tuple[str | None, ...], Facts] = {}
    for name in names[:MOST_COLUMNS]:
        texts = texts_of(table, name)
        facts = facts_of(name, texts, expected)
        is_text = _LETTER.search(texts[facts.example] or "") is not None
        if is_text and facts.is_usable and 2 * facts.filled >= len(table):
            columns.setdefault(tuple(texts), facts)
    return list(columns.values())


def texts_of(table: Table, name: str) -> list[str | None]:
    """Return a column's text in each row; labels such as 1 and 0 are yes and no."""
    cells = table.cells(name)
    labels = yes_no_labels(cells)
    texts: list[str | None] = []
    for cell in cells:
        if labels and not is_nothing(cell):
            texts.append(labels[label_in(cell)])
        else:
            texts.append(text_in(cell))
    return texts


def _are_responses(texts: Texts, expected: Expected) -> bool:
    """Whether texts in a column whose name says nothing look like responses, not like a category or a note."""
    labels = expected.labels
    different = len(set(texts))
    if not labels:
        return 2 * different > len(texts)
    begin_with_label = sum(_first_word(text) in labels for text in texts)
    return different > 1 and 2 * begin_with_label >= len(texts)


# What is said of the choice


def _passed_over(facts: Facts, column: str) -> str:
    holds = f"has the same text in nearly all rows ({short_repr(facts.same, 60)})"
    if facts.is_prompt:
        holds = "has the prompts"
    if facts.right:
        holds = "has the right answers"
    name = one_line(facts.name, SHOWN)
    return f"the column {name} {holds}, so the responses are those in {one_line(column, SHOWN)}"


def _about_one_text(facts: Facts) -> list[str]:
    if facts.same is None or facts.rows < FEWEST_ROWS:
        return []
    return [f"nearly all of the {facts.rows:,} responses are the same text, {short_repr(facts.same, 60)}"]


def _refusal(table: Table, facts: Facts, candidates: Sequence[Facts]) -> str:
    """Say why a column is not taken, what it and others may hold, and which option settles it."""
    name = one_line(facts.name, SHOWN)
    names = [one_line(candidate.name, SHOWN) for candidate in candidates[:5]]
    settle = "if they are in another column, name it: --text-column (text_column)"
    if names:
        settle = f"if they are in {' or '.join(names)}, name it: --text-column {names[0]} (text_column)"
    if facts.right:
        many = f"in {facts.right:,} of {facts.rows:,} rows"
        if facts.right == facts.rows:
            many = f"in all {facts.rows:,} rows"
        return (
            f"{table.source}: the column {name!r} is the right answer {many}; expected the LVLM's responses, so "
            f"{settle}. If the LVLM is right there, say so: --text-column {name}."
        )
    if facts.is_prompt:
        example = short_repr(text_in(table.cells(facts.name)[facts.example]))
        return (
            f"{table.source} holds questions, not responses: in {table.where[facts.example]}, {name} is {example}, "
            f"which is the question or prompt itself. Expected the LVLM's responses; {settle}. If {name} holds them, "
            f"say so: --text-column {name}."
        )
    if facts.is_constant:
        return (
            f"{table.source}: the column {name!r} has the text {short_repr(facts.same, 60)} in nearly all rows, beside "
            f"{' or '.join(names)}; expected one column with the LVLM's responses, so {settle}. If {name} holds them, "
            f"say so: --text-column {name}."
        )
    return (
        f"{table.source}: {name} and {' or '.join(names)} both hold texts; expected one column with the LVLM's. Name "
        f"it: --text-column {name} or --text-column {names[0]} (text_column)."
    )
