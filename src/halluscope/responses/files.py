"""Reads an LVLM's responses, row by row, from a table or from a harness's log.

lm-eval logs a whole document; lmms-eval logs only the items of each score, which name the task and the row. A log of
Inspect, as `.eval` or as JSON, is read into the form of lm-eval's samples, without Inspect.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.files.opening import check_once, decoded, ending, members, parse, plain_name, read_json
from halluscope.options import MatchingOptions
from halluscope.paths import is_there
from halluscope.reading import tables
from halluscope.reading.tables import Located
from halluscope.sanitize import one_line, short_repr
from halluscope.validation import is_number, listed

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

# The column of the right answer beside which `text` is the question, if no other column is (`text_asks`)
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


def read(given: Sequence[Given], how: Reading = USUAL) -> list[Responses]:
    """Read the responses of several LVLMs, each with a name of its own."""
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
    row: Row, where: str, dataset: Collection[str] = (), columns: tuple[str, ...] = ()
) -> tuple[str, str]:
    """Return a response's text, from the first of `TEXTS` or of the named columns that the row has, and its column."""
    known, name = texts_among(tuple(row), columns)
    if not name:
        texts = ", ".join(str(name) for name, value in row.items() if isinstance(value, str))
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
def texts_among(there: tuple[Any, ...], columns: tuple[str, ...] = ()) -> tuple[Sequence[str], str]:
    """Return the columns that may hold a row's text, by default those of `TEXTS`, and the first that is there."""
    text_asks = LABEL in there and {*QUESTIONS} & {*there} == {"text"}
    known = columns or [name for name in TEXTS if name != "text" or not text_asks]
    return known, next((name for name in known if name in there), "")


def text_columns(rows: Sequence[Row], gold: str = "") -> tuple[str, ...]:
    """Return the column with the texts of rows that have none of `TEXTS`, if only one can be meant.

    If `gold` holds the right answers, it is the first other of `TEXTS`, or else the only one that is named so.
    """
    first: Row = next(iter(rows), {})
    there = tuple(name for name in first if name != gold)
    if name := texts_among(there)[1]:
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
    if len(names) != 1:
        return ()
    texts: list[Any] = [row.get(*names) for row in rows]
    are_texts = all(isinstance(text, str) for text in texts) and any(map(_LETTER.search, texts))
    return (*names,) if are_texts else ()


def _check_caption(rows: Sequence[Row], where: str) -> None:
    """Check that no other column holds texts beside `CAPTION`, which may then be what people wrote."""
    others = text_columns(rows, CAPTION) if texts_among(tuple(rows[0]))[1] == CAPTION else ()
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


def _with_known_columns(found: list[Located], columns: tuple[str, ...]) -> list[Located]:
    """Add the image and the question of rows that state them in another column, or in an object or a chat."""
    first, rows = found[0][1], [row for _, row in found]
    text = texts_among(tuple(first), columns)[1]
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
    rows = listed("responses", given, "a file, a list of rows with an id and a text, a table, or {id: text}")
    return "", [], [{TEXTS[0]: row} if isinstance(row, str) else row for row in rows]


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
    found = tables.objects(islice(_located(files, rows, how, stated), how.options.limit))
    if not found:
        raise ValueError(f"{source} holds no responses; expected one JSON object per line, or a table.")
    for end, beside in ((0, 1), (-1, -2)) if len(found) > 2 else ():
        if {*found[end][1]}.isdisjoint([*found[beside][1], *_OWN, *IDS, *QUESTIONS]):  # settings, or scores
            stated.figures.update(_figures(found.pop(end)[1]))
    if sampled := found[0][1].keys() >= SAMPLE:
        found = [*_of_samples(found, how.tasks)]
        if len(files) == 1 and not stated.model:
            stated = _results_beside(files[0])
    columns, first = how.options.text_columns, found[0][1]
    if not sampled:
        found = _with_known_columns(found, columns)
    if not columns:
        is_of_dataset = {*how.dataset} <= first.keys()
        gold = {texts_among(tuple(first))[1]} & {*how.dataset} if is_of_dataset else ()
        every = [row for _, row in found]
        columns = text_columns(every, *gold)
        _check_caption(every, found[0][0])
    models = [row.get(MODEL) for _, row in found]
    if files and not stated.model and isinstance(models[0], str) and models == models[:1] * len(models):
        stated.model = models[0].strip() and models[0]
    found, labels = _as_yes_no(found, columns)
    each = [Response(where, row, *text_of(row, where, how.dataset, columns)) for where, row in found]
    longest = max(each, key=lambda one: len(one.text))
    limits.check("cell", len(longest.text), f"{longest.where}: {longest.column}")
    if all(_LIST.fullmatch(response.text) for response in each):
        each = [one._replace(text=_LIST.sub(r"\2", one.text)) for one in each]
    return Responses(name or stated.model, source, each, sampled, stated.figures, labels)


def _as_yes_no(found: list[Located], columns: tuple[str, ...]) -> tuple[list[Located], Sequence[str]]:
    """Put "yes" and "no" in place of labels, if each row has one of a pair such as 1 and 0; also return the pair."""
    _, first = found[0]
    name = texts_among(tuple(first), columns)[1]
    labels = next((pair for pair in _LABELS if name and _label(first[name]) in pair), None)
    if labels is None:
        return found, ()
    of_rows = [_label(row.get(name)) for _, row in found]
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
    return _located([file], [], USUAL, _Stated())


def _located(files: Sequence[Path], rows: Sequence[Row], how: Reading, stated: _Stated) -> Iterator[Located]:
    yield from tables.numbered("responses", rows)
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
    there = set(names)
    return {other: name for other, name in plain.items() if other not in there}


def _of_file(file: Path, how: Reading, stated: _Stated) -> Iterator[Located]:
    if ending(file) == ".eval":  # Inspect's default format, a zip with a member per sample
        for _, header in _members(file, "header"):
            stated.model = _text(_at(header, "eval", "model"))
        yield from _inspected(_members(file, "samples/"), str(file))
        return
    for where, row in tables.rows(file):
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
