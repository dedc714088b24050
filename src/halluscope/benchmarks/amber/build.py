"""Builds amber: 1,004 images to describe and 14,216 yes/no questions about them."""

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from datasets import Features, Value

from halluscope.benchmarks.amber.rows import (
    DISCRIMINATIVE,
    GENERATIVE,
    PAIR,
    ROWS,
    SIMILAR,
    load_words,
    read_upstream,
)
from halluscope.building.command import builder
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError, needs
from halluscope.sanitize import one_line, short_repr

ALIKE = (
    0.8  # Two words are synonyms if the cosine of their vectors is greater (the script's --similarity_score)
)


def counts(rows: Sequence[Any]) -> dict[str, Any]:
    """Count the rows for stats.json."""
    of_task = Counter(row.task for row in rows)
    of_dimension = Counter(row.dimension for row in rows)
    of_answer = Counter(row.answer for row in rows)
    asked = Counter((row.file_name, row.question) for row in rows if row.question)
    return {
        "rows": len(rows),
        **{name: of_task[name] for name in (GENERATIVE, DISCRIMINATIVE)},
        **{name: of_dimension[name] for name in ROWS.columns["dimension"].values[1:]},
        **{name: of_answer[name] for name in ("yes", "no")},
        "images": len({row.file_name for row in rows}),
        "asked_twice": sum(count - 1 for count in asked.values()),
        "both_true_and_imagined": sum(bool({*row.truth} & {*row.hallu}) for row in rows),
    }


COLUMNS = ("id", "file_name", "image", "prompt", "task", "dimension", "answer", "truth", "hallu")


def make(order: Order, vectors_of: str | None = None) -> Path:
    """Build amber; with a spaCy model, also the config `similar`, pairs of words whose vectors are alike."""
    out = order.target()
    model = load_vectors(vectors_of) if vectors_of else None
    sources = {
        "annotations": order.fetch("annotations"),
        "queries": order.fetch("queries", order.inside("query")),
    }
    rows = read_upstream(*(source.path for source in sources.values()))
    numbers, others = counts(rows), list[Table]()
    if model:
        alike = pairs(load_words().known, model)
        name = "{lang}_{name}-{version}".format_map(model.meta)  # such as "en_core_web_lg-3.8.0"
        numbers |= {"pairs_of_synonyms": len(alike), "vectors": name}
        columns = Features(dict.fromkeys(PAIR, Value("string")))
        both = [dict(zip(PAIR, pair, strict=True)) for pair in alike]
        others.append(Table(columns, both, SIMILAR))
    # only the row that asks for a description stores its image
    written = [
        {**row.row, "image": row.file_name if row.task == GENERATIVE else None, "file_name": row.file_name}
        for row in rows
    ]
    return order.write(out, written, ROWS.features(*COLUMNS), numbers, sources, others=others)


def pairs(known: Collection[str], nlp: Any) -> list[tuple[str, str]]:
    """Return the pairs of words whose vectors are alike, in alphabetical order, as the authors' inference.py has them.

    An entry of several words has the mean of their vectors.
    """
    texts = {word: nlp.make_doc(word) for word in sorted(known)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[W008\]")  # a word without a vector: its cosines are 0
        two = combinations(texts, 2)
        return [(one, other) for one, other in two if texts[one].similarity(texts[other]) > ALIKE]


def load_vectors(model: str) -> Any:
    """Load a spaCy model with word vectors, by its name or folder."""
    with needs("--vectors", "spacy"):
        import spacy
    try:
        nlp = spacy.load(model)
    except (OSError, ValueError, ImportError) as error:
        raise BuildError(
            f"--vectors {short_repr(model)} is not a spaCy model that can be loaded ({one_line(error, 200)}). "
            "Expected a "
            "name or a folder; `python -m spacy download en_core_web_lg` installs the model of the authors' script."
        ) from error
    if not nlp.vocab.vectors.n_keys:
        raise BuildError(
            f"--vectors {short_repr(model)} has no word vectors; expected a model with word vectors, such as "
            "en_core_web_lg."
        )
    return nlp


BUILDER = builder(__file__, "amber", make)
