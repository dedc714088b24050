"""Reads an LVLM's responses from a file, whatever script wrote it, as a table with a row per response."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from halluscope import limits
from halluscope.files.cut_ends import CutEnds
from halluscope.files.opening import SHEETS, ending
from halluscope.options import MatchingOptions
from halluscope.reading import tables
from halluscope.reading.columns import alike, contradicting, plain, second_names
from halluscope.reading.tables import Located
from halluscope.responses import answer_lists, api_replies, flat_lines, given, logs, text_column
from halluscope.responses.cells import (
    are_plain,
    is_nothing,
    label_in,
    literal_list,
    text_in,
    yes_no_labels,
)
from halluscope.responses.given import Given, Source
from halluscope.responses.image_urls import URLS
from halluscope.responses.logs import LOG, Stated
from halluscope.responses.names import IDS, IMAGES, MODELS, QUESTIONS, SAYS, TEXTS, is_image_file, parts_in
from halluscope.responses.table import ABSENT, Row, Table, kinds, picked
from halluscope.responses.unfolding import (
    ABOUT,
    OWN,
    SAMPLE,
    Unfolding,
    are_objects,
    figures_in,
    rows_of_columns,
    stands_alone,
    turns,
    unfolded,
)
from halluscope.sanitize import short_repr

# The column that names the model
MODEL = "model_id"

NAMED = 10  # how many columns of texts a message names

# A list of one text, written as text by Python or as JSON
_LIST = re.compile(r"""\s*\[\s*(['"])(.*)\1\s*\]\s*""", re.DOTALL)

# The columns whose values matter to how responses are read
_MATTERING = ABOUT.union(TEXTS, IMAGES, URLS, ("label", "sampling", "category", MODEL))


@dataclass(frozen=True)
class Responses:
    """The responses of one LVLM."""

    # the LVLM's name: the one that the user gives, a harness, or every row; or else the file's name without its ending,
    # preceded by as many folders as are needed to tell files apart; "responses" if there is no file
    name: str
    table: Table  # the rows that hold the responses, at least one
    texts: list[str]  # the responses; "" where a row has none
    missing: list[bool]  # whether a row has no response
    columns: list[str]  # the row's column that held the text
    sampled: bool = False  # whether a harness wrote them
    is_column_known: bool = False  # whether the form of the file says which column holds them
    # the numbers that a file states beside its rows, by their last key, such as scores
    figures: Mapping[str, float] = field(default_factory=dict)
    labels: Sequence[str] = ()  # the labels, such as 1 and 0, that are read as "yes" and "no"
    blank: bool = False  # whether an empty cell is no response (`text_column.missing`)
    cut_ends: Sequence[str] = ()  # the last lines that were left out because a part of each is missing

    @property
    def lacking(self) -> list[int]:
        """The places of the rows without a response."""
        if True not in self.missing:
            return []
        return [place for place, lacks in enumerate(self.missing) if lacks]

    @property
    def source(self) -> str:
        """The file, for messages."""
        return self.table.source

    def __len__(self) -> int:
        return len(self.texts)

    def cells(self, name: str) -> list[Any]:
        """Return what each row states in a column; None where it is the response itself."""
        cells = self.table.cells(name)
        if name not in self.columns:
            return cells
        cells = list(cells)
        for place, column in enumerate(self.columns):
            if column == name:
                cells[place] = None
        return cells

    def first_texts(self, names: Sequence[str], places: Sequence[int]) -> list[str]:
        """Return the first text that some rows state in some columns; "" for none."""
        columns = [self.cells(name) for name in names if name in self.table.columns]
        if not columns:
            return [""] * len(places)
        first = picked(columns[0], places)
        if kinds(first) == {str} and all(map(str.strip, first)):
            return first
        texts = []
        for place in places:
            text = ""
            for cells in columns:
                cell = cells[place]
                if isinstance(cell, str) and cell.strip():
                    text = cell
                    break
            texts.append(text)
        return texts

    def take(self, places: Sequence[int]) -> "Responses":
        """Return some of the responses, in this order."""
        is_all = len(places) == len(self)
        if is_all and all(place == number for number, place in enumerate(places)):
            return self
        return replace(
            self,
            table=self.table.take(places),
            texts=picked(self.texts, places),
            missing=picked(self.missing, places),
            columns=picked(self.columns, places),
        )

    def of_column(self, column: str) -> "Responses":
        """Return the responses in another column."""
        return _responses_in(self, (column,))


@dataclass(frozen=True)
class Reading:
    """How files of responses are read."""

    tasks: Collection[str] = ()  # the harness tasks whose samples are accepted; if empty, those of any task
    # columns that mark a row as the dataset's own, which holds the right answer, not a response
    dataset: Collection[str] = ()
    # column -> its values; the file name of a part may contain one of them, such as "random" in A of
    # "NAME=A,B,C"
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    matching: MatchingOptions = MatchingOptions()


USUAL = Reading()


def read(responses: Sequence[Given], options: Reading = USUAL) -> list[Responses]:
    """Read the responses of several LVLMs, each with a name of its own."""
    sources = given.sources(responses, options.matching.sheet)
    unnamed = []
    models = []
    for source in sources:
        responses_of_model = _read(source, options)
        unnamed.append(responses_of_model)
        models.append(responses_of_model.name)
    names = given.names_of(sources, models)
    named = []
    for responses_of_model, name in zip(unnamed, names, strict=True):
        named.append(replace(responses_of_model, name=name))
    return named


def _read(source: Source, options: Reading) -> Responses:
    """Read responses; their name is the user's, that of the model that a harness or each row states, or ""."""
    beside = Stated()
    cut_ends = CutEnds(allowed=options.matching.partial)
    table = _table(source, options, beside, cut_ends)
    if len(source.files) < 2:  # the user joins the files of one LVLM, whatever these call it
        _check_one_model(table)
    if source.files and not beside.model:
        beside.model = _model_in(table)
    columns = _text_columns(table, options)
    is_sheet = any(ending(file) in SHEETS for file in source.files)
    unread = Responses(
        name=source.name or beside.model,
        table=table,
        texts=[],
        missing=[],
        columns=[],
        sampled=beside.are_samples,
        is_column_known=beside.are_samples or beside.is_answer_list,
        figures=beside.figures,
        blank=is_sheet and not options.matching.text_columns,
        cut_ends=cut_ends.places,
    )
    responses = _responses_in(unread, columns)
    if all(responses.missing):
        text_column.refuse_missing(table, columns, len(table))
    _check_length(responses)
    return responses


def _table(source: Source, options: Reading, beside: Stated, cut_ends: CutEnds) -> Table:
    """Return the table of a source's rows, with their images and questions under known names."""
    if len(source.files) == 1 and options.matching.limit is None:
        flat = _flat_table(source.files[0])
        if flat is not None:
            return with_known_columns(flat, options.matching.text_columns)
    located = _rows_with_responses(source, options, beside, cut_ends)
    beside.are_samples = located[0][1].keys() >= SAMPLE
    if not beside.are_samples:
        table = Table.of_rows(source.label, located)
        return with_known_columns(table, options.matching.text_columns)
    if len(source.files) == 1 and not beside.model:
        results = logs.results_beside(source.files[0])
        beside.model = results.model
        beside.figures = results.figures
    return Table.of_rows(source.label, logs.responses_of_samples(located, options.tasks))


def _rows_with_responses(
    source: Source, options: Reading, beside: Stated, cut_ends: CutEnds
) -> list[Located]:
    """Return the rows of a source, at least one, without settings and scores beside them."""
    rows = islice(_located(source, options, beside, cut_ends), options.matching.limit)
    located = tables.objects(rows)
    if not located:
        raise ValueError(f"{source.label} holds no responses; expected one JSON object per line, or a table.")
    return _without_settings(located, beside)


def _check_length(responses: Responses) -> None:
    """Check that the longest response is not too long."""
    longest = max(responses.texts, key=len)
    place = responses.texts.index(longest)
    limits.check("cell", len(longest), f"{responses.table.where[place]}: {responses.columns[place]}")


def _model_in(table: Table) -> str:
    """Return the name of the model that all rows state; "" for none."""
    models = table.cells(MODEL)
    first = models[0]
    if isinstance(first, str) and first.strip() and models.count(first) == len(models):
        return first
    return ""


def _check_one_model(table: Table) -> None:
    """Check that rows do not name several LVLMs."""
    for name in MODELS:
        if name not in table.columns:
            continue
        named: dict[str, None] = {}  # each once, in their order
        for cell in table.cells(name):
            if isinstance(cell, str) and cell.strip():
                named[cell] = None
        if len(named) > 1:
            first, second = list(named)[:2]
            raise ValueError(
                f"{table.source} holds responses of {len(named):,} LVLMs: the column {name} is {short_repr(first)} and "
                f"{short_repr(second)}; expected those of one. Save the rows of each in a file of its own, or remove "
                "the column if all are one LVLM's."
            )


# Rows


def located(file: Path, cut_ends: CutEnds | None = None) -> Iterator[Located]:
    """Yield a file's rows, whatever they are, with their locations; or those of a folder of text files."""
    return _located(Source(files=answer_lists.files_at(file)), USUAL, Stated(), cut_ends)


def _flat_table(file: Path) -> Table | None:
    """Return the table in a large file whose rows are no samples and need no second names; None for others."""
    table = flat_lines.read(file)
    if table is None:
        return None
    names = tuple(table.columns)
    if second_names(names) or alike(names) or table.columns.keys() >= SAMPLE or table.columns.keys() >= LOG:
        return None
    return table


def _located(source: Source, options: Reading, beside: Stated, cut_ends: CutEnds | None) -> Iterator[Located]:
    for where, row in tables.numbered("responses", source.rows):
        yield where, _with_plain_names(row, where, options.matching)
    holds = partial(_may_hold_responses, options.matching.text_columns)
    choices = tables.Choices(options.matching.sheet, holds, cut_ends)
    for file in source.files:
        part: dict[str, str] = {}
        if len(source.files) > 1:
            part = parts_in(file.name, options.parts)
        for where, row in _rows_of(file, options, beside, choices):
            named = _with_plain_names(row, where, options.matching)
            if part and isinstance(row, dict):
                named = {**part, **named}
            yield where, named


def _may_hold_responses(text_columns: Collection[str], columns: Sequence[str]) -> bool:
    """Whether a table with some columns may hold responses, given the columns that the user names."""
    if text_columns:
        return not set(text_columns).isdisjoint(columns)
    names = [plain(column) for column in columns]
    return text_column.first_named(names) != "" or any(map(SAYS.match, names))


def _rows_of(file: Path, options: Reading, beside: Stated, choices: tables.Choices) -> Iterator[Located]:
    """Yield the rows of a file; those of a log as samples, and those in objects that hold several."""
    if ending(file) == ".eval":
        yield from logs.read_eval(file, beside)
        return
    if answer_lists.is_answer_list(file):
        beside.is_answer_list = True
        yield from answer_lists.rows(file)
        return
    unfolding = Unfolding(options.parts, options.matching.text_columns)
    for where, row in tables.rows(file, choices):
        if isinstance(row, str):
            yield where, {TEXTS[0]: row}
            continue
        if are_objects(row) and len(row) == 1:
            row = row[0]  # a pipeline of transformers gives a list for each of several chats
        if not isinstance(row, dict):
            yield where, row
            continue
        row = api_replies.with_reply(row)
        in_columns = rows_of_columns(row, options.matching.text_columns)
        if in_columns:
            for number, inner in enumerate(in_columns, 1):
                yield f"{where}, row {number}", inner
        elif stands_alone(row):
            yield where, row
        elif row.keys() >= LOG:
            yield from logs.read_log(row, where, beside)
        else:
            yield from unfolded(row, where, unfolding, beside.figures)


def _without_settings(rows: list[Located], beside: Stated) -> list[Located]:
    """Leave out a first or last row that shares no column with the row beside it: settings, or scores."""
    if len(rows) < 3:
        return rows
    for end, neighbour in ((0, 1), (-1, -2)):
        known = OWN.union(ABOUT, rows[neighbour][1])
        if known.isdisjoint(rows[end][1]):
            beside.figures.update(figures_in(rows[end][1]))
            del rows[end]
    return rows


# Columns


def _with_plain_names(row: Any, where: str, options: MatchingOptions) -> Any:
    """Add a second name for each column that has capitals or spaces: "doc_id" for "Doc ID" and "docId"."""
    if not isinstance(row, Mapping):
        return row
    names = tuple(row)
    if alike(names):
        _check_alike(row, where, options)
    seconds = second_names(names)
    if not seconds:
        return row
    named = dict(row)
    for second, name in seconds.items():
        named[second] = row[name]
    return named


def _check_alike(row: Row, where: str, options: MatchingOptions) -> None:
    """Check that columns whose names differ only in case or spaces do not differ in what they hold."""
    chosen = list(options.text_columns)
    if options.id_column:
        chosen.append(options.id_column)
    for shared, columns in contradicting(row, chosen):
        if shared in _MATTERING or SAYS.match(shared):
            names = " and ".join(map(short_repr, columns))
            values = " and ".join(short_repr(row[name]) for name in columns)
            raise ValueError(
                f"{where} has the columns {names}, whose names differ only in case or spaces, with different values: "
                f"{values}; expected one of them. Remove or rename the others, or name the one that counts: "
                f"--text-column {columns[0]} (text_column) for the text, --id-column (id_column) for the id."
            )


def with_known_columns(table: Table, columns: Sequence[str] = ()) -> Table:
    """Add the image and the question of rows that state them in another column, or in an object or a chat.

    Of chat completions, which were read choice by choice, the message is the response.
    """
    first = table.row(0)
    text = text_column.first_named(first)
    if columns:
        text = next((name for name in columns if name in first), "")
    has_no_id = set(IDS).isdisjoint(first)
    asks_nothing = set(QUESTIONS).intersection(first) <= {text}
    more: dict[str, list[Any]] = {}
    if asks_nothing:
        more = _in_objects(table, text, IDS + QUESTIONS)
    elif has_no_id:
        more = _in_objects(table, text, IDS)
    if not text and isinstance(first.get("message"), Mapping):
        more[TEXTS[0]] = table.cells("message")
    if has_no_id:
        images = [name for name, value in first.items() if isinstance(value, str) and is_image_file(value)]
        images = _unlike(table, images)
        if len(images) == 1:
            more["image"] = table.cells(images[0])
    if asks_nothing:
        texts = set(TEXTS).union(columns, (text,))
        questions = [name for name in first if name not in texts and _asks(table, name)]
        questions = _unlike(table, questions)
        if len(questions) == 1:
            more["question"] = table.cells(questions[0])
    return table.over(more) if more else table


def _unlike(table: Table, names: Sequence[Any]) -> list[Any]:
    """Leave out the columns that hold what an earlier one does, such as a second name of it."""
    unlike: list[Any] = []
    for name in names:
        if all(table.cells(name) != table.cells(earlier) for earlier in unlike):
            unlike.append(name)
    return unlike


def _asks(table: Table, name: Any) -> bool:
    """Whether a column that is not named like responses has a question mark in each row, and no addresses."""
    if SAYS.match(str(name)):
        return False
    return all(isinstance(cell, str) and "?" in cell and "://" not in cell for cell in table.cells(name))


def _in_objects(table: Table, text: str, sought: Sequence[str]) -> dict[str, list[Any]]:
    """Return the ids, images and questions that are sought, where rows state them in objects or in chats."""
    columns: dict[str, list[Any]] = {}
    if not any(isinstance(value, dict | list) for value in table.row(0).values()):
        return columns
    for place in range(len(table)):
        for name, cell in table.row(place).items():
            if name == text:
                continue
            for key, value in _facts_in(cell, sought).items():
                columns.setdefault(key, [ABSENT] * len(table))[place] = value
    return columns


def _facts_in(cell: Any, sought: Sequence[str]) -> dict[str, Any]:
    """Return what is sought of an object or a chat; {} for any other cell."""
    stated: Mapping[str, Any] = {}
    if isinstance(cell, Mapping):
        stated = cell
    elif are_objects(cell):
        stated = turns(cell)
    facts = {}
    for key in sought:
        if key in stated and key not in TEXTS:
            facts[key] = stated[key]
    return facts


# Responses


def _text_columns(table: Table, options: Reading) -> Sequence[str]:
    """Return the column that is named like one of responses, or the columns that the user names.

    The dataset's own right answer is no response.
    """
    columns = options.matching.text_columns
    if columns:
        if table.columns.keys().isdisjoint(columns):
            raise _no_text(table.where[0], table.row(0), columns, text_column.may_hold_responses(table))
        return columns
    names = table.names
    first = text_column.first_named(names)
    answer = ""
    if first in options.dataset and set(options.dataset) <= set(names):
        answer = first
    column = text_column.by_name(table, answer)
    if column:
        return (column,)
    if answer:
        raise ValueError(
            f"{table.where[0]} is a row of the dataset, whose {answer!r} is the right answer; expected the LVLM's "
            "response."
        )
    usual = text_column.usual_names(names)
    raise _no_text(table.where[0], table.row(0), usual, text_column.may_hold_responses(table))


def _no_text(where: str, row: Row, known: Sequence[str], columns: Sequence[str] = ()) -> ValueError:
    """Return the error that a row has no text in the known columns.

    Args:
        where: the row's location.
        row: the row.
        known: the columns.
        columns: those that may hold it instead; without any, all columns of texts are named.
    """
    texts = list(columns)
    if not texts:
        texts = [str(name) for name, value in row.items() if isinstance(value, str | Mapping)]
    hint = ""
    if texts:
        more = f" and {len(texts) - NAMED:,} more" if len(texts) > NAMED else ""
        hint = f" Texts here: {', '.join(texts[:NAMED])}{more}."
    others = [str(name) for name in row if name not in IDS]
    if others and all(name.endswith("?") for name in others):
        hint = (
            ' Its keys are questions: write a row for each, {"image": ..., "question": ..., "response": ...}.'
        )
    keys = "the key" if len(known) == 1 else "one of the keys"
    return ValueError(
        f"{where}: expected an object with the LVLM's text under {keys} {', '.join(known)}; got "
        f"{short_repr(row, 120)}. If another column holds the text, name it: --text-column (text_column); or several, "
        f"of which each response has one.{hint}"
    )


def check_complete(responses: Responses) -> None:
    """Check that each row has a response, where no option leaves out rows without one."""
    lacking = responses.lacking
    if lacking:
        raise ValueError(
            f"{responses.source}: {len(lacking):,} of {len(responses):,} rows have no "
            f"{responses.columns[lacking[0]]}, the first of them {responses.table.where[lacking[0]]}; expected the "
            "LVLM's text in each row. Ask the LVLM about them, or remove these rows."
        )


def _responses_in(responses: Responses, columns: Sequence[str]) -> Responses:
    """Return the responses in a column, or in several of which each row has one.

    Args:
        responses: their table.
        columns: the names of the columns.
    """
    table = responses.table
    missing = text_column.missing(table, columns, responses.blank)
    labels: Mapping[str, str] = {}
    if len(columns) > 1:
        chosen = _first_filled(table, columns, missing)
        cells = [table.cells(column)[place] for place, column in enumerate(chosen)]
    else:
        chosen = [columns[0]] * len(table)
        cells = table.cells(columns[0])
        labels = yes_no_labels(cell for cell, lacks in zip(cells, missing, strict=True) if not lacks)
    texts = list(cells)
    # the usual texts stand for themselves; a loop is slow
    if labels or True in missing or not are_plain(cells):
        for place, cell in enumerate(cells):
            if missing[place]:
                texts[place] = ""
            elif labels:
                texts[place] = labels[label_in(cell)]
            else:
                texts[place] = _text_of(cell, table.where[place], chosen[place])
    return replace(
        responses,
        texts=_without_brackets(texts, missing),
        missing=missing,
        columns=chosen,
        labels=list(labels),
    )


def _first_filled(table: Table, columns: Sequence[str], missing: Sequence[bool]) -> list[str]:
    """Return the first of some columns in which each row has a text, or, where it has none, the first with a value.

    A csv has an empty cell in each column that a row does not use. A row without a response gets the first column.
    """
    chosen = []
    for place, lacks in enumerate(missing):
        column = columns[0]
        if not lacks:
            filled = [name for name in columns if not is_nothing(table.cells(name)[place])]
            with_text = [name for name in filled if table.cells(name)[place] != ""]
            column = (with_text or filled)[0]
        chosen.append(column)
    return chosen


def _without_brackets(texts: list[str], missing: Sequence[bool]) -> list[str]:
    """Return the texts in lists of one text that are written as texts, if all are."""
    bare = []
    for text, lacks in zip(texts, missing, strict=True):
        if lacks:
            bare.append(text)
            continue
        match = _LIST.fullmatch(text)
        if match is None:
            return texts
        values = literal_list(text)
        if not values:  # its marks are not spelled as Python or JSON would
            bare.append(match[2])
        elif len(values) == 1:
            bare.append(values[0])
        else:
            bare.append(text)
    return bare


def _text_of(cell: Any, where: str, column: str) -> str:
    text = text_in(cell)
    if text is None:
        raise ValueError(
            f"{where}: {column} is {short_repr(cell)}; expected the LVLM's text (it may be empty)."
        )
    return text


def text_of(row: Row, where: str) -> str:
    """Return the text of a row that stands alone, which has it in one of `TEXTS`."""
    name = text_column.first_named(row)
    if not name:
        raise _no_text(where, row, text_column.usual_names(row))
    return _text_of(row[name], where, name)
