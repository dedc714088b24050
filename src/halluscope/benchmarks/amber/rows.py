"""AMBER's rows: images to describe, with the words of what is and is not there, and yes/no questions about them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from halluscope.benchmarks.amber import words
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.foreign import brief
from halluscope.inputs import listed, texts
from halluscope.numbers import is_id
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Source, read_columns, read_each, read_once

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
"""The dimension of a question -> the one of AMBER's three dimensions that it belongs to."""

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
"""What annotations.json calls the dimensions."""


@dataclass(frozen=True)
class AmberRow:
    """One row.

    Attributes:
        id: 1 to 15,220; up to 1,004 an image is to be described.
        file_name: of the image.
        prompt: what the LVLM is asked.
        task: "generative" or "discriminative".
        dimension: "generation", or what a question is about: "existence", "state", "number", "action" or "relation".
        answer: "yes" or "no"; None where an image is described.
        truth: words of what is in the image, which may come twice; () where a question is answered.
        hallu: words of what is not in it, and is easily imagined there; () likewise.
        form: which parallel form it is of; "" for the original.
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
        """The question, which a response must not contradict; "" where an image is described."""
        return self.prompt if self.task == DISCRIMINATIVE else ""

    @property
    def row(self) -> dict[str, Any]:
        """The dataset's row of it, without the image."""
        return {name: value for name, value in asdict(self).items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(AmberRow))
NEEDED = COLUMNS[:8]

SIMILAR = "similar"
"""The config that holds pairs of synonyms, where they were built."""
PAIR = ("word", "other")
"""Its columns."""


def load(sources: Sequence[str]) -> list[AmberRow]:
    """Read the dataset: a built folder or Hub id; or the authors' annotations.json and a file of queries.

    Raises:
        ValueError: for a file or dataset of another form, or an id that comes twice.
        FileNotFoundError: if a file does not exist.
    """
    named = [Source.of(source) for source in sources]
    if all(source.is_json for source in named) and len(named) == 2:
        return read_upstream(*(source.path for source in named))
    rows = read_each(sources, COLUMNS, NEEDED, "the dataset amber")
    return read_all(rows, ", ".join(sources))


def set_of(row: AmberRow) -> Hashable:
    """The set of questions that is answered whole or not at all; None for a description, of which any may be there."""
    return ASPECTS.get(row.dimension)


def subject(row: Mapping[str, Any]) -> str:
    """What a question about a state or an action is about: "Is the sky sunny in this image?" is about the sky.

    "" for another row, and for a noun that AMBER does not know.
    """
    about = row["prompt"].split()[1:3]
    asked = row["dimension"] in ("state", "action") and about[-1:] and about[-1] in words.load().known
    return " ".join(about) if asked else ""


def inputs(rows: Sequence[AmberRow]) -> dict[str, Any]:
    """What the metric takes of the dataset's rows."""
    return {"references": rows}


def read_all(rows: Iterable[Any], where: str = "references") -> list[AmberRow]:
    """Read rows of the dataset.

    Raises:
        ValueError: for a row that is none, or an id that comes twice.
    """
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> AmberRow:
    """Read a row. One that was read before stays as it is.

    Raises:
        ValueError: for a missing column, or a value of another kind.
    """
    if isinstance(row, AmberRow):
        return row
    if not isinstance(row, Mapping) or (missing := [name for name in NEEDED if name not in row]):
        lacks = f" It has no {', '.join(missing)}." if isinstance(row, Mapping) else ""
        raise ValueError(f"{where} is {brief(row)}; expected a row of the dataset amber.{lacks}")
    found = Fields(row, where)
    described = found.one_of("task", TASKS) == GENERATIVE
    dimension = found.one_of("dimension", DIMENSIONS)
    if (dimension == GENERATION) != described:
        raise ValueError(
            f"{where}: task is {row['task']!r} and dimension {dimension!r}; expected {GENERATION!r} where an image is "
            "described, and there alone."
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

    The queries choose the rows: query_all.json has them all, the others have those of a task or a dimension.

    Raises:
        BuildError: for files of another form, a query without an annotation, or an id that comes twice.
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
    """Whether all rows have these fields, and there is one."""
    return bool(rows) and all(isinstance(row, Mapping) and names <= row.keys() for _, row in rows)


def _joined(
    query: Mapping[str, Any], annotations: Mapping[Any, Mapping[str, Any]], where: str
) -> dict[str, Any]:
    """A query and its annotation as a row of the dataset."""
    known = annotations.get(query["id"]) if is_id(query["id"]) else None
    if known is None or known["type"] not in _TYPES:
        why = "no annotation has it" if known is None else f"its type is {brief(known['type'])}"
        raise BuildError(f"{where}: id is {brief(query['id'])}, and {why}; expected ids of annotations.json.")
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
    """The words of an annotation."""
    annotated = found.words(name)
    if unknown := words.load().unknown(annotated):
        raise ValueError(
            f"{found.where}: {name} holds {brief(unknown[0])}, which is none of the words that AMBER annotates."
        )
    return annotated


def read_pairs(similar: Any) -> list[tuple[str, str]]:
    """Pairs of words that count as synonyms.

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
    """The pairs of a dataset, each with where it stands."""
    rows = read_columns(written, PAIR, PAIR, "pairs of synonyms")
    return [(f"{written}[{number}]", [row[name] for name in PAIR]) for number, row in enumerate(rows)]


def _pair(given: Any, where: str) -> tuple[str, str]:
    """Two words, in alphabetical order."""
    words = texts(where, given)
    if len(words) != 2:
        raise ValueError(f"{where} is {brief(given)}; expected two words, such as ['sea', 'ocean'].")
    return min(words), max(words)
