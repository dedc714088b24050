"""AMBER's rows: images to describe, with words for what is there and what is not, and yes/no questions.

And pairs of words that count as synonyms, as a user gives them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.benchmarks.amber.words import load_words
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.reading.datasets import Source, read_columns
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.reading.tables import numbered
from halluscope.sanitize import short_repr
from halluscope.validation import id_of, listed, texts

GENERATIVE = "generative"
DISCRIMINATIVE = "discriminative"
TASKS = (GENERATIVE, DISCRIMINATIVE)

GENERATION = "generation"  # the dimension of a row that asks for a description
KINDS = ("existence", "state", "number", "action", "relation")  # the dimensions of questions

# A kind of question -> which of AMBER's three dimensions it belongs to
ASPECTS = {
    "existence": "existence",
    "state": "attribute",
    "number": "attribute",
    "action": "attribute",
    "relation": "relation",
}

# The authors' name of a kind of question, where it differs
AUTHORS_KINDS = {GENERATIVE: GENERATION, "hallucination": "existence"}

SIMILAR = "similar"  # the config that holds pairs of synonyms, where they were built
PAIR = ("word", "other")  # its columns

IMAGE_NAME = re.compile(r"AMBER_\d{1,4}\.jpg", re.IGNORECASE)


@dataclass(frozen=True)
class AmberRow(Row):
    """An image to describe, or a question about one."""

    id: int  # 1 to 15,220; rows 1 to 1,004 ask for a description
    file_name: str
    prompt: str
    task: str
    dimension: str
    answer: str | None  # the right answer; None for a description
    truth: tuple[str, ...]  # words for what is in the image, possibly repeated; none for a question
    hallu: tuple[str, ...]  # words for what is absent but easily imagined there; none for a question

    @property
    def is_described(self) -> bool:
        """Whether the row asks for a description."""
        return self.task == GENERATIVE

    @property
    def question(self) -> str:
        """The question; if a response names its question, it must be this one. "" for a description."""
        if self.is_described:
            return ""
        return self.prompt

    @property
    def aspect(self) -> str | None:
        """Which of AMBER's three dimensions the question belongs to; None for a description."""
        return ASPECTS.get(self.dimension)


class AmberRows(Rows[AmberRow]):
    row_type = AmberRow
    dataset = "amber"
    file = "AMBER's annotations.json and queries"
    needed = ("id", "file_name", "prompt", "task", "dimension", "answer", "truth", "hallu")

    def parse(self, row: Fields) -> AmberRow:
        id = row.whole("id")
        file_name = row.text("file_name")
        prompt = row.text("prompt")
        task = row.one_of("task", TASKS)
        dimension = row.one_of("dimension", (GENERATION, *KINDS))
        answer = None
        truth: tuple[str, ...] = ()
        hallu: tuple[str, ...] = ()
        if task == GENERATIVE:
            truth = annotated_words(row, "truth")
            hallu = annotated_words(row, "hallu")
        else:
            answer = row.yes_or_no("answer")
        if (dimension == GENERATION) != (task == GENERATIVE):
            raise ValueError(
                f"{row.where}: task is {task!r} and dimension {dimension!r}; expected dimension {GENERATION!r} for "
                f"task {GENERATIVE!r} and for no other."
            )
        return AmberRow(
            id=id,
            file_name=file_name,
            prompt=prompt,
            task=task,
            dimension=dimension,
            answer=answer,
            truth=truth,
            hallu=hallu,
            form=row.form,
        )

    def load(self, sources: Sequence[str]) -> list[AmberRow]:
        """Read a dataset; or the authors' annotations.json and a file of queries."""
        files = [Source.of(source) for source in sources]
        if len(files) == 2 and all(file.is_json for file in files):
            return self.read_authors([file.path for file in files])
        return super().load(sources)

    def read_authors(self, files: Sequence[Readable]) -> list[AmberRow]:
        """Read the authors' annotations.json and a file of queries, in either order.

        The queries choose the rows: query_all.json has them all, each other file has those of one task or dimension.
        """
        contents = {str(file): list(json_rows(file)) for file in files}
        with_queries = files_with({"id", "image", "query"}, contents)
        with_annotations = files_with({"id", "type", "truth"}, contents)
        if len(with_queries) != 1 or len(with_annotations) != 1 or with_queries == with_annotations:
            raise BuildError(
                f"{' and '.join(map(str, files))} are not AMBER's annotations.json (id, type, truth) and a file of its "
                "queries (id, image, query); expected one of each."
            )
        annotations = {}
        for where, annotation in contents[with_annotations[0]]:
            id = str(annotation["id"])
            if id in annotations:
                raise BuildError(f"{where} is the second annotation of the id {id:.80}; expected one.")
            annotations[id] = annotation
        rows = []
        for where, query in contents[with_queries[0]]:
            annotation = annotations.get(str(query["id"]))
            if annotation is None:
                raise BuildError(
                    f"{where}: id is {short_repr(query['id'])}, and no annotation has it; expected ids of "
                    "annotations.json."
                )
            rows.append(row_of_authors(query, annotation))
        try:
            return self.read_all(rows, with_queries[0])
        except ValueError as error:
            raise BuildError(str(error)) from error


ROWS = AmberRows()


def annotated_words(row: Fields, name: str) -> tuple[str, ...]:
    """Return the words of an annotation, each of which AMBER must know."""
    words = row.words(name)
    for word in words:
        if word not in load_words().also:
            raise ValueError(
                f"{row.where}: {name} holds {short_repr(word)}, which is not one of the words that AMBER annotates."
            )
    return words


def files_with(names: set[str], contents: Mapping[str, Sequence[tuple[str, Any]]]) -> list[str]:
    """Return the files all of whose rows have these columns."""
    files = []
    for file, rows in contents.items():
        if rows and all(isinstance(row, Mapping) and names <= row.keys() for _, row in rows):
            files.append(file)
    return files


def row_of_authors(query: Mapping[str, Any], annotation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the dataset from one of the authors' queries and the annotation of its id."""
    kind = str(annotation["type"]).removeprefix("discriminative-").removeprefix("attribute-")
    row = {
        "id": query["id"],
        "file_name": query["image"],
        "prompt": query["query"],
        "task": DISCRIMINATIVE,
        "dimension": AUTHORS_KINDS.get(kind, kind),
        "answer": annotation["truth"],
        "truth": [],
        "hallu": [],
    }
    if kind == GENERATIVE:
        row["task"] = GENERATIVE
        row["answer"] = None
        row["truth"] = annotation["truth"]  # in the same field as a question's answer
        row["hallu"] = annotation.get("hallu", [])
    return row


# Which rows -> their ids
PARTS = {
    "all": range(1, 15_221),
    "descriptions": range(1, 1_005),
    "questions": range(1_005, 15_221),
}


def part_with_ids(ids: Sequence[str]) -> str | None:
    """Return which rows have these ids, in any order; None if they are not those of one part."""
    for part, expected in PARTS.items():
        if len(ids) == len(expected) and {id_of(id) for id in ids} == set(expected):
            return part
    return None


def is_image(name: str) -> bool:
    """Whether an image file is named as AMBER's are."""
    return IMAGE_NAME.fullmatch(name) is not None


def subject_of(row: Mapping[str, Any]) -> str:
    """Return the subject of a question about a state or an action: "the sky" for "Is the sky sunny in this image?".

    It is "" for other rows, and for a noun that is not among AMBER's words.
    """
    if row["dimension"] not in ("state", "action"):
        return ""
    subject = row["prompt"].split()[1:3]
    if not subject or subject[-1] not in load_words().known:
        return ""
    return " ".join(subject)


def read_pairs(similar: str | Path | Sequence[Sequence[str]] | None) -> list[tuple[str, str]]:
    """Read pairs of words that count as synonyms: each once, in alphabetical order; none if none are given.

    They are given; in a file of JSON lines or a JSON list; or in a dataset with the columns `word` and `other`, such as
    "amber:similar".
    """
    if similar is None:
        return []
    pairs = set()
    for where, pair in located_pairs(similar):
        words = texts(where, pair)
        if len(words) != 2:
            raise ValueError(f"{where} is {short_repr(pair)}; expected two words, such as ['sea', 'ocean'].")
        pairs.add((min(words), max(words)))
    return sorted(pairs)


def located_pairs(similar: str | Path | Sequence[Sequence[str]]) -> Iterable[tuple[str, Any]]:
    """Return the pairs as they are written, each with where it stands."""
    if not isinstance(similar, str | Path):
        return numbered("similar", listed("similar", similar, "pairs of words, or a file of pairs"))
    source = Source.of(str(similar))
    if source.is_json:
        return json_rows(source.path)
    try:
        rows = list(read_columns(str(similar), PAIR, PAIR, "pairs of synonyms"))
    except ValueError as error:
        raise ValueError(f"similar: {error}") from error
    return numbered(str(similar), [[row[name] for name in PAIR] for row in rows])
