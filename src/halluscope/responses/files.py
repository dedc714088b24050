"""Reads an LVLM's responses, row by row, from a table or from a harness's log.

lm-eval logs a whole document; lmms-eval logs only the items of each score, which name the task and the row. A log of
Inspect, as `.eval` or as JSON, is read into the form of lm-eval's samples, without Inspect.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.files.opening import check_once, decoded, ending, members, parse, plain_name, read_json
from halluscope.paths import is_there
from halluscope.reading import tables
from halluscope.reading.tables import Located
from halluscope.sanitize import one_line, short_repr

# The columns where a response's text is looked for; the first that a row has counts
TEXTS = (
    *("response", "model_prediction", "prediction", "output", "model_output", "model_answer", "pred"),
    *("generated_caption", "answer", "text", "caption"),
)

# The column that holds the response in some files, and in others what people wrote
CAPTION = "caption"

# The columns that name an image
IMAGES = (
    *("image_id", "file_name", "image", "image_path", "img_id", "file", "img", "image_name", "filename"),
    "images",
)

# The columns where an id is looked for, after the column with the dataset's own name for the id. They are used only for
# a dataset whose rows are identified by one column; those that name an image, only where an image identifies them
IDS = (*dict.fromkeys(("image_id", "question_id", "id", "qid", "index", "image", *IMAGES, "custom_id")),)

# The columns where a response may state the question, and the whole prompt with words around the question
QUESTIONS = ("question", "prompt", "query", "instruction", "text")

# In a row with this column and no other question, `text` is the question, not the response
LABEL = "label"

# The column that names the model
MODEL = "model_id"

# How a column is named that somebody's texts are in, but no right answers
SAYS = re.compile(
    r"(?!gt|gold|ground|tru|correct|ref|label|target|.*(?:judge|eval)|.*(?:_id|_details|_file|_path|_type|_category|_source)$)"
    r".*(?:answer|ans$|response|caption|pred|output|generat|complet|reply|descri)"
)
# A column with another name holds the texts too, unless it is one of these
_KNOWN = re.compile(
    r"(?:gt|gold|ground|tru|correct|ref|label|target|judge|eval|note|reason|model).*"
    r"|.*(?:type|category|url|file|path)|(?:.*_)?id|sampling|split|source|task"
)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LETTER = re.compile(r"[^\W\d_]")

# The roles of a chat's turns whose texts are prompts, and responses
_ASKS, _RESPONDS = ("human", "user"), ("gpt", "assistant", "model")

# The key under which a response names the prompt that was asked, if the prompt has a name
PROMPT = "halluscope_prompt"

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

# Labels that files have in place of the texts "yes" and "no"
_LABELS = ({"1": "yes", "0": "no"}, {"true": "yes", "false": "no"}, {"y": "yes", "n": "no"})

# A list of one text, written as text by Python or as JSON
_LIST = re.compile(r"""\s*\[\s*(['"])(.*)\1\s*\]\s*""", re.DOTALL)

_IMAGE = re.compile(r"[^\n]{1,300}\.(?:jpe?g|png|webp|gif|bmp|tiff?)", re.IGNORECASE)

_HALF = re.compile("[\ud800-\udfff]")

# Columns that mark a row as a response, or as a sample, beside which no list of rows is looked for
_OWN = {*TEXTS, *SAMPLE}

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


class Responses(NamedTuple):
    """The responses of one LVLM."""

    # the LVLM's name: the one that the user gives, a harness, or every row; or else the file's name without its ending,
    # preceded by as many folders as are needed to tell files apart; "responses" if there is no file
    name: str
    source: str  # the file, for messages
    each: Sequence[Response]  # the responses, at least one
    sampled: bool = False  # whether a harness wrote them
    # the numbers that a file states beside its rows, by their last key, such as scores
    figures: Mapping[str, float] = {}
    labels: Sequence[str] = ()  # the labels, such as 1 and 0, that are read as "yes" and "no"


class Reading(NamedTuple):
    """How files of responses are read."""

    tasks: Collection[str] = ()  # the harness tasks whose samples are accepted; if empty, those of any task
    limit: int | None = None  # read only this many responses of each LVLM, from the first on
    # columns that mark a row as the dataset's own, which holds the right answer, not a response
    dataset: Collection[str] = ()
    # column -> its values; the file name of a part may contain one of them, such as "random" in A of
    # "NAME=A,B,C"
    parts: Mapping[str, Collection[str]] = {}
    # the columns with the text, of which each row has one; () for `TEXTS`. The first that a row has counts
    text_columns: tuple[str, ...] = ()


@dataclass
class _Stated:
    """What files state beside their rows."""

    model: str = ""
    figures: dict[str, float] = field(default_factory=dict)


def read(given: Sequence[Given], how: Reading | None = None) -> list[Responses]:
    """Read the responses of several LVLMs, each with a name of its own."""
    how = how or Reading()
    if how.limit is not None and (type(how.limit) is not int or how.limit < 1):
        raise ValueError(
            f"The limit is {short_repr(how.limit)}; expected a whole number of responses, at least 1."
        )
    named = [_files(one) for one in given]
    check_once(file for _, files, _ in named for file in files)
    each = [_read(name, files, rows, how) for name, files, rows in named]
    count = Counter(one.name for one in each)
    # a name that several files' rows state is the user's, or none
    names = [
        name or (one.name if count[one.name] == 1 else "")
        for one, (name, *_) in zip(each, named, strict=True)
    ]
    whole = _names(names, [files for _, files, _ in named])
    return [one._replace(name=name) for one, name in zip(each, whole, strict=True)]


def text_of(
    row: Any, where: str, dataset: Collection[str] = (), columns: tuple[str, ...] = ()
) -> tuple[str, str]:
    """Return a response's text, from the first of `TEXTS` or of the named columns that the row has, and its column."""
    there = row if isinstance(row, dict | Mapping) else {}
    known, name = _text_columns(tuple(there), columns)
    if not name:
        texts = ", ".join(str(name) for name, value in there.items() if isinstance(value, str))
        raise ValueError(
            f"{where}: expected an object with the LVLM's text under "
            f"{'the key' if len(known) == 1 else 'one of the keys'} {', '.join(known)}; got {short_repr(row, 120)}. If "
            "another column holds the text, name it: --text-column (text_column); or several, of which each response "
            f"has one.{texts and f' Texts here: {texts}.'}"
        )
    if name in dataset and {*dataset} <= row.keys():
        raise ValueError(
            f"{where} is a row of the dataset, whose {name!r} is the right answer; expected the LVLM's response."
        )
    text = row[name]
    if isinstance(text, list | tuple) and len(text) == 1:
        (text,) = text
    # an object with the text, a chat completion, or a line of a batch's output with one
    if isinstance(text, Mapping):
        choices = _at(text, "choices") or _at(text, "body", "choices")
        message = _at(choices[0], "message") if choices and isinstance(choices, list) else text
        text = next((message[key] for key in (*TEXTS, "content") if key in (message or ())), text)
    if not isinstance(text, str):
        raise ValueError(
            f"{where}: {name} is {short_repr(text)}; expected the LVLM's text (it may be empty)."
        )
    # each pair of surrogates is a character that JSON may spell so; a lone one is replaced by U+FFFD
    if not text.isascii() and _HALF.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text, name


@lru_cache(1000)
def _text_columns(there: tuple[Any, ...], columns: tuple[str, ...]) -> tuple[Sequence[str], str]:
    text_asks = LABEL in there and {*QUESTIONS} & {*there} == {"text"}
    known = columns or [name for name in TEXTS if name != "text" or not text_asks]
    return known, next((name for name in known if name in there), "")


def text_columns(rows: Sequence[Any], gold: str = "") -> tuple[str, ...]:
    """Return the column with the texts of rows that have none of `TEXTS`, if only one can be meant.

    If `gold` holds the right answers, it is the first other of `TEXTS`, or else the only one that is named so.
    """
    first = next(iter(rows), None)
    if not isinstance(first, Mapping):
        return ()
    there = tuple(name for name in first if name != gold)
    if name := _text_columns(there, ())[1]:
        return (name,) if gold else ()
    if len(first) > 1 and {*IDS, *QUESTIONS}.isdisjoint(first):
        return ()
    names = [
        name
        for name, value in first.items()
        if isinstance(value, str)
        and not is_image_file(value)
        and value != first.get("question")
        and name not in {*IDS, *QUESTIONS, PROMPT, gold}
    ]
    said = [*filter(SAYS.match, names)]
    names = said or [name for name in names if not gold and not _KNOWN.fullmatch(name)]
    if len(names) != 1 or not all(isinstance(row, Mapping) for row in rows):
        return ()
    texts = [row.get(*names) for row in rows]
    are_texts = all(isinstance(text, str) for text in texts) and any(map(_LETTER.search, texts))
    return (*names,) if are_texts else ()


def _check_caption(rows: Sequence[Any], where: str) -> None:
    """Check that no other column holds texts beside `CAPTION`, which may then be what people wrote."""
    first = rows[0] if isinstance(rows[0], Mapping) else {}
    others = text_columns(rows, CAPTION) if _text_columns(tuple(first), ())[1] == CAPTION else ()
    if others and len({row[others[0]] for row in rows}) > 1:
        raise ValueError(
            f"{where}: {CAPTION} and {one_line(others[0], 80)} both hold texts; expected one column with the LVLM's. "
            "Name it: --text-column (text_column)."
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


def _states_no_row(found: Sequence[Located], index: int, columns: tuple[str, ...]) -> bool:
    """Whether the first (0) or last (-1) row has no column that its neighbour has, no id, question, image or text."""
    if len(found) < 2:
        return False
    row, other = found[index][1], found[1 if index == 0 else -2][1]
    both = isinstance(row, Mapping) and isinstance(other, Mapping)
    return both and row.keys().isdisjoint({*other, *IDS, *QUESTIONS, *_OWN, *columns})


def _with_known_columns(found: list[Located], columns: tuple[str, ...]) -> list[Located]:
    """Add the image and the question of rows that state them in another column, or in an object or a chat."""
    first = found[0][1]
    if not isinstance(first, Mapping) or _is_sample(first):
        return found
    text = _text_columns(tuple(first), columns)[1]
    rows = [row for _, row in found if isinstance(row, Mapping)]
    more = list[tuple[str, str]]()
    if {*IDS}.isdisjoint(first):
        images = [name for name, value in first.items() if isinstance(value, str) and is_image_file(value)]
        more += [("image", images[0])] if len(images) == 1 else []
    asks_nothing = {*QUESTIONS} & first.keys() <= {text}
    if asks_nothing:
        asks = [
            name
            for name in first
            if name not in {text, *columns, *TEXTS}
            and not SAYS.match(name)
            and all(isinstance(row.get(name), str) and "?" in row[name] for row in rows)
        ]
        more += [("question", asks[0])] if len(asks) == 1 else []
    if not more and not (asks_nothing and any(isinstance(value, dict | list) for value in first.values())):
        return found
    return [
        (where, {**_held(row, text), **{own: row.get(name) for own, name in more}, **row})
        if isinstance(row, Mapping)
        else (where, row)
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


def _files(given: Given) -> tuple[str, list[Path], Sequence[Row]]:
    """Return the user's name for responses, and their files or rows."""
    if isinstance(given, tuple):
        return given[0], *_files(given[1])[1:]
    if isinstance(given, Mapping):
        return "", [], [row for _, row in tables.by_id(given, "responses")]
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a pandas DataFrame
        return "", [], given.to_dict("records")
    if isinstance(given, str | Path):
        name, equals, parts = str(given).partition("=")
        if equals and name and not is_there(str(given)):
            return name, [Path(part.strip()) for part in parts.split(",")], []
        return "", [Path(given)], []
    with suppress(TypeError):  # of what cannot be iterated over
        if not isinstance(given, Set | bytes):
            return "", [], [{TEXTS[0]: row} if isinstance(row, str) else row for row in given]
    raise ValueError(
        f"responses is {short_repr(given)} ({type(given).__name__}); expected a file, a list of rows with an id and "
        "a text, or {id: text}."
    )


def _names(names: list[str], files: Sequence[Sequence[Path]]) -> list[str]:
    """Name the LVLMs that have no name by their files, with as many folders as tell the names apart."""
    folders = [
        [] if name or not own else [*own[0].resolve().parent.parts[1:]]
        for name, own in zip(names, files, strict=True)
    ]
    names = [
        name or (plain_name(own[0]) if own else "responses") for name, own in zip(names, files, strict=True)
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


def _read(name: str, files: Sequence[Path], rows: Sequence[Row], how: Reading) -> Responses:
    """Read responses, by the user's name, that of the model that a harness or each row states, or none."""
    source, stated = ", ".join(map(str, files)) or "responses", _Stated()
    found = [*islice(_located(files, rows, how, stated), how.limit)]
    for index in (0, -1):  # settings before the rows, or a summary after them
        if _states_no_row(found, index, how.text_columns):
            stated.figures.update(_numbers(found.pop(index)[1]))
    if not found:
        raise ValueError(f"{source} holds no responses; expected one JSON object per line, or a table.")
    if sampled := _is_sample(found[0][1]):
        found = [*_of_samples(found, how.tasks)]
        if len(files) == 1 and not stated.model:
            stated = _results_beside(files[0])
    found = _with_known_columns(found, how.text_columns)
    if not how.text_columns:
        first = found[0][1]
        is_of_dataset = isinstance(first, Mapping) and {*how.dataset} <= first.keys()
        gold = {_text_columns(tuple(first), ())[1]} & {*how.dataset} if is_of_dataset else ()
        rows = [row for _, row in found]
        how = how._replace(text_columns=text_columns(rows, *gold))
        _check_caption(rows, found[0][0])
    models = [row.get(MODEL) if isinstance(row, Mapping) else None for _, row in found]
    if files and not stated.model and isinstance(models[0], str) and models == models[:1] * len(models):
        stated.model = models[0].strip() and models[0]
    found, labels = _as_yes_no(found, how.text_columns)
    each = [Response(where, row, *text_of(row, where, how.dataset, how.text_columns)) for where, row in found]
    longest = max(each, key=lambda one: len(one.text))
    limits.check("cell", len(longest.text), f"{longest.where}: {longest.column}")
    if all(_LIST.fullmatch(response.text) for response in each):
        each = [one._replace(text=_LIST.sub(r"\2", one.text)) for one in each]
    return Responses(name or stated.model, source, each, sampled, stated.figures, labels)


def _as_yes_no(found: list[Located], columns: tuple[str, ...]) -> tuple[list[Located], Sequence[str]]:
    """Put "yes" and "no" in place of labels, if each row has one of a pair such as 1 and 0; also return the pair."""
    _, first = found[0]
    name = _text_columns(tuple(first), columns)[1] if isinstance(first, Mapping) else ""
    labels = next((pair for pair in _LABELS if name and _label(first[name]) in pair), None)
    if labels is None:
        return found, ()
    of_rows = [_label(row.get(name)) if isinstance(row, Mapping) else "" for _, row in found]
    if not labels.keys() >= {*of_rows}:
        return found, ()
    rows = zip(found, of_rows, strict=True)
    return [(where, {**row, name: labels[label]}) for (where, row), label in rows], [*labels]


def _label(value: Any) -> str:
    """Return the label that a cell holds, in lower case; "" if it holds something longer."""
    if isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= len("false.")):
        return str(value).strip().lower().removesuffix(".0").removesuffix(".")
    return ""


def located(file: Path) -> Iterator[Located]:
    """Yield a file's rows, whatever they are, with their locations."""
    return _located([file], [], Reading(), _Stated())


def _located(files: Sequence[Path], rows: Sequence[Row], how: Reading, stated: _Stated) -> Iterator[Located]:
    yield from ((f"responses[{number}]", row) for number, row in enumerate(rows))
    for file in files:
        part = {}  # the columns and values that the name of a part's file gives to its rows
        for column, values in how.parts.items() if len(files) > 1 else ():
            if len(named := [value for value in values if value in file.name]) == 1:
                part[column] = named[0]
        for where, row in _of_file(file, how, stated):
            if isinstance(row, dict) and (part or _others(tuple(row))):
                # a second name for each column that has capitals or spaces: "doc_id" for "Doc ID" and "docId"
                others = {plain: row[name] for plain, name in _others(tuple(row)).items()}
                yield where, {**part, **row, **others}
            else:
                yield where, row


@lru_cache(1000)
def _others(names: tuple[Any, ...]) -> dict[str, str]:
    plain = {
        "_".join(_CAPITAL.sub(" ", name).lower().split()): name for name in names if isinstance(name, str)
    }
    return {other: name for other, name in plain.items() if other not in names}


def _of_file(file: Path, how: Reading, stated: _Stated) -> Iterator[Located]:
    if ending(file) == ".eval":  # Inspect's default format, a zip with a member per sample
        for _, header in _members(file, "header"):
            stated.model = _text(_at(header, "eval", "model"))
        yield from _inspected(_members(file, "samples/"), str(file))
        return
    for where, row in tables.rows(file):
        if isinstance(row, str):
            yield where, {TEXTS[0]: row}
        elif isinstance(row, dict) and (columns := _columns(row)):
            # the name of a column may be that of a cell in the plural
            names = [
                one if (one := name.removesuffix("s")) in (*IDS, *QUESTIONS, *TEXTS, LABEL) else name
                for name in columns
            ]
            for number, cells in enumerate(zip(*columns.values(), strict=True), 1):
                yield f"{where}, row {number}", dict(zip(names, cells, strict=True))
        elif not isinstance(row, dict) or not _OWN.isdisjoint(row):
            yield where, row
        elif row.keys() >= LOG:
            stated.model = _text(_at(row, "eval", "model"))
            samples = row["samples"] if isinstance(row.get("samples"), list) else []
            numbered = ((f"{where}, sample {number}", one) for number, one in enumerate(samples, 1))
            yield from _inspected(numbered, where)
        else:
            yield from _unfolded(row, where, how, stated.figures)


def _columns(row: dict[str, Any]) -> Mapping[str, Sequence[Any]]:
    """Return the columns of a table that is written column by column, as pandas does; {} if the object is a row."""
    if not isinstance(next(iter(row.values()), None), list | dict):
        return {}
    columns = {
        name: [*value.values()]
        if isinstance(value, dict) and [*value] == [*map(str, range(len(value)))]
        else value
        for name, value in row.items()
    }
    are_lists = all(isinstance(value, list) for value in columns.values())
    is_table = are_lists and len(columns) > 1 and len({*map(len, columns.values())}) == 1
    holds_rows = is_table and any(isinstance(cell, Mapping) for cell in chain.from_iterable(columns.values()))
    return columns if is_table and not holds_rows else {}


def _unfolded(row: Any, where: str, how: Reading, figures: dict[str, float]) -> Iterator[Located]:
    """Yield the rows of a row's lists of objects, with the row's own values, if it has no text; else the row.

    So files are read that hold their rows under a key, beside scores or settings, image by image, or as chats. Several
    lists are read if the key of each names a part, such as "random", or an image, or if all are alike, as lists by
    category are, and do not answer the same questions.
    """
    lists = _lists(row, how) if {*_OWN, *how.text_columns}.isdisjoint(row) else {}
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
    figures.update(_numbers(row))
    for name, (part, rows) in lists.items():
        if chat := _turns(rows):
            yield where, {**own, **chat}
            continue
        for number, one in enumerate(rows, 1):
            yield from _unfolded({**own, **part, **one}, f"{where}, {name} {number}", how, {})


def _lists(row: Row, how: Reading) -> dict[str, tuple[dict[str, str], list[Row]]]:
    """Return an object's lists of objects by their keys, or else those in its objects, each with what its key names:
    a part, or an image.
    """
    parts = {
        name: {"image" if is_image_file(name) else tables.KEY: name}
        if _is_id(name)
        else {
            column: value for column, values in how.parts.items() for value in values if value in name.lower()
        }
        for name in map(str, row)
    }
    found = {
        str(name): (parts[str(name)], value)
        for name, value in row.items()
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
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


def _numbers(row: Row) -> Iterator[tuple[str, float]]:
    """Yield the numbers in an object of objects, each with its last key."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(name), float(value)


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


def _is_sample(row: Any) -> bool:
    return isinstance(row, Mapping) and row.keys() >= SAMPLE


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


def _of_sample(sample: Any, where: str, tasks: Collection[str]) -> Row:
    """Return what a sample says about its row."""
    if not _is_sample(sample):
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
        about = {"prompt": prompt}
    if not about or (task is not None and tasks and task not in [*tasks]):
        named = f"of the task {short_repr(task)}" if task else "that names no task and holds no row (doc)"
        raise ValueError(
            f"{where} is a sample {named}; expected a sample of {' or '.join(tasks) or 'a task of halluscope'}, or one "
            "whose doc is the row that was asked about."
        )
    return about


def is_image_file(name: str) -> bool:
    """Whether a text is an image file's name."""
    return len(name) < 400 and _is_image_file(name.strip())


@lru_cache(2**12)
def _is_image_file(name: str) -> bool:
    return _IMAGE.fullmatch(name) is not None
