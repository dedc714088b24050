"""What users give as responses: files, files in parts, rows, texts, or texts by their ids; and the names of LVLMs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.files.opening import check_once, ending, plain_name
from halluscope.paths import is_there, path_of
from halluscope.reading import tables
from halluscope.responses import answer_lists
from halluscope.responses.names import IDS, QUESTIONS, TEXTS
from halluscope.sanitize import one_line, short_repr
from halluscope.validation import is_like_a_list, kind, listed

Row = Mapping[str, Any]
# The responses of one LVLM as a user gives them: a file, "NAME=A,B,C" for a file in parts, rows, texts in the
# dataset's order, or {id: text}; or a pair of a name and one of these
Given = str | Path | Sequence[Row | str] | Mapping[Any, Any] | tuple[str, Any]


@dataclass(frozen=True)
class Source:
    """Where the responses of one LVLM are."""

    name: str = ""  # the LVLM's name, if the user gives it
    files: Sequence[Path] = ()
    place: Path | None = None  # the file or folder by which it is named if nothing else names it
    rows: Sequence[Row] = ()  # if there are no files

    @property
    def label(self) -> str:
        """What messages call it."""
        return ", ".join(map(str, self.files)) or "responses"


def sources(responses: Sequence[Given], sheet: str | None) -> list[Source]:
    """Return where the responses of several LVLMs are, after checking that no file is given twice."""
    checked = []
    files: list[Path] = []
    for entry in responses:
        source = source_of(entry)
        checked.append(source)
        files.extend(source.files)
    check_once(files)
    if sheet is not None and not any(ending(file) == ".xlsx" for file in files):
        names = ", ".join(str(file) for file in files) or "rows in Python"
        raise ValueError(
            f"sheet (--sheet) names a sheet of an xlsx file, but the responses are {names}; expected an xlsx file, or "
            "no sheet."
        )
    return checked


def source_of(responses: Given) -> Source:
    """Return where the responses of one LVLM are."""
    if isinstance(responses, tuple):
        name, unnamed = responses
        source = source_of(unnamed)
        return Source(name, source.files, rows=source.rows)
    if isinstance(responses, Mapping):
        return Source(rows=[row for _, row in tables.by_id(responses, "responses")])
    if hasattr(responses, "reset_index"):
        return Source(rows=_rows_of_pandas(responses))
    if isinstance(responses, str | Path):
        return _source_at(responses)
    return Source(rows=_rows_of_list(responses))


def _source_at(written: str | Path) -> Source:
    """Return the source that a file, a folder, or "NAME=A,B,C" is."""
    name, equals, parts = str(written).partition("=")
    if not equals or not name or is_there(str(written)):
        place = path_of(written)
        return Source(files=answer_lists.files_at(place), place=place)
    names = parts.split(",")
    if is_there(parts):  # one file, whose name may hold a comma
        names = [parts]
    files: list[Path] = []
    for part in names:
        files += answer_lists.files_at(path_of(part.strip()))
    return Source(name, files)


def _rows_of_list(responses: Any) -> list[Row]:
    """Return the rows of a list of rows or texts."""
    rows = []
    for number, entry in enumerate(
        listed("responses", responses, "a file, a list of rows with an id and a text, a table, or {id: text}")
    ):
        if isinstance(entry, str):
            entry = {TEXTS[0]: entry}
        kind(
            f"responses[{number}]", entry, Mapping, "a text (it may be empty), or a row with an id and a text"
        )
        rows.append(entry)
    return rows


def _rows_of_pandas(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame, or of a Series of texts; an index with a name is a column too."""
    if hasattr(table, "to_frame"):
        table = table.to_frame(TEXTS[0])
    columns = list(table.columns)
    _check_once(columns)
    index = [name for name in table.index.names if name is not None and name not in columns]
    if index:
        table = table.reset_index(index)
    rows: list[dict[str, Any]] = table.to_dict("records")
    return rows


def _check_once(columns: Sequence[Any]) -> None:
    """Check that no two columns of a DataFrame have the same name: only the last one would count."""
    for name, count in Counter(columns).items():
        if count > 1:
            raise ValueError(
                f"responses is a table with two columns {short_repr(name)}; expected each name once. Rename one of "
                "them."
            )


def is_by_name(responses: Any) -> bool:
    """Whether these are the responses of several LVLMs by their names, not the texts or rows of one by id."""
    if not isinstance(responses, Mapping) or not responses:
        return False
    return all(_is_of_one(value) for value in responses.values())


def check_no_columns(responses: Any) -> None:
    """Refuse a table that is written as its columns: each would be an LVLM."""
    if not isinstance(responses, Mapping):
        return
    has_columns = not responses.keys().isdisjoint(TEXTS) and not responses.keys().isdisjoint(IDS + QUESTIONS)
    if has_columns and all(isinstance(value, list | tuple) for value in responses.values()):
        columns = one_line(", ".join(map(str, responses)), 120)
        raise ValueError(
            f"responses is a table with the columns {columns}; expected its rows. "
            "Pass pandas.DataFrame(responses), or a list of rows."
        )


def _is_of_one(value: Any) -> bool:
    """Whether a value may be all responses of an LVLM."""
    if isinstance(value, str):  # the name of a file, or a text
        return ending(Path(value)) != "" and len(value.split()) == 1
    if isinstance(value, list | tuple):  # a list of one text is a text, as some files have it
        return len(value) != 1 or not isinstance(value[0], str)
    if isinstance(value, Mapping):  # of texts by ids, and no row with named columns
        return tables.is_by_id(value)
    return isinstance(value, Path) or hasattr(value, "columns") or is_like_a_list(value)


def names_of(listed_sources: Sequence[Source], models: Sequence[str]) -> list[str]:
    """Name LVLMs: as the user does, or as all rows of one file do, or by their files.

    Args:
        listed_sources: where their responses are.
        models: the names that the user gives, or that harnesses or rows state; "" for none.
    """
    names = []
    folders: list[list[str]] = []
    for source, model in zip(listed_sources, models, strict=True):
        name = source.name
        if not name and models.count(model) == 1:  # a name that several files' rows state is no LVLM's
            name = model
        parents: list[str] = []
        if not name:
            name = "responses"
            if source.place:
                name = plain_name(source.place)
                parents = list(source.place.resolve().parent.parts[1:])
        names.append(name)
        folders.append(parents)
    _tell_apart(names, folders)
    return names


def _tell_apart(names: list[str], folders: Sequence[list[str]]) -> None:
    """Put as many folders before the names of files as tell them apart."""
    while True:
        alike = [place for place, name in enumerate(names) if names.count(name) > 1]
        if not alike:
            return
        if not any(folders[place] for place in alike):
            raise ValueError(
                f"Two LVLMs are called {short_repr(names[alike[0]])}; give each its own name: NAME=FILE."
            )
        for place in alike:
            if folders[place]:
                names[place] = f"{folders[place].pop()}/{names[place]}"
