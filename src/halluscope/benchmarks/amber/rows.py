"""Reads AMBER's rows: images to describe, with words for what is there and what is not, and yes/no questions.

And AMBER's words, from `words.toml`: how the nouns of a description compare with the words annotated for its image.
Source: AMBER (Wang et al., 2023), section 3.3, and the authors' script, whose order of steps is kept.
"""

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.graded.rows import Row, Rows, Values
from halluscope.reading.datasets import Source, read_columns
from halluscope.reading.fields import Fields
from halluscope.reading.tables import numbered
from halluscope.reading.words.tokens import Word, forms_of
from halluscope.sanitize import short_repr
from halluscope.validation import listed, texts
from halluscope.vocabularies import read_toml

GENERATIVE, DISCRIMINATIVE = "generative", "discriminative"

SIMILAR = "similar"  # the config that holds pairs of synonyms, where they were built
PAIR = ("word", "other")  # its columns


_IMAGE_NAME = re.compile(r"AMBER_\d{1,4}\.jpg", re.IGNORECASE)


def is_image(name: str) -> bool:
    """Whether an image file is named as AMBER's are."""
    return _IMAGE_NAME.fullmatch(name) is not None


class AmberRow(Row):
    """One row."""

    prompt: str
    task: str

    @property
    def question(self) -> str:
        """The question; if a response names its question, it must be this one. "" for a description."""
        return self.prompt if self.task == DISCRIMINATIVE else ""


def _annotated(row: Fields, name: str) -> tuple[str, ...]:
    found = row.words(name) if row.given["task"] == GENERATIVE else ()
    if unknown := [word for word in found if word not in load_words().also]:
        raise ValueError(
            f"{row.where}: {name} holds {short_repr(unknown[0])}, which is not one of the words that AMBER annotates."
        )
    return found


def _words() -> Any:
    from datasets import List, Value

    return List(Value("string"))


class AmberRows(Rows):
    row_base = AmberRow
    kinds: ClassVar = {
        "answer": (
            lambda row, name: None if row.given["task"] == GENERATIVE else row.one_of(name, ("yes", "no")),
            "string",
        ),
        "annotated": (_annotated, _words),
    }

    def derive(self, values: Values, where: str) -> Values:
        if (values["dimension"] == "generation") != (values["task"] == GENERATIVE):
            raise ValueError(
                f"{where}: task is {values['task']!r} and dimension {values['dimension']!r}; expected dimension "
                f"'generation' for task {GENERATIVE!r} and for no other."
            )
        return {}

    def load(self, sources: Sequence[str]) -> list[Any]:
        """Read the dataset: a built folder or Hub id; or the authors' annotations.json and a file of queries."""
        named = [Source.of(source) for source in sources]
        if all(source.is_json for source in named) and len(named) == 2:
            return read_upstream(*(source.path for source in named))
        return super().load(sources)


ROWS = AmberRows(__file__)
load, read, read_all = ROWS.load, ROWS.read, ROWS.read_all


def aspect(dimension: str) -> str | None:
    """Return which of AMBER's three dimensions a question's kind belongs to; None for a description."""
    kinds = {"generation": None, "existence": "existence", "relation": "relation"}
    return kinds.get(dimension, "attribute")


def set_of(row: Any) -> Hashable:
    """Return a question's set, which is answered completely or not at all; None for a description, which has no set."""
    return aspect(row.dimension)


def subject(row: Mapping[str, Any]) -> str:
    """Return the subject of a question about a state or an action: "the sky" for "Is the sky sunny in this image?".

    It is "" for other rows, and for a noun that is not among AMBER's words.
    """
    about = row["prompt"].split()[1:3]
    asked = row["dimension"] in ("state", "action") and about[-1:] and about[-1] in load_words().known
    return " ".join(about) if asked else ""


def inputs(rows: Sequence[Any]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {"references": rows}


def read_upstream(*files: Readable) -> list[Any]:
    """Read the authors' annotations.json and a file of queries, in either order.

    The queries choose the rows: query_all.json has them all, each other file has those of one task or dimension.
    """
    each = {str(file): list(json_rows(file)) for file in files}

    asked, known = (
        [
            file
            for file, rows in each.items()
            if rows and all(isinstance(row, Mapping) and names <= row.keys() for _, row in rows)
        ]
        for names in ({"id", "image", "query"}, {"id", "type", "truth"})
    )
    if len(asked) != 1 or len(known) != 1 or asked == known:
        raise BuildError(
            f"{' and '.join(map(str, files))} are not AMBER's annotations.json (id, type, truth) and a file of its "
            "queries (id, image, query); expected one of each."
        )
    annotations = {str(row["id"]): row for _, row in each[known[0]]}
    rows = []
    for where, query in each[asked[0]]:
        if (of := annotations.get(str(query["id"]))) is None:
            raise BuildError(
                f"{where}: id is {short_repr(query['id'])}, and no annotation has it; expected ids of annotations.json."
            )
        described = of["type"] == GENERATIVE
        kind = str(of["type"]).removeprefix("discriminative-").removeprefix("attribute-")
        rows.append(
            {
                "id": query["id"],
                "file_name": query["image"],
                "prompt": query["query"],
                "task": GENERATIVE if described else DISCRIMINATIVE,
                "dimension": {GENERATIVE: "generation", "hallucination": "existence"}.get(kind, kind),
                "answer": of["truth"],
                "truth": of["truth"],
                "hallu": of.get("hallu", []),
            }
        )
    try:
        return read_all(rows, asked[0])
    except ValueError as error:
        raise BuildError(str(error)) from error


def read_pairs(similar: Any) -> list[tuple[str, str]]:
    """Read pairs of words that count as synonyms: each once, in alphabetical order.

    They are given; in a file of JSON lines or a JSON list; or in a dataset with the columns `word` and `other`, such as
    "amber:similar".
    """
    if not isinstance(similar, str | Path):
        located = numbered("similar", listed("similar", similar, "pairs of words, or a file of pairs"))
    elif (source := Source.of(str(similar))).is_json:
        located = json_rows(source.path)
    else:
        rows = read_columns(str(similar), PAIR, PAIR, "pairs of synonyms")
        located = numbered(str(similar), ([row[name] for name in PAIR] for row in rows))
    found = set()
    for where, pair in located:
        two = texts(where, pair)
        if len(two) != 2:
            raise ValueError(f"{where} is {short_repr(pair)}; expected two words, such as ['sea', 'ocean'].")
        found.add((min(two), max(two)))
    return sorted(found)


# A word -> the words that count as its synonyms, in both directions.
Synonyms = Mapping[str, frozenset[str]]


class Words(NamedTuple):
    """The words by which descriptions are compared with annotations."""

    also: Mapping[str, tuple[str, ...]]  # a word of an annotation -> the other words that stand for it
    safe: frozenset[str]  # words that count as mentions but are never hallucinated
    known: frozenset[str]  # all words in `also`, keys and values; only nouns among them count as mentions
    spellings: Mapping[str, str]  # a noun in its dictionary form -> how AMBER spells it, where that differs

    def standing_for(self, annotated: Sequence[str]) -> list[tuple[str, int]]:
        """Return each word that stands for an annotated word, with the index of the annotated word.

        The other words come first, then the annotated words themselves. This is the order of the authors' script: a
        noun counts for the first word that it equals.
        """
        others = [(word, place) for place, name in enumerate(annotated) for word in self.also[name]]
        return others + [(name, place) for place, name in enumerate(annotated)]


@cache
def load_words() -> Words:
    """Read the table."""
    table = read_toml(__file__, "words.toml")
    also = dict.fromkeys(table["alone"], ()) | {word: tuple(of) for word, of in table["also"].items()}
    known = frozenset(also).union(*also.values())
    return Words(also, frozenset(table["safe"]), known, table["spellings"])


class Description(NamedTuple):
    """What a description mentions."""

    mentions: list[str]  # the nouns that are among AMBER's words, repeats included
    places: list[list[int] | None]  # the [start, end] of each mention in the text; None if unknown
    hallucinated: list[str]  # the mentions that stand for nothing in the image, repeats included
    covered: set[int]  # the indices in `truth` of the words that are mentioned
    imagined: set[int]  # the indices in `hallu` of the words that are mentioned


def describe(
    nouns: Sequence[Word], truth: Sequence[str], hallu: Sequence[str], words: Words, similar: Synonyms
) -> Description:
    """Compare a description's nouns, in their dictionary form and with repeats, with what is annotated.

    A noun that stands for a word of `truth` is right. Any other noun may stand for a word of `hallu`, which is absent
    but easily imagined there, and is hallucinated unless a word of `truth` is similar to it. Safe words count only as
    mentions.
    """
    there, imaginable = words.standing_for(truth), words.standing_for(hallu)
    known = [noun for noun in nouns if noun.form in words.known]
    found = Description(forms_of(known), [noun.place for noun in known], [], set(), set())
    for noun in found.mentions:
        if noun in words.safe:
            continue
        if right := _first({noun}, there):
            found.covered.update(right)
            continue
        alike = {noun, *similar.get(noun, ())}
        found.imagined.update(_first({noun}, imaginable), _first(alike, imaginable))
        right = _first(alike, there)
        found.covered.update(right)
        found.hallucinated.extend([] if right else [noun])
    return found


def _first(nouns: Collection[str], standing: Sequence[tuple[str, int]]) -> list[int]:
    """Return the index of the first annotated word that one of the nouns stands for, or nothing."""
    return [place for word, place in standing if word in nouns][:1]


def synonyms(pairs: Iterable[tuple[str, str]]) -> Synonyms:
    """Return each word of the pairs -> its synonyms."""
    found: dict[str, frozenset[str]] = {}
    for one, other in pairs:
        found[one] = found.get(one, frozenset()) | {other}
        found[other] = found.get(other, frozenset()) | {one}
    return found
