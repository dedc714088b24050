"""Reads AMBER's rows: images to describe, with words for what is there and what is not, and yes/no questions."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
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

# The `dimension` of a question -> which of AMBER's three dimensions it belongs to.
ASPECTS = {
    "existence": "existence",
    **dict.fromkeys(("state", "number", "action"), "attribute"),
    "relation": "relation",
}
DIMENSIONS = (GENERATION, *ASPECTS)

# A type in annotations.json -> the `dimension`.
_TYPES = {
    GENERATIVE: GENERATION,
    "discriminative-hallucination": "existence",
    **{f"discriminative-attribute-{name}": name for name in ("state", "number", "action")},
    "discriminative-relation": "relation",
    "relation": "relation",
}


@dataclass(frozen=True)
class AmberRow:
    """One row."""

    id: int  # 1 to 15,220; rows 1 to 1,004 ask for a description
    file_name: str  # the image's file name
    prompt: str  # what the LVLM is asked
    task: str  # "generative" or "discriminative"
    dimension: str  # "generation", or what a question is about: a key of `ASPECTS`
    answer: str | None = None  # the right answer, "yes" or "no"; None for a description
    truth: tuple[str, ...] = ()  # words for what is in the image, possibly repeated; () for a question
    hallu: tuple[str, ...] = ()  # words for what is absent but easily imagined there; () for a question
    form: str = ""  # the row's parallel form; "" for the original

    @property
    def question(self) -> str:
        """The question; if a response names its question, it must be this one. "" for a description."""
        return self.prompt if self.task == DISCRIMINATIVE else ""

    @property
    def row(self) -> dict[str, Any]:
        """The columns of the dataset, without the image."""
        return {name: value for name, value in vars(self).items() if name != "form"}


COLUMNS = tuple(field.name for field in fields(AmberRow))
NEEDED = COLUMNS[:8]

SIMILAR = "similar"  # the config that holds pairs of synonyms, where they were built
PAIR = ("word", "other")  # its columns


def load(sources: Sequence[str]) -> list[AmberRow]:
    """Read the dataset: a built folder or Hub id; or the authors' annotations.json and a file of queries."""
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
    """Read rows of the dataset, each id once."""
    return read_once(rows, where, lambda row, place, _: read(row, place))


def read(row: Any, where: str) -> AmberRow:
    """Read a row; an `AmberRow` is returned unchanged."""
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
    annotated = {name: found.words(name) if described else () for name in ("truth", "hallu")}
    for name, each in annotated.items():
        if unknown := [word for word in each if word not in words.load().also]:
            raise ValueError(
                f"{where}: {name} holds {short_repr(unknown[0])}, which is not one of the words that AMBER annotates."
            )
    return AmberRow(
        id=found.whole("id"),
        file_name=found.text("file_name"),
        prompt=found.text("prompt"),
        task=row["task"],
        dimension=dimension,
        answer=None if described else found.one_of("answer", ("yes", "no")),
        form=found.form,
        **annotated,
    )


def read_upstream(*files: Readable) -> list[AmberRow]:
    """Read the authors' annotations.json and a file of queries, in either order.

    The queries choose the rows: query_all.json has them all, each other file has those of one task or dimension.
    """
    each = [list(json_rows(file)) for file in files]
    asked, known = (
        [bool(of) and all(isinstance(row, Mapping) and names <= row.keys() for _, row in of) for of in each]
        for names in ({"id", "image", "query"}, {"id", "type", "truth"})
    )
    if sorted([asked, known]) != [[False, True], [True, False]]:
        raise BuildError(
            f"{' and '.join(map(str, files))} are not AMBER's annotations.json (id, type, truth) and a file of its "
            "queries (id, image, query); expected one of each."
        )
    annotations = {row["id"]: row for _, row in each[known.index(True)] if is_id(row["id"])}
    rows = []
    for where, query in each[asked.index(True)]:
        of = annotations.get(query["id"]) if is_id(query["id"]) else None
        if of is None or of["type"] not in _TYPES:
            why = "no annotation has it" if of is None else f"its type is {short_repr(of['type'])}"
            raise BuildError(
                f"{where}: id is {short_repr(query['id'])}, and {why}; expected ids of annotations.json."
            )
        described = of["type"] == GENERATIVE
        rows.append(
            {
                "id": query["id"],
                "file_name": query["image"],
                "prompt": query["query"],
                "task": GENERATIVE if described else DISCRIMINATIVE,
                "dimension": _TYPES[of["type"]],
                "answer": None if described else of["truth"],
                "truth": of["truth"] if described else [],
                "hallu": of.get("hallu", []) if described else [],
            }
        )
    try:
        return read_all(rows, str(files[asked.index(True)]))
    except ValueError as error:
        raise BuildError(str(error)) from error


def read_pairs(similar: Any) -> list[tuple[str, str]]:
    """Read pairs of words that count as synonyms: each once, in alphabetical order.

    They are given; in a file of JSON lines or a JSON list; or in a dataset with the columns `word` and `other`, such as
    "amber:similar".
    """
    if not isinstance(similar, str | Path):
        given = listed("similar", similar, "pairs of words, or a file of pairs")
        located = [(f"similar[{number}]", pair) for number, pair in enumerate(given)]
    elif (source := Source.of(str(similar))).is_json:
        located = list(json_rows(source.path))
    else:
        rows = read_columns(str(similar), PAIR, PAIR, "pairs of synonyms")
        located = [(f"{similar}[{number}]", [row[name] for name in PAIR]) for number, row in enumerate(rows)]
    found = set()
    for where, pair in located:
        two = texts(where, pair)
        if len(two) != 2:
            raise ValueError(f"{where} is {short_repr(pair)}; expected two words, such as ['sea', 'ocean'].")
        found.add((min(two), max(two)))
    return sorted(found)
