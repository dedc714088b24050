"""AMBER: hallucination in descriptions and in answers about existence, attributes and relations (Wang et al., 2023).

No model is asked: a description's nouns are compared with annotated words, and each reply to a question is read by a
named rule.
"""

from collections.abc import Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmarks.amber import mentions, replies, scoring, words
from halluscope.benchmarks.amber.mentions import Description
from halluscope.benchmarks.amber.rows import (
    DISCRIMINATIVE,
    GENERATIVE,
    TASKS,
    AmberRow,
    read_all,
    read_pairs,
)
from halluscope.inputs import flags, listed, paired, word
from halluscope.inputs import texts as words_of
from halluscope.reading.words import readers
from halluscope.reading.words.word import Word, forms_of, in_forms
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.parsers import said_of
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Bools, Ints, Tally, numbers

GIVEN = "given"

Codes = NDArray[np.int8]
"""[questions], as `halluscope.judging.votes` has them."""

OF_DESCRIPTION = ("mentions", "places", "hallucinated", "missed", "imagined")
"""What the table of rows says of a description, word by word."""

NOTHING = dict.fromkeys((*OF_DESCRIPTION, "hal", "answer", "said", "accuracy", "unreadable"))
"""A row of that table in which nothing stands yet."""


def compute(
    predictions: Sequence[str],
    references: Sequence[Any],
    *,
    convention: str = "exact",
    parser: str | None = None,
    reader: str = readers.LEMMINFLECT,
    nouns: Sequence[Sequence[str]] | None = None,
    similar: str | Path | Sequence[Sequence[str]] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_row: bool = False,
    thoughts: str = REMOVED,
) -> dict[str, Any]:
    """Score an LVLM's descriptions and answers; either may be left out.

    Args:
        predictions: the LVLM's raw texts, one per row.
        references: the dataset's rows without images, in the same order.
        convention: "exact", or "official": the figures of the authors' script, rounded as it prints them, F from
            rounded figures.
        parser: how a reply is read: "strict" (default), "official" (exactly "Yes" or "No"; the default with
            convention="official"), "lmms-eval", "vlmevalkit" or "first-word"; see
            `halluscope.benchmarks.amber.replies`.
        reader: who finds a description's nouns: "lemminflect", a dictionary, which takes each word for a noun that may
            be one; or "nltk", which tags words as the authors' script does, with nltk's data.
        nouns: the nouns of each description in their dictionary form, one list per generative row, where another
            program has found them.
        similar: pairs of words that count as synonyms, a file of pairs (JSON), or a dataset of them, such as
            "amber:similar"; by default none. The script has pairs whose vectors in spaCy's en_core_web_lg have a cosine
            above 0.8; `halluscope build amber --vectors en_core_web_lg` finds them.
        bootstrap: how many resamples of the images an interval is made of; 0 for none.
        seed: of the bootstrap.
        level: of the interval, in (0, 1).
        per_row: also give, for each row, what was found, with its places in the text as it was read, and its part in
            `hal`, `accuracy` and `unreadable`.
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" reads it too.

    Returns:
        Of descriptions, fractions in [0, 1]: `chair`, the share of mentions (nouns among AMBER's 418 words, each as
        often as it comes) that are hallucinated; `cover`, the share of annotated words that are mentioned; `hal`, the
        share of descriptions with a hallucination; `cog`, the share of the words that people are apt to imagine that
        are mentioned. Lower is better but for `cover`.
        Of answers, where "no" is the positive class: `accuracy precision recall f1`, NaN unless questions of all three
        dimensions were answered; the same of each dimension, such as `f1/existence`, `f1/attribute`, `f1/relation`, and
        of an attribute's kinds, such as `f1/state`, `f1/number`, `f1/action`; `accuracy_mean`, the mean of the three
        dimensions' accuracies, which VLMEvalKit reports as the average; `yes_ratio`, the share of replies that are yes;
        `unreadable`, the share of replies that are neither yes nor no: they are wrong in accuracy, and no "no".
        `amber`, AMBER's one number, the mean of 1 - `chair` and `f1`. What has no row is NaN, as is a share of nothing.
        `rows`, `descriptions`, `questions`, `images`; `mean_words`, how long the texts are; `thoughts`, how many texts
        held one that was removed; `signature`; and `interval` and `per_row` when asked for.

    Raises:
        ValueError: for any bad input.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', or 'halluscope[nltk]').
        FileNotFoundError: without the data that nltk needs.
    """
    flags(per_row=per_row)
    readers.check(reader)
    word("convention", convention, tuple(scoring.CONVENTIONS))
    usual = replies.OFFICIAL if convention == "official" else "strict"
    parser = replies.check(usual if parser is None else parser)
    predictions, references = paired(predictions, references)
    predictions, thought = take_out(predictions, thoughts)
    rows = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    pairs = [] if similar is None else read_pairs(similar)
    is_described = np.array([row.task == GENERATIVE for row in rows])
    image = numbers([row.file_name for row in rows])
    found, found_by = _nouns(predictions, is_described, nouns, reader)
    descriptions = _described([row for row in rows if row.task == GENERATIVE], found, pairs)
    answers = replies.read(compress(predictions, ~is_described), parser)
    tally = _tally(rows, is_described, image, descriptions, answers)
    score = partial(scoring.score, tally, scoring.CONVENTIONS[convention])
    result: dict[str, Any] = {name: float(value[0]) for name, value in score().items()}
    result |= {
        "rows": len(rows),
        "descriptions": len(descriptions),
        "questions": len(answers),
        "images": int(image.max()) + 1,
        MEAN_WORDS: mean_words(predictions),
        "thoughts": thought,
        "signature": signature(
            "amber",
            data=data_of("amber", (row.row.values() for row in rows)),
            tasks=[task for task in TASKS if any(row.task == task for row in rows)],
            convention=convention,
            parser=parser if len(answers) else "no",
            nouns=found_by if descriptions else "no",
            similar=data_of("similar", pairs) if pairs else "no",
            **form_of(row.form for row in rows),
            **choice(thoughts),
            interval=resampling.over("images"),
        ),
    }
    if bootstrap:
        result["interval"] = resampling.intervals(map(score, resampling.weights(int(image.max()) + 1)))
    if per_row:
        result["per_row"] = _of_each_row(rows, descriptions, answers)
    return result


def _nouns(
    texts: Sequence[str], is_described: Bools, given: Any, reader: str
) -> tuple[list[list[Word]], str]:
    """The nouns of each description, and who found them, as it stands in a signature."""
    described = list(compress(texts, is_described))
    if given is None and described:
        chosen, spelt = readers.load(reader), words.load().spelt
        found = [chosen.nouns(text) for text in described]
        lower = reader == readers.LEMMINFLECT
        if lower:
            found = [in_forms(nouns, map(spelt, forms_of(nouns))) for nouns in found]
        return found, chosen.version
    if given is None:
        return [], ""
    lists = listed("nouns", given, "a list, one list of nouns per generative row")
    if len(lists) != len(described):
        raise ValueError(
            f"There are {len(lists):,} lists of nouns and {len(described):,} generative rows; expected one list each."
        )
    return [[*map(Word, words_of(f"nouns[{row}]", nouns))] for row, nouns in enumerate(lists)], GIVEN


def _described(
    rows: Sequence[AmberRow], nouns: Sequence[Sequence[Word]], pairs: Sequence[tuple[str, str]]
) -> list[Description]:
    """What each description mentions."""
    known, synonyms = words.load(), mentions.synonyms(pairs)
    return [
        mentions.read(of, row.truth, row.hallu, known, synonyms) for row, of in zip(rows, nouns, strict=True)
    ]


def _tally(
    rows: Sequence[AmberRow],
    is_described: Bools,
    image: Ints,
    descriptions: Sequence[Description],
    answers: Codes,
) -> Tally:
    """Both tasks' counts by image."""
    images = int(image.max()) + 1
    questions = [row for row in rows if row.task == DISCRIMINATIVE]
    annotated = [row for row in rows if row.task == GENERATIVE]
    of_descriptions = scoring.described(
        descriptions,
        np.array([len(row.truth) for row in annotated], dtype=np.int64),
        np.array([len(row.hallu) for row in annotated], dtype=np.int64),
        image[is_described],
        images,
    )
    of_answers = scoring.answered(
        np.array([row.answer == "no" for row in questions], dtype=bool),
        answers,
        [row.dimension for row in questions],
        image[~is_described],
        images,
    )
    return {**of_descriptions, **of_answers}


def _of_each_row(
    rows: Sequence[AmberRow], descriptions: Sequence[Description], answers: Codes
) -> list[dict[str, Any]]:
    """What was found in each row's text, and its part in each score; None for what is of the other task."""
    described, replied = iter(descriptions), iter(answers.tolist())
    return [
        {"id": row.id, "dimension": row.dimension, **NOTHING}
        | (
            _of_description(row, next(described))
            if row.task == GENERATIVE
            else _of_answer(row, said_of(next(replied)))
        )
        for row in rows
    ]


def _of_answer(row: AmberRow, said: str | None) -> dict[str, Any]:
    """What a reply says."""
    return {
        "answer": row.answer,
        "said": said,
        "accuracy": said == row.answer,
        "unreadable": said is None,
    }


def _of_description(row: AmberRow, found: Description) -> dict[str, Any]:
    """What a description mentions, word by word."""
    missed = [name for place, name in enumerate(row.truth) if place not in found.covered]
    imagined = [row.hallu[place] for place in sorted(found.imagined)]
    words = (list(found.mentions), list(found.places), list(found.hallucinated), missed, imagined)
    return {**dict(zip(OF_DESCRIPTION, words, strict=True)), "hal": bool(found.hallucinated)}
