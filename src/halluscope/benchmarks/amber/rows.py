"""Reads AMBER's rows: images to describe, with words for what is there and what is not, and yes/no questions."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from halluscope.benchmarks.amber import words
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.inputs import is_id, listed, texts
from halluscope.reading.datasets import Source, read_columns, read_each, read_once
from halluscope.reading.fields import Fields
from halluscope.sanitize import short_repr

GENERATIVE, DISCRIMINATIVE = "generative", "discriminative"
TASKS = (GENERATIVE, DISCRIMINATIVE)

GENERATION = "generation"
ASPECTS = {
    "existence": "existence",
    "state": "attribute",
    "number": "attribute",
    "action": "attribute",
    "relation": "relation",
}
"""The `dimension` of a question -> which of AMBER's three dimensions it belongs to."""

DIMENSIONS = (GENERATION, *ASPECTS)

ANSWERS = ("yes", "no")

_TYPES = {
    GENERATIVE: GENERATION,
    "discriminative-hallucination": "existence",
    "discriminative-attribute-state": "state",
    "discriminative-attribute-number": "number",
    "discriminative-attribute-action": "action",
    "discriminative-relation": "relation",
    "relation": "relation",
}
"""A type in annotations.json -> the `dimension`."""


@dataclass(frozen=True)
class AmberRow:
    """One row.

    Attributes:
        id: 1 to 15,220; rows 1 to 1,004 ask for a description.
        file_name: the image's file name.
        prompt: what the LVLM is asked.
        task: "generative" or "discriminative".
        dimension: "generation", or what a question is about: "existence", "state", "number", "action" or "relation".
        answer: the right answer, "yes" or "no"; None for a description.
        truth: words for what is in the image, possibly repeated; () for a question.
        hallu: words for what is absent but easily imagined there; () for a question.
        form: the row's parallel form; "" for the original.
    """

    id: int
    file_name: str
    prompt: str
    task: str
    dimension: str
    answer: str | None = None
    truth: tuple[str, ...] = ()
    hallu: tuple[str, ...] = ()
    form: str = ""

    @property
    def question(self) -> str:
        """The question; if a response names its question, it must be this one. "" for a description."""
        return self.prompt if self.task == DISCRIMINATIVE else ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns of the dataset, without the image."""
        return {name: value for name, value in asdict(self).items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(AmberRow))
NEEDED = COLUMNS[:8]

SIMILAR = "similar"
"""The config that holds pairs of synonyms, where they were built."""
PAIR = ("word", "other")
"""The columns of the config `similar`."""


def load(sources: Sequence[str]) -> list[AmberRow]:
    """Read the dataset: a built folder or Hub id; or the authors' annotations.json and a file of queries.

    Raises:
        ValueError: for a file or dataset of another form, or a repeated id.
        FileNotFoundError: if a file does not exist.
    """
    named = [Source.of(source) for source in sources]
    if all(source.is_json for source in named) and len(named) == 2:
        return read_upstream(*(source.path for source in named))
    rows = read_each(sources, COLUMNS, NEEDED, "the dataset amber")
    return read_all(rows, ", ".join(sources))


def set_of(row: AmberRow) -> Hashable:
    """Return a question's set, which is answered completely or not at all; None for a description, which has no set."""
    return ASPECTS.get(row.dimension)


def subject(row: Mapping[str, Any]) -> str:
    """Return the subject of a question about a state or an action: "the sky" for "Is the sky sunny in this image?".

    It is "" for other rows, and for a noun that is not among AMBER's words.
    """
    about = row["prompt"].split()[1:3]
    asked = row["dimension"] in ("state", "action") and about[-1:] and about[-1] in words.load().known
    return " ".join(about) if asked else ""


def inputs(rows: Sequence[AmberRow]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {"references": rows}


def read_all(rows: Iterable[Any], where: str = "references") -> list[AmberRow]:
    """Read rows of the dataset.

    Raises:
        ValueError: for anything but a row, or a repeated id.
    """
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> AmberRow:
    """Read a row; an `AmberRow` is returned unchanged.

    Raises:
        ValueError: for a missing column, or a value of another kind.
    """
    if isinstance(row, AmberRow):
        return row
    if not isinstance(row, Mapping) or (missing := [name for name in NEEDED if name not in row]):
        lacks = f" It has no {', '.join(missing)}." if isinstance(row, Mapping) else ""
        raise ValueError(f"{where} is {short_repr(row)}; expected a row of the dataset amber.{lacks}")
    found = Fields(row, where)
    described = found.one_of("task", TASKS) == GENERATIVE
    dimension = found.one_of("dimension", DIMENSIONS)
    if (dimension == GENERATION) != described:
        raise ValueError(
            f"{where}: task is {row['task']!r} and dimension {dimension!r}; expected dimension "
            f"{GENERATION!r} for task {GENERATIVE!r} and for no other."
        )
    return AmberRow(
        id=found.whole("id"),
        file_name=found.text("file_name"),
        prompt=found.text("prompt"),
        task=row["task"],
        dimension=dimension,
        answer=None if described else found.one_of("answer", ANSWERS),
        truth=_annotated(found, "truth") if described else (),
        hallu=_annotated(found, "hallu") if described else (),
        form=found.form,
    )


def read_upstream(*files: Readable) -> list[AmberRow]:
    """Read the authors' annotations.json and a file of queries, in either order.

    The queries choose the rows: query_all.json has them all, each other file has those of one task or dimension.

    Raises:
        BuildError: for files of another form, a query without an annotation, or a repeated id.
    """
    each = [list(json_rows(file)) for file in files]
    asked = [_is_of(rows, {"id", "image", "query"}) for rows in each]
    known = [_is_of(rows, {"id", "type", "truth"}) for rows in each]
    if sorted([asked, known]) != [[False, True], [True, False]]:
        raise BuildError(
            f"{' and '.join(map(str, files))} are not AMBER's annotations.json (id, type, truth) and a file of its "
            "queries (id, image, query); expected one of each."
        )
    annotations = {row["id"]: row for _, row in each[known.index(True)] if is_id(row["id"])}
    rows = [_joined(row, annotations, where) for where, row in each[asked.index(True)]]
    try:
        return read_all(rows, str(files[asked.index(True)]))
    except ValueError as error:
        raise BuildError(str(error)) from error


def _is_of(rows: Sequence[tuple[str, Any]], names: set[str]) -> bool:
    """Whether there are rows, all with these fields."""
    return bool(rows) and all(isinstance(row, Mapping) and names <= row.keys() for _, row in rows)


def _joined(
    query: Mapping[str, Any], annotations: Mapping[Any, Mapping[str, Any]], where: str
) -> dict[str, Any]:
    """Join a query and its annotation into a row of the dataset."""
    known = annotations.get(query["id"]) if is_id(query["id"]) else None
    if known is None or known["type"] not in _TYPES:
        why = "no annotation has it" if known is None else f"its type is {short_repr(known['type'])}"
        raise BuildError(
            f"{where}: id is {short_repr(query['id'])}, and {why}; expected ids of annotations.json."
        )
    described = known["type"] == GENERATIVE
    return {
        "id": query["id"],
        "file_name": query["image"],
        "prompt": query["query"],
        "task": GENERATIVE if described else DISCRIMINATIVE,
        "dimension": _TYPES[known["type"]],
        "answer": None if described else known["truth"],
        "truth": known["truth"] if described else [],
        "hallu": known.get("hallu", []) if described else [],
    }


def _annotated(found: Fields, name: str) -> tuple[str, ...]:
    """Return the words of an annotation."""
    annotated = found.words(name)
    if unknown := words.load().unknown(annotated):
        raise ValueError(
            f"{found.where}: {name} holds {short_repr(unknown[0])}, which is not one of the words that AMBER annotates."
        )
    return annotated


def read_pairs(similar: Any) -> list[tuple[str, str]]:
    """Read pairs of words that count as synonyms.

    Args:
        similar: the pairs; a file of JSON lines or a JSON list of them; or a dataset with the columns `word` and
            `other`, such as "amber:similar".

    Returns:
        Each pair once, in alphabetical order.

    Raises:
        ValueError: for anything but pairs of words.
        FileNotFoundError: if the file does not exist.
    """
    if isinstance(similar, str | Path):
        source = Source.of(str(similar))
        located = list(json_rows(source.path)) if source.is_json else _table(str(similar))
    else:
        given = listed("similar", similar, "pairs of words, or a file of pairs")
        located = [(f"similar[{number}]", pair) for number, pair in enumerate(given)]
    return sorted({_pair(pair, where) for where, pair in located})


def _table(written: str) -> list[tuple[str, Any]]:
    """Return the pairs of a dataset, each with its place for error messages."""
    rows = read_columns(written, PAIR, PAIR, "pairs of synonyms")
    return [(f"{written}[{number}]", [row[name] for name in PAIR]) for number, row in enumerate(rows)]


def _pair(given: Any, where: str) -> tuple[str, str]:
    """Return the two words of a pair, in alphabetical order."""
    words = texts(where, given)
    if len(words) != 2:
        raise ValueError(f"{where} is {short_repr(given)}; expected two words, such as ['sea', 'ocean'].")
    return min(words), max(words)
