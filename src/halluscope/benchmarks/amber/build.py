"""Builds amber: 1,004 images to describe and 14,216 yes/no questions about them."""

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from datasets import Features, Value

from halluscope.benchmarks.amber.data import KINDS, PAIR, ROWS, SIMILAR, TASKS, AmberRow
from halluscope.benchmarks.amber.words import load_words
from halluscope.building.command import Builder
from halluscope.building.output import Order, Table
from halluscope.errors import BuildError, needs
from halluscope.options import Option
from halluscope.sanitize import one_line, short_repr

# Two words are synonyms if the cosine of their vectors is greater (the script's --similarity_score)
LEAST_COSINE = 0.8


def counts(rows: Sequence[AmberRow]) -> dict[str, Any]:
    """Return the counts that the dataset's spec states, and those of what is odd in it."""
    tasks = Counter(row.task for row in rows)
    dimensions = Counter(row.dimension for row in rows)
    answers = Counter(row.answer for row in rows)
    questions = Counter((row.file_name, row.question) for row in rows if row.question)
    numbers = {"rows": len(rows)}
    for task in TASKS:
        numbers[task] = tasks[task]
    for kind in KINDS:
        numbers[kind] = dimensions[kind]
    for answer in ("yes", "no"):
        numbers[answer] = answers[answer]
    numbers["images"] = len({row.file_name for row in rows})
    numbers["asked_twice"] = questions.total() - len(questions)
    numbers["both_true_and_imagined"] = sum(not set(row.truth).isdisjoint(row.hallu) for row in rows)
    return numbers


def make(order: Order, vectors: str | None = None) -> Path:
    """Build amber; with a spaCy model, also the config `similar`, pairs of words whose vectors are alike."""
    out = order.target()
    model = None
    if vectors:
        model = load_vectors(vectors)
    order.check_source_is_folder("annotations", "queries")
    annotations = order.fetch("annotations")
    queries = order.fetch("queries", order.inside("query"))
    rows = ROWS.read_authors([annotations.path, queries.path])
    numbers = counts(rows)
    tables_besides = []
    if model:
        synonyms = pairs(load_words().known, model)
        numbers["pairs_of_synonyms"] = len(synonyms)
        meta = model.meta
        # such as "en_core_web_lg-3.8.0"
        numbers["vectors"] = f"{meta['lang']}_{meta['name']}-{meta['version']}"
        tables_besides.append(table_of_pairs(synonyms))
    return order.write_rows(
        out,
        rows,
        image_of,
        columns=ROWS.features(with_image=True),
        counts=numbers,
        sources={"annotations": annotations, "queries": queries},
        others=tables_besides,
    )


def image_of(row: AmberRow) -> str | None:
    """Return the name of a row's image; only the row that asks for a description stores its image."""
    if row.is_described:
        return row.file_name
    return None


def table_of_pairs(synonyms: Sequence[tuple[str, str]]) -> Table:
    """Return pairs of synonyms as the config `similar`."""
    rows = [dict(zip(PAIR, pair, strict=True)) for pair in synonyms]
    return Table(Features(dict.fromkeys(PAIR, Value("string"))), rows, SIMILAR)


def pairs(known: Collection[str], nlp: Any) -> list[tuple[str, str]]:
    """Return the pairs of words whose vectors are alike, in alphabetical order, as the authors' inference.py has them.

    An entry of several words has the mean of their vectors.
    """
    texts = {word: nlp.make_doc(word) for word in sorted(known)}
    synonyms = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[W008\]")  # a word without a vector: its cosines are 0
        for first, second in combinations(texts, 2):
            if texts[first].similarity(texts[second]) > LEAST_COSINE:
                synonyms.append((first, second))
    return synonyms


def load_vectors(model: str) -> Any:
    """Load a spaCy model with word vectors, by its name or folder."""
    with needs("--vectors", "spacy"):
        import spacy
    try:
        nlp = spacy.load(model)
    except (OSError, ValueError, ImportError) as error:
        raise BuildError(
            f"--vectors {short_repr(model)} is not a spaCy model that can be loaded ({one_line(error, 200)}). "
            "Expected a name or a folder; `python -m spacy download en_core_web_lg` installs the model of the authors' "
            "script."
        ) from error
    if not nlp.vocab.vectors.n_keys:
        raise BuildError(
            f"--vectors {short_repr(model)} has no word vectors; expected a model with word vectors, such as "
            "en_core_web_lg."
        )
    return nlp


BUILDER = Builder(
    "amber",
    about="""Builds amber: 1,004 images to describe and 14,216 yes/no questions about them.

    halluscope build amber                                          # downloads 3 MB; no images
    halluscope build amber --source AMBER/data --images AMBER/image
    halluscope build amber --vectors en_core_web_lg                 # synonyms too (extra spacy)

The authors' repository links to the images, AMBER_1.jpg to AMBER_1004.jpg. Without --images the column `image` is left
out. The authors' script counts two words as synonyms if their vectors in spaCy's en_core_web_lg are alike; --vectors
writes these pairs to the config `similar`, which `halluscope score amber --similar amber:similar` reads.
""",
    source="the folder of the authors' files, AMBER's data/ (default: download)",
    images="the folder of the images, AMBER_1.jpg to AMBER_1004.jpg, or a zip of it (default: no column `image`)",
    options=(
        Option(
            "vectors",
            "a spaCy model with word vectors, such as en_core_web_lg: adds the config `similar`, pairs of synonyms",
            metavar="MODEL",
        ),
    ),
    make=make,
)
