"""Reads an LVLM's responses, row by row, from a table or from a harness's log.

lm-eval logs a whole document; lmms-eval logs only the items of each score, which name the task and the row. A log of
Inspect, as `.eval` or as JSON, is read into the form of lm-eval's samples, without Inspect.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.files.cut_ends import CutEnds
from halluscope.files.opening import check_once, decoded, ending, members, parse, plain_name, read_json
from halluscope.options import MatchingOptions
from halluscope.paths import is_there, path_of
from halluscope.reading import tables
from halluscope.reading.columns import alike, contradicting, plain, second_names
from halluscope.reading.tables import Located
from halluscope.responses import answer_lists, text_column
from halluscope.responses.cells import is_nothing, label_in, text_in, yes_no_labels
from halluscope.responses.image_urls import URLS
from halluscope.responses.names import IDS, IMAGES, LABEL, QUESTIONS, SAYS, TEXTS, is_image_file
from halluscope.sanitize import one_line, short_repr
from halluscope.validation import is_number, listed

# The column that names the model
MODEL = "model_id"

# The roles of a chat's turns whose texts are prompts, and responses
_ASKS, _RESPONDS = ("human", "user"), ("gpt", "assistant", "model")

# The keys that mark JSON as a log of Inspect, and those that each of its samples has
LOG = {"version", "status", "eval", "plan"}
INSPECTED = {"id", "epoch", "input", "output", "metadata"}

# The keys that mark a row as a sample of lm-eval or lmms-eval, the key of its prompt, which stands for the document in
# short logs, and the key under which a response names its task
SAMPLE = {"doc_id", "filtered_resps"}
INPUT, TASK = "input", "halluscope_task"

# The names of a file of samples, and of the file of results beside it: lm-eval's, and lmms-eval's
_BESIDE = {
    "results_{}.json": re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T.+)"),
    "{}_results.json": re.compile(r"(?P<time>.+)_samples_(?P<task>.+)"),
}

# A list of one text, written as text by Python or as JSON
_LIST = re.compile(r"""\s*\[\s*(['"])(.*)\1\s*\]\s*""", re.DOTALL)

# Columns that mark a row as a response, or as a sample, beside which no list of rows is looked for
_OWN = {*TEXTS, *SAMPLE}

# The endings of tables in which an empty text and none look alike
TABLES = (".csv", ".tsv", ".xlsx")

Row = Mapping[str, Any]
# The responses of one LVLM as a user gives them: a file, "NAME=A,B,C" for a file in parts, rows, texts in the
# dataset's order, or {id: text}; or a pair of a name and one of these
Given = str | Path | Sequence[Row | str] | Mapping[Any, Any] | tuple[str, Any]

# How a text ends that is the name of a file
_NAME = re.compile(r"\S+\.(?:jsonl?|csv|tsv|parquet|xlsx|eval)(?:\.gz)?", re.IGNORECASE)


class Response(NamedTuple):
    """What an LVLM said about one row of a dataset."""

    where: str  # its location, for messages
    row: Row  # the whole row that holds it
    text: str  # the text; it may be empty
    column: str = ""  # the row's column that held the text
    missing: bool = False  # whether the row has no response; then the text is empty


class Responses(NamedTuple):
    """The responses of one LVLM."""

    # the LVLM's name: the one that the user gives, a harness, or every row; or else the file's name without its ending,
    # preceded by as many folders as are needed to tell files apart; "responses" if there is no file
    name: str
    source: str  # the file, for messages
    each: Sequence[Response]  # the responses, at least one
    sampled: bool = False  # whether a harness wrote them
    is_column_known: bool = False  # whether the form of the file says which column holds them
    # the numbers that a file states beside its rows, by their last key, such as scores
    figures: Mapping[str, float] = {}
    labels: Sequence[str] = ()  # the labels, such as 1 and 0, that are read as "yes" and "no"
    blank: bool = False  # whether an empty cell is no response (`text_column.missing`)
    cut_ends: Sequence[str] = ()  # the last lines that were left out because a part of each is missing


class Reading(NamedTuple):
    """How files of responses are read."""

    tasks: Collection[str] = ()  # the harness tasks whose samples are accepted; if empty, those of any task
    # columns that mark a row as the dataset's own, which holds the right answer, not a response
    dataset: Collection[str] = ()
    # column -> its values; the file name of a part may contain one of them, such as "random" in A of
    # "NAME=A,B,C"
    parts: Mapping[str, Collection[str]] = {}
    options: MatchingOptions = MatchingOptions()


USUAL = Reading()


@dataclass
class _Stated:
    """What files state beside their rows."""

    model: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    is_table: bool = False  # whether rows come from a table, where an empty text and none look alike
    is_answer_list: bool = False  # whether rows come from a file whose columns have fixed places


# The columns whose values matter to how responses are read
_MATTERING = {*TEXTS, *IDS, *IMAGES, *URLS, *QUESTIONS, *("label", "sampling", "category", "model_id")}


def read(given: Sequence[Given], how: Reading = USUAL) -> list[Responses]:
    """Read the responses of several LVLMs, each with a name of its own."""
    sources = [_source(one) for one in given]
    files = [file for source in sources for file in source.files]
    check_once(files)
    if how.options.sheet is not None:
        _check_sheets(files)
    each = [_read(source, how) for source in sources]
    count = Counter(one.name for one in each)
    # a name that several files' rows state is the user's, or none
    names = [
        source.name or (one.name if count[one.name] == 1 else "")
        for one, source in zip(each, sources, strict=True)
    ]
    whole = _names(names, [source.place for source in sources])
    return [one._replace(name=name) for one, name in zip(each, whole, strict=True)]


def _check_sheets(files: Sequence[Path]) -> None:
    """Check that the name of a sheet matters: that one of the files has sheets."""
    if not any(ending(file) == ".xlsx" for file in files):
        names = ", ".join(map(str, files)) or "rows in Python"
        raise ValueError(
            f"sheet (--sheet) names a sheet of an xlsx file, but the responses are {names}; expected an xlsx file, or "
            "no sheet."
        )


def is_by_name(given: Any) -> bool:
    """Whether these are the responses of several LVLMs by their names (files, lists), not the texts of one by id."""

    def is_of_one(value: Any) -> bool:
        if isinstance(value, str):
            return bool(_NAME.fullmatch(value))
        if isinstance(value, list | tuple):  # a list of one text is a text, as some files have it
            return len(value) != 1 or not isinstance(value[0], str)
        return isinstance(value, Path) or hasattr(value, "columns")

    return isinstance(given, Mapping) and bool(given) and all(map(is_of_one, given.values()))


def _with_known_columns(found: list[Located], columns: tuple[str, ...]) -> list[Located]:
    """Add the image and the question of rows that state them in another column, or in an object or a chat."""
    first, rows = found[0][1], [row for _, row in found]
    text = text_column.first_named(first, columns)[1]
    more = dict[str, str]()
    if {*IDS}.isdisjoint(first):
        images = [name for name, value in first.items() if isinstance(value, str) and is_image_file(value)]
        more |= {"image": images[0]} if len(images) == 1 else {}
    asks_nothing = {*QUESTIONS} & first.keys() <= {text}
    if asks_nothing:
        asks = [
            name
            for name in first
            if name not in {text, *columns, *TEXTS}
            and not SAYS.match(name)
            and all(isinstance(row.get(name), str) and "?" in row[name] for row in rows)
        ]
        more |= {"question": asks[0]} if len(asks) == 1 else {}
    if not more and not (asks_nothing and any(isinstance(value, dict | list) for value in first.values())):
        return found
    return [
        (where, {**_held(row, text), **{own: row.get(name) for own, name in more.items()}, **row})
        for where, row in found
    ]


def _held(row: Row, text: str) -> Row:
    """Return the id, the image and the question that a row states in an object, or in a chat, other than its text."""
    held = dict[str, Any]()
    for name, value in row.items():
        if isinstance(value, Mapping) and name != text:
            held |= {key: value[key] for key in (*IDS, *QUESTIONS) if key in value and key not in TEXTS}
        elif isinstance(value, list) and value and all(isinstance(turn, Mapping) for turn in value):
            held |= {key: said for key, said in _turns(value).items() if key == "prompt"}
    return held


@dataclass(frozen=True)
class _Source:
    """Where the responses of one LVLM are."""

    name: str = ""  # the user's name for it
    files: Sequence[Path] = ()
    rows: Sequence[Row] = ()
    place: Path | None = None  # the file or folder by which it is named if nothing else names it


def _source(given: Given) -> _Source:
    if isinstance(given, tuple):
        return replace(_source(given[1]), name=given[0])
    if isinstance(given, Mapping):
        return _Source(rows=[row for _, row in tables.by_id(given, "responses")])
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a pandas DataFrame
        _check_once([*given.columns])
        return _Source(rows=given.to_dict("records"))
    if isinstance(given, str | Path):
        name, equals, parts = str(given).partition("=")
        if equals and name and not is_there(str(given)):
            files = []
            for part in parts.split(","):
                files += answer_lists.files_at(path_of(part.strip()))
            return _Source(name, files)
        place = path_of(given)
        return _Source(files=answer_lists.files_at(place), place=place)
    rows = listed("responses", given, "a file, a list of rows with an id and a text, a table, or {id: text}")
    return _Source(rows=[{TEXTS[0]: row} if isinstance(row, str) else row for row in rows])


def _check_once(columns: Sequence[Any]) -> None:
    """Check that no two columns of a DataFrame have the same name: only the last one would count."""
    for name, count in Counter(columns).items():
        if count > 1:
            raise ValueError(
                f"responses is a table with two columns {short_repr(name)}; expected each name once. Rename one of "
                "them."
            )


def _names(names: list[str], places: Sequence[Path | None]) -> list[str]:
    """Name the LVLMs that have no name by their places, with as many folders as tell the names apart."""
    folders = [
        [] if name or not place else [*place.resolve().parent.parts[1:]]
        for name, place in zip(names, places, strict=True)
    ]
    names = [
        name or (plain_name(place) if place else "responses")
        for name, place in zip(names, places, strict=True)
    ]
    while alike := [index for index, name in enumerate(names) if names.count(name) > 1]:
        if not any(folders[index] for index in alike):
            raise ValueError(
                f"Two LVLMs are called {short_repr(names[alike[0]])}; give each its own name: NAME=FILE."
            )
        for index in alike:
            if folders[index]:
                names[index] = f"{folders[index].pop()}/{names[index]}"
    return names


def _read(given: _Source, how: Reading) -> Responses:
    """Read responses, by the user's name, that of the model that a harness or each row states, or none."""
    files = given.files
    source = ", ".join(map(str, files)) or "responses"
    stated = _Stated()
    cut_ends = CutEnds(allowed=how.options.partial)
    found = tables.objects(islice(_located(files, given.rows, how, stated, cut_ends), how.options.limit))
    if not found:
        raise ValueError(f"{source} holds no responses; expected one JSON object per line, or a table.")
    for end, beside in ((0, 1), (-1, -2)) if len(found) > 2 else ():
        if {*found[end][1]}.isdisjoint([*found[beside][1], *_OWN, *IDS, *QUESTIONS]):  # settings, or scores
            stated.figures.update(_figures(found.pop(end)[1]))
    if sampled := found[0][1].keys() >= SAMPLE:
        found = [*_of_samples(found, how.tasks)]
        if len(files) == 1 and not stated.model:
            stated = _results_beside(files[0])
    columns = how.options.text_columns
    if not sampled:
        found = _with_known_columns(found, columns)
    rows_found = [row for _, row in found]
    if columns:
        _check_named(found[0], rows_found, columns)
    else:
        columns = (_text_column(found[0], rows_found, how.dataset),)
    models = [row.get(MODEL) for _, row in found]
    if files and not stated.model and isinstance(models[0], str) and models == models[:1] * len(models):
        stated.model = models[0].strip() and models[0]
    blank = stated.is_table and not how.options.text_columns
    each, labels = responses_in(found, columns, blank)
    if all(response.missing for response in each):
        text_column.refuse_missing(text_column.Table.of(source, found), columns, len(found))
    longest = max(each, key=lambda one: len(one.text))
    limits.check("cell", len(longest.text), f"{longest.where}: {longest.column}")
    return Responses(
        given.name or stated.model,
        source,
        each,
        sampled=sampled,
        is_column_known=sampled or stated.is_answer_list,
        figures=stated.figures,
        labels=labels,
        blank=blank,
        cut_ends=cut_ends.places,
    )


def _text_column(first: Located, rows: Sequence[Row], dataset: Collection[str]) -> str:
    """Return the column that is named like one of responses; the dataset's own right answer is none."""
    names = text_column.columns_of(rows)
    own = text_column.first_named(names)[1]
    is_answer = own in dataset and {*dataset} <= {*names}
    column = text_column.by_name(rows, own if is_answer else "")
    if column:
        return column
    where, row = first
    if is_answer:
        raise ValueError(
            f"{where} is a row of the dataset, whose {own!r} is the right answer; expected the LVLM's response."
        )
    raise _no_text(where, row, text_column.first_named(names)[0])


def _check_named(first: Located, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Check that a row has one of the columns that the user names."""
    if not any(name in row for row in rows for name in columns):
        raise _no_text(*first, columns)


def _no_text(where: str, row: Row, known: Sequence[str]) -> ValueError:
    texts = ", ".join(str(name) for name, value in row.items() if isinstance(value, str))
    here = f" Texts here: {texts}." if texts else ""
    keys = "the key" if len(known) == 1 else "one of the keys"
    return ValueError(
        f"{where}: expected an object with the LVLM's text under {keys} {', '.join(known)}; got "
        f"{short_repr(row, 120)}. If another column holds the text, name it: --text-column (text_column); or several, "
        f"of which each response has one.{here}"
    )


def check_complete(responses: Responses) -> None:
    """Check that each row has a response, where no option leaves out rows without one."""
    lacking = [response for response in responses.each if response.missing]
    if lacking:
        raise ValueError(
            f"{responses.source}: {len(lacking):,} of {len(responses.each):,} rows have no {lacking[0].column}, the "
            f"first of them {lacking[0].where}; expected the LVLM's text in each row. Ask the LVLM about them, or "
            "remove these rows."
        )


def responses_in(
    located: Sequence[Located], columns: Sequence[str], blank: bool
) -> tuple[list[Response], Sequence[str]]:
    """Return the responses in a column, or in several of which each row has one, and the labels read as yes and no.

    Args:
        located: rows with their locations.
        columns: the names of the columns.
        blank: whether an empty cell is no response.
    """
    rows = [row for _, row in located]
    lacking = text_column.missing(rows, columns, blank)
    labels: Mapping[str, str] = {}
    if len(columns) == 1:
        cells = [row.get(columns[0]) for row, lacks in zip(rows, lacking, strict=True) if not lacks]
        labels = yes_no_labels(cells)
    each = []
    for (where, row), lacks in zip(located, lacking, strict=True):
        if lacks:
            each.append(Response(where, row, "", columns[0], True))
            continue
        column = next(name for name in columns if not is_nothing(row.get(name)))
        text = labels[label_in(row[column])] if labels else _text_of(row[column], where, column)
        each.append(Response(where, row, text, column))
    texts = [response.text for response in each if not response.missing]
    if texts and all(_LIST.fullmatch(text) for text in texts):
        each = [response._replace(text=_LIST.sub(r"\2", response.text)) for response in each]
    return each, [*labels]


def _text_of(cell: Any, where: str, column: str) -> str:
    text = text_in(cell)
    if text is None:
        raise ValueError(
            f"{where}: {column} is {short_repr(cell)}; expected the LVLM's text (it may be empty)."
        )
    return text


def text_of(row: Row, where: str, columns: tuple[str, ...] = ()) -> tuple[str, str]:
    """Return the text of a row that stands alone, and its column: one of the named columns, or of `TEXTS`."""
    known, name = text_column.first_named(row, columns)
    if not name:
        raise _no_text(where, row, known)
    return _text_of(row[name], where, name), name


def located(file: Path, cut_ends: CutEnds | None = None) -> Iterator[Located]:
    """Yield a file's rows, whatever they are, with their locations; or those of a folder of text files."""
    return _located(answer_lists.files_at(file), [], USUAL, _Stated(), cut_ends)


def _located(
    files: Sequence[Path], rows: Sequence[Row], how: Reading, stated: _Stated, cut_ends: CutEnds | None
) -> Iterator[Located]:
    for where, row in tables.numbered("responses", rows):
        yield where, _with_plain_names(row, where, how.options)
    choices = tables.Choices(how.options.sheet, partial(_may_hold_texts, how.options), cut_ends)
    for file in files:
        part = {}  # the columns and values that the name of a part's file gives to its rows
        for column, values in how.parts.items() if len(files) > 1 else ():
            if len(named := [value for value in values if value in file.name]) == 1:
                part[column] = named[0]
        for where, row in _of_file(file, how, stated, choices):
            named_plainly = _with_plain_names(row, where, how.options)
            if part and isinstance(row, dict):
                yield where, {**part, **named_plainly}
            else:
                yield where, named_plainly


def _may_hold_texts(options: MatchingOptions, columns: Sequence[str]) -> bool:
    """Whether a table with these columns may hold responses."""
    if options.text_columns:
        return not {*options.text_columns}.isdisjoint(columns)
    names = tuple(map(plain, columns))
    return text_column.first_named(names)[1] != "" or any(map(SAYS.match, names))


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
    return {**row, **{second: row[name] for second, name in seconds.items()}}


def _check_alike(row: Row, where: str, options: MatchingOptions) -> None:
    """Check that columns whose names differ only in case or spaces do not differ in what they hold."""
    for shared, columns in contradicting(row, (*options.text_columns, options.id_column or "")):
        if shared in _MATTERING or SAYS.match(shared):
            names = " and ".join(map(short_repr, columns))
            values = " and ".join(short_repr(row[name]) for name in columns)
            raise ValueError(
                f"{where} has the columns {names}, whose names differ only in case or spaces, with different values: "
                f"{values}; expected one of them. Remove or rename the others, or name the one that counts: "
                f"--text-column {columns[0]} (text_column) for the text, --id-column (id_column) for the id."
            )


def _of_file(file: Path, how: Reading, stated: _Stated, choices: tables.Choices) -> Iterator[Located]:
    if ending(file) == ".eval":  # Inspect's default format, a zip with a member per sample
        for _, header in _members(file, "header"):
            stated.model = _text(_at(header, "eval", "model"))
        yield from _inspected(_members(file, "samples/"), str(file))
        return
    if answer_lists.is_answer_list(file):
        stated.is_answer_list = True
        yield from answer_lists.rows(file)
        return
    stated.is_table |= ending(file) in TABLES
    for where, row in tables.rows(file, choices):
        if isinstance(row, str):
            yield where, {TEXTS[0]: row}
        elif isinstance(row, dict) and (table := _table(row)):
            yield from ((f"{where}, row {number}", cells) for number, cells in enumerate(table, 1))
        elif not isinstance(row, dict) or not _OWN.isdisjoint(row):
            yield where, row
        elif row.keys() >= LOG:
            stated.model = _text(_at(row, "eval", "model"))
            samples = row["samples"] if isinstance(row.get("samples"), list) else []
            numbered = ((f"{where}, sample {number}", one) for number, one in enumerate(samples, 1))
            yield from _inspected(numbered, where)
        else:
            yield from _unfolded(row, where, how, stated.figures)


def _table(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that is written column by column, as pandas does, or as names of columns and lists of
    cells, as pandas ("split") and Weights & Biases do; [] if the object is a row.
    """
    names, lists = row.get("columns"), row.get("data")
    if isinstance(names, list) and isinstance(lists, list):
        with suppress(TypeError, ValueError):
            return [dict(zip(names, cells, strict=True)) for cells in lists]
    if not isinstance(next(iter(row.values()), None), list | dict):
        return []
    columns = {
        name: [*value.values()]
        if isinstance(value, dict) and [*value] == [*map(str, range(len(value)))]
        else value
        for name, value in row.items()
    }
    are_lists = all(isinstance(value, list) for value in columns.values())
    is_table = are_lists and len(columns) > 1 and len({*map(len, columns.values())}) == 1
    if not is_table or any(isinstance(cell, Mapping) for cell in chain.from_iterable(columns.values())):
        return []
    # the name of a column may be that of a cell in the plural
    known = {*IDS, *QUESTIONS, *TEXTS, LABEL}
    names = [one if (one := name.removesuffix("s")) in known else name for name in columns]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _unfolded(row: Any, where: str, how: Reading, figures: dict[str, float]) -> Iterator[Located]:
    """Yield the rows of a row's lists of objects, with the row's own values, if it has no text; else the row.

    So files are read that hold their rows under a key, beside scores or settings, image by image, or as chats. Several
    lists are read if the key of each names a part, such as "random", or an image, or if all are alike, as lists by
    category are, and do not answer the same questions.
    """
    lists = _lists(row, how) if {*_OWN, *how.options.text_columns}.isdisjoint(row) else {}
    parts = [tuple(part.items()) for part, _ in lists.values()]
    if len(lists) > 1 and not (all(parts) and len({*parts}) == len(parts)):
        if not _are_alike([rows for _, rows in lists.values()]):
            lists = {}
        elif len({_about(rows) for _, rows in lists.values()}) < len(lists):
            raise ValueError(
                f"{where} holds responses of several LVLMs, or of several runs, to the same questions: "
                f"{one_line(', '.join(lists), 120)}; expected those of one. Save each list as a file of its own."
            )
    if not lists:
        yield where, row
        return
    own = {key: value for key, value in row.items() if isinstance(value, str | int | float)}
    if isinstance(image := own.get(tables.KEY), str) and is_image_file(image):
        own["image"] = image
    figures.update(_figures({name: value for name, value in row.items() if name not in lists}))
    for name, (part, rows) in lists.items():
        if chat := _turns(rows):
            yield where, {**own, **chat}
            continue
        for number, one in enumerate(rows, 1):
            yield from _unfolded({**own, **part, **one}, f"{where}, {name} {number}", how, {})


def _says(row: Row) -> bool:
    """Whether an object has a text in a column that is named like a response's, or is a turn of a chat."""
    says = any(isinstance(value, str) and SAYS.match(str(name)) for name, value in row.items())
    return says or not {*TEXTS, "role", "from"}.isdisjoint(row)


def _lists(row: Row, how: Reading) -> dict[str, tuple[dict[str, str], list[Row]]]:
    """Return an object's lists of objects by their keys, or else those in its objects, each with what its key names:
    a part, or an image.
    """
    if not any(isinstance(value, list | Mapping) for value in row.values()):
        return {}  # most rows; what follows takes several times as long as reading them
    parts = {
        name: {"image" if is_image_file(name) else tables.KEY: name}
        if _is_id(name)
        else {
            column: value for column, values in how.parts.items() for value in values if value in name.lower()
        }
        for name in map(str, row)
    }
    says = _says(row)
    found = {
        str(name): (parts[str(name)], value)
        for name, value in row.items()
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
        if not says or any(map(_says, value))  # not boxes beside a text
    }
    if found or not {*IDS, *QUESTIONS}.isdisjoint(row):
        return found
    if any(
        isinstance(value, str) and (SAYS.match(name) or is_image_file(value)) for name, value in row.items()
    ):
        return found  # a row with objects beside its text
    objects = {str(name): value for name, value in row.items() if isinstance(value, Mapping)}
    for name, value in objects.items():
        kinds = {*map(type, value.values())}
        if value and all(map(_is_id, value)) and kinds <= ({str, dict} if SAYS.match(name) else {dict}):
            found[name] = parts[name], [one for _, one in tables.by_id(value, "")]
    for name, value in objects.items() if not found else ():
        for key, (part, rows) in _lists(value, how).items():
            found[f"{name}, {key}"] = {**parts[name], **part}, rows
    return found


def _is_id(key: Any) -> bool:
    return str(key).isdigit() or is_image_file(str(key))


def _are_alike(lists: Sequence[Sequence[Row]]) -> bool:
    """Whether lists have the same columns, a text and an id or a question among them."""
    first = {*lists[0][0]}
    known = bool(first & {*TEXTS} or any(map(SAYS.match, first))) and bool(first & {*IDS, *QUESTIONS})
    return known and all({*rows[0]} == first for rows in lists)


def _about(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return what rows are about: their ids, images and questions."""
    return tuple(str([row.get(name) for name in (*IDS, *QUESTIONS) if name not in TEXTS]) for row in rows)


def _turns(turns: Sequence[Row]) -> dict[str, str]:
    """Return the last prompt and response of a chat, as LLaVA's and OpenAI's files have it; {} if it is none."""
    last = {}
    for turn in turns:
        role, text = turn.get("role", turn.get("from")), turn.get("content", turn.get("value"))
        if isinstance(text, list):  # OpenAI's form, beside images
            text = "\n".join(filter(None, (_text(_at(part, "text")) for part in text)))
        if isinstance(text, str) and role in (*_ASKS, *_RESPONDS):
            last["prompt" if role in _ASKS else TEXTS[0]] = text
    return last if TEXTS[0] in last else {}


def numbers(row: Row, *keys: Any) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield the numbers in an object of objects, each with its keys from outside in."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from numbers(value, *keys, name)
        elif is_number(value):
            yield (*keys, name), value


def _figures(row: Row) -> dict[str, float]:
    return {str(name): float(value) for (*_, name), value in numbers(row)}


# Logs of harnesses


def _at(value: Any, *keys: str) -> Any:
    """Return the value under some keys, one in the other; None if one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _results_beside(file: Path) -> _Stated:
    """Return the model's name and the task's scores from the results beside samples, if there are any."""
    for name, pattern in _BESIDE.items():
        found = pattern.fullmatch(file.name.partition(".jsonl")[0])
        beside = file.with_name(name.format(found["time"])) if found else file
        if found and beside.is_file():
            content, task, figures = read_json(beside), found["task"], {}
            scores = _at(content, "results", task)
            for key, value in scores.items() if isinstance(scores, Mapping) else ():
                # "accuracy" for `pope_accuracy,none`, "f1" for `pope_f1_score,none`, without standard errors
                if isinstance(key, str) and isinstance(value, int | float) and "_stderr" not in key:
                    plain = key.partition(",")[0].removeprefix(f"{task}_")
                    plain = plain.removeprefix(f"{task.partition('_')[0]}_")
                    figures[plain.removesuffix("_score")] = float(value)
            return _Stated(_text(_at(content, "model_name")), figures)
    return _Stated()


def _members(file: Path, begin: str) -> Iterator[Located]:
    for name, content in members(file, begin, ".json"):
        where = f"{file}, {one_line(name, 80)}"
        yield where, parse(decoded(content, where), where)


def _inspected(samples: Iterable[Located], log: str) -> Iterator[Located]:
    """Yield Inspect's samples in the form of lm-eval's, without those whose request failed and had no response."""
    empty = True
    for where, sample in samples:
        empty = False
        output = sample["output"] if isinstance(sample, Mapping) and sample.keys() >= INSPECTED else None
        if not isinstance(output, Mapping):
            raise ValueError(
                f"{where} is not a sample of Inspect: it is {short_repr(sample, 120)}; expected an object with "
                f"{', '.join(sorted(INSPECTED))}."
            )
        if sample["epoch"] != 1:
            raise ValueError(
                f"{where} belongs to epoch {short_repr(sample['epoch'])}: this log holds several responses per row; "
                "expected one. Run the task with --epochs 1."
            )
        if output.get("choices"):
            text = output.get("completion")
            yield where, {"doc_id": sample["id"], "doc": sample["metadata"], "filtered_resps": text}
    if empty:
        raise ValueError(f"{log} holds no samples; expected a log that was written with its samples.")


def _of_samples(found: Sequence[Located], tasks: Collection[str]) -> Iterator[Located]:
    """Yield samples as rows of responses, in the order of their documents, by which those without one are matched."""
    numbers = [_at(row, "doc_id") for _, row in found]
    if {*map(type, numbers)} == {int}:
        found = sorted(found, key=lambda one: one[1]["doc_id"])
    first: dict[Any, str] = {}
    for where, sample in found:
        about = _of_sample(sample, where, tasks)
        doc_id = sample.get("doc_id")
        if not isinstance(doc_id, int | str):
            raise ValueError(f"{where}: doc_id is {short_repr(doc_id)}; expected a whole number or a string.")
        if doc_id in first:
            raise ValueError(
                f"{where}: the document {short_repr(doc_id)} is already in {first[doc_id]}; expected each document "
                "once. Are these the samples of two runs, or of two filters?"
            )
        first[doc_id] = where
        own = {name: value for name, value in about.items() if name != TASK and name not in TEXTS}
        yield where, own | {TEXTS[0]: sample["filtered_resps"]}


def _image_in_scores(sample: Row) -> Row:
    """Return the image that a sample's scores name as the question's id, which lmms-eval logs without the document."""
    for value in sample.values():
        image = _at(value, "question_id")
        if isinstance(image, str) and is_image_file(image):
            return {"image": image}
    return {}


def _of_sample(sample: Row, where: str, tasks: Collection[str]) -> Row:
    """Return what a sample says about its row."""
    if not sample.keys() >= SAMPLE:
        raise ValueError(
            f"{where} is not a sample: expected doc_id and filtered_resps, as lm-eval and lmms-eval write them with "
            f"--log_samples; got {short_repr(sample, 120)}."
        )
    # its document, or one of its scores, may hold the row; else there is only the prompt
    held = [value for value in sample.values() if isinstance(value, Mapping) and TASK in value]
    doc, prompt = sample.get("doc"), sample.get(INPUT)
    about = doc if isinstance(doc, Mapping) else next(iter(held), {})
    task = about.get(TASK)
    if not about and isinstance(prompt, str):
        about = {"prompt": prompt, **_image_in_scores(sample)}
    if not about or (task is not None and tasks and task not in [*tasks]):
        named = f"of the task {short_repr(task)}" if task else "that names no task and holds no row (doc)"
        raise ValueError(
            f"{where} is a sample {named}; expected a sample of {' or '.join(tasks) or 'a task of halluscope'}, or one "
            "whose doc is the row that was asked about."
        )
    return about
