"""Reads an LVLM's responses, row by row, from a table or from a harness's log (`halluscope.responses.logs`)."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.files.opening import check_once, plain_name
from halluscope.paths import is_there
from halluscope.reading import tables
from halluscope.responses import logs
from halluscope.sanitize import short_repr

# The columns where a response's text is looked for; the first that a row has counts
TEXTS = (
    *("response", "model_prediction", "prediction", "output", "model_output", "model_answer", "pred"),
    *("answer", "text", "caption", "generated_caption"),
)

# In a row with this column, `text` is the question, not the response
LABEL = "label"

# The column that names the model
MODEL = "model_id"

# The key under which a response names the prompt that was asked, if the prompt has a name
PROMPT = "halluscope_prompt"

# A list of one text, written as text by Python or as JSON
_LIST = re.compile(r"""\s*\[\s*(['"])(.*)\1\s*\]\s*""", re.DOTALL)

_IMAGE = re.compile(r"[^\n]{1,300}\.(?:jpe?g|png|webp|gif|bmp|tiff?)", re.IGNORECASE)

_HALF = re.compile("[\ud800-\udfff]")

# Columns that mark a row as a response, or as a sample, beside which no list of rows is looked for
_OWN = {*TEXTS, *logs.SAMPLE}

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


@dataclass(frozen=True)
class Responses:
    """The responses of one LVLM."""

    # the LVLM's name: the one that the user gives, a harness, or every row; or else the file's name without its ending,
    # preceded by as many folders as are needed to tell files apart; "responses" if there is no file
    name: str
    source: str  # the file, for messages
    each: Sequence[Response]  # the responses, at least one
    sampled: bool = False  # whether a harness wrote them
    # the numbers that a file states beside its rows, by their last key, such as scores
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How files of responses are read."""

    tasks: Collection[str] = ()  # the harness tasks whose samples are accepted; if empty, those of any task
    limit: int | None = None  # read only this many responses of each LVLM, from the first on
    # columns that mark a row as the dataset's own, which holds the right answer, not a response
    dataset: Collection[str] = ()
    # column -> its values; the file name of a part may contain one of them, such as "random" in A of
    # "NAME=A,B,C"
    parts: Mapping[str, Collection[str]] = field(default_factory=dict)
    # the columns with the text, of which each row has one; () for `TEXTS`. The first that a row has counts
    text_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the limit."""
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            raise ValueError(
                f"The limit is {short_repr(self.limit)}; expected a whole number of responses, at least 1."
            )


def read(given: Sequence[Given], how: Reading | None = None) -> list[Responses]:
    """Read the responses of several LVLMs, each with a name of its own."""
    how = how or Reading()
    named = [_files(one) for one in given]
    check_once(file for _, files, _ in named for file in files)
    each = [_read(files, rows, how) for _, files, rows in named]
    models = Counter(name or one.name for one, (name, _, _) in zip(each, named, strict=True))
    by = [
        (name or (one.name if models[one.name] == 1 else None), files)
        for one, (name, files, _) in zip(each, named, strict=True)
    ]
    return [replace(one, name=name) for one, name in zip(each, _names(by), strict=True)]


def text_of(
    row: Any, where: str, dataset: Collection[str] = (), columns: tuple[str, ...] = ()
) -> tuple[str, str]:
    """Return a response's text, from the first of `TEXTS` or of the named columns that the row has, and its column."""
    is_row = isinstance(row, dict | Mapping)
    name = _text_column(tuple(row), columns) if is_row else None
    if name is None:
        there = row if is_row else {}
        known = columns or [one for one in TEXTS if one != "text" or LABEL not in there]
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
    if not isinstance(text, str):
        raise ValueError(
            f"{where}: {name} is {short_repr(text)}; expected the LVLM's text (it may be empty)."
        )
    # each pair of surrogates is a character that JSON may spell so; a lone one is replaced by U+FFFD
    if not text.isascii() and _HALF.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text, name


@lru_cache(1000)
def _text_column(there: tuple[Any, ...], columns: tuple[str, ...]) -> str | None:
    known = columns or [name for name in TEXTS if name != "text" or LABEL not in there]
    return next((name for name in known if name in there), None)


def is_by_name(given: Any) -> bool:
    """Whether these are the responses of several LVLMs by their names (files, lists), not the texts of one by id."""
    return isinstance(given, Mapping) and bool(given) and all(map(_is_of_one, given.values()))


def _is_of_one(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_NAME.fullmatch(value))
    if isinstance(value, list | tuple):  # a list of one text is a text, as some files have it
        return len(value) != 1 or not isinstance(value[0], str)
    return isinstance(value, Path) or hasattr(value, "columns")


def _files(given: Given) -> tuple[str | None, list[Path], Sequence[Row] | None]:
    if isinstance(given, tuple):
        name, given = given
        return name, *_files(given)[1:]
    if isinstance(given, Mapping):
        return None, [], [row for _, row in tables.by_id(given, "responses")]
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a pandas DataFrame
        return None, [], given.to_dict("records")
    if not isinstance(given, str | Path):
        return None, [], _rows(given)
    name, equals, parts = str(given).partition("=")
    if equals and name and not is_there(str(given)):
        return name, [Path(part.strip()) for part in parts.split(",")], None
    return None, [Path(given)], None


def _rows(given: Any) -> list[Row]:
    try:
        if not isinstance(given, Set | bytes):
            return [{TEXTS[0]: row} if isinstance(row, str) else row for row in given]
    except TypeError:  # it is not iterable
        pass
    raise ValueError(
        f"responses is {short_repr(given)} ({type(given).__name__}); expected a file, a list of rows with an id and "
        "a text, or {id: text}."
    )


def _names(named: Sequence[tuple[str | None, list[Path]]]) -> list[str]:
    """Name each LVLM: by the user's name for it, or by its file, with as many folders as tell the names apart."""
    names = [name or (plain_name(files[0]) if files else "responses") for name, files in named]
    folders = [
        [] if name or not files else list(files[0].resolve().parent.parts[1:]) for name, files in named
    ]
    while alike := [i for i in _alike(names) if folders[i]]:
        beside = [folders[i].pop() for i in alike]
        for i, folder in zip(alike, beside, strict=True):
            names[i] = f"{folder}/{names[i]}"
    if doubled := _alike(names):
        raise ValueError(
            f"Two LVLMs are called {short_repr(names[doubled[0]])}; give each its own name: NAME=FILE."
        )
    return names


def _alike(names: Sequence[str]) -> list[int]:
    count = Counter(names)
    return [place for place, name in enumerate(names) if count[name] > 1]


@dataclass
class _Stated:
    """What files state beside their rows."""

    model: str = ""
    figures: dict[str, float] = field(default_factory=dict)


def _read(files: Sequence[Path], rows: Sequence[Row] | None, how: Reading) -> Responses:
    """Read responses, by the name of the model that a harness states, or none."""
    source, stated = ", ".join(map(str, files)) or "responses", _Stated()
    located = [*islice(_located(files, rows, how, stated), how.limit)]
    if not located:
        raise ValueError(f"{source} holds no responses; expected one JSON object per line, or a table.")
    if sampled := logs.is_sample(located[0][1]):
        located = [*logs.of_samples(located, how.tasks, TEXTS)]
        if len(files) == 1 and not stated.model:
            stated.model, stated.figures = logs.results_beside(files[0])
    if files and not stated.model:
        stated.model = _model_of([row for _, row in located])
    each = [
        Response(where, row, *text_of(row, where, how.dataset, how.text_columns)) for where, row in located
    ]
    longest = max(each, key=lambda one: len(one.text))
    limits.check("cell", len(longest.text), f"{longest.where}: {longest.column}")
    if all(_LIST.fullmatch(response.text) for response in each):
        each = [one._replace(text=_LIST.sub(r"\2", one.text)) for one in each]
    return Responses(stated.model, source, each, sampled, stated.figures)


def _model_of(rows: Sequence[Any]) -> str:
    """Return the model that every row names, as the answers of LLaVA's scripts do, or ""."""
    models = [row.get(MODEL) if isinstance(row, Mapping) else None for row in rows]
    name = models[0]
    return name if isinstance(name, str) and name.strip() and models == [name] * len(models) else ""


def located(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield a file's rows, whatever they are, with their locations."""
    return _located([file], None, Reading(), _Stated())


def _located(
    files: Sequence[Path], rows: Sequence[Row] | None, how: Reading, stated: _Stated
) -> Iterator[tuple[str, Any]]:
    yield from ((f"responses[{number}]", row) for number, row in enumerate(rows or ()))
    for file in files:
        part = {}  # the columns and values that the name of a part's file gives to its rows
        for column, values in how.parts.items() if len(files) > 1 else ():
            if len(named := [value for value in values if value in file.name]) == 1:
                part[column] = named[0]
        for where, row in _of_file(file, how.text_columns, stated):
            if isinstance(row, dict) and (part or _others(tuple(row))):
                # a second name for each column that has capitals or spaces: "doc_id" for "Doc ID"
                others = {plain: row[name] for plain, name in _others(tuple(row)).items()}
                yield where, {**part, **row, **others}
            else:
                yield where, row


@lru_cache(1000)
def _others(names: tuple[Any, ...]) -> dict[str, str]:
    plain = {"_".join(name.lower().split()): name for name in names if isinstance(name, str)}
    return {other: name for other, name in plain.items() if other not in names}


def _of_file(file: Path, columns: Sequence[str], stated: _Stated) -> Iterator[tuple[str, Any]]:
    if logs.is_log(file):
        stated.model, samples = logs.of_log(file)
        yield from samples
        return
    for where, row in tables.rows(file):
        if not isinstance(row, dict) or not _OWN.isdisjoint(row):
            yield where, row
        elif logs.is_json_log(row):
            stated.model, samples = logs.of_json_log(row, where)
            yield from samples
        else:
            yield from _unfolded(row, where, columns, stated.figures)


def _unfolded(
    row: Any, where: str, columns: Sequence[str], figures: dict[str, float]
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a row's only list of objects, with the row's own values, if it has no text; else the row.

    So files are read that hold their rows under a key, beside scores or settings, or image by image.
    """
    lists = [
        name
        for name, value in (row.items() if _OWN.isdisjoint(row) and not {*columns} & row.keys() else ())
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
    ]
    if len(lists) != 1:
        yield where, row
        return
    (name,) = lists
    own = {key: value for key, value in row.items() if isinstance(value, str | int | float)}
    if isinstance(image := own.get(tables.KEY), str) and is_image_file(image):
        own["image"] = image
    figures.update(_numbers(row))
    for number, one in enumerate(row[name], 1):
        yield from _unfolded({**own, **one}, f"{where}, {name} {number}", columns, {})


def _numbers(row: Row) -> Iterator[tuple[str, float]]:
    """Yield the numbers in an object of objects, each with its last key."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(name), float(value)


def is_image_file(name: str) -> bool:
    """Whether a text is an image file's name."""
    return len(name) < 400 and _is_image_file(name.strip())


@lru_cache(2**12)
def _is_image_file(name: str) -> bool:
    return _IMAGE.fullmatch(name) is not None
