"""AMBER: hallucination in descriptions, and in responses to yes/no questions (Wang et al., 2023).

No model is asked: a description's nouns are compared with annotated words, and each response to a question is read by
a named rule.
"""

from collections.abc import Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmarks.amber import BENCHMARK, mentions, scoring, words
from halluscope.benchmarks.amber.mentions import Description
from halluscope.benchmarks.amber.rows import (
    DISCRIMINATIVE,
    GENERATIVE,
    TASKS,
    AmberRow,
    read_all,
    read_pairs,
)
from halluscope.cores import map_texts
from halluscope.inputs import flags, listed, paired
from halluscope.inputs import texts as words_of
from halluscope.reading.words import readers
from halluscope.reading.words.tokens import Word, forms_of, in_forms
from halluscope.responses import parsers
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.parsers import said_of
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Bools, Ints, Tally, numbers

GIVEN = "given"

Codes = NDArray[np.int8]
"""How responses to questions were read [questions], as codes of `halluscope.judging.votes`."""

OF_DESCRIPTION = ("mentions", "places", "hallucinated", "missed", "imagined")
"""The columns of `per_row` that describe a description, word by word."""

NOTHING = dict.fromkeys((*OF_DESCRIPTION, "hal", "answer", "said", "accuracy", "unreadable"))
"""An empty row of `per_row`."""

# "official" is the rule of the authors' script; lmms-eval reads AMBER and POPE by different rules.
PARSERS = {
    "strict": parsers.strict,
    "official": parsers.exact,
    "lmms-eval": parsers.contained,
    "vlmevalkit": parsers.vlmevalkit,
    "first-word": parsers.first_word,
}


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
    """Score an LVLM's descriptions of images, or its responses to yes/no questions, or both.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order.
        convention: "exact"; "lmms-eval", which adds 0.001 to each total once per description; or "official", scores
            rounded as the authors' script prints them, with F from rounded scores; its nouns need reader="nltk" too.
        parser: how a response to a question is read: "strict" (default), "official" (exactly "Yes" or "No"; the default
            with convention="official"), "lmms-eval", "vlmevalkit" or "first-word"; see
            `halluscope.responses.parsers`.
        reader: what finds a description's nouns: "lemminflect", a dictionary and a few rules; "nltk", which tags words
            as the authors' script does, with nltk's data; or "spacy", whose en_core_web_sm tags words too.
        nouns: the nouns of each description in their dictionary form, one list per generative row, if another program
            has found them.
        similar: pairs of words that count as synonyms, a file of pairs (JSON), or a dataset of them, such as
            "amber:similar"; by default none. The script has pairs whose vectors in spaCy's en_core_web_lg have a cosine
            above 0.8; `halluscope build amber --vectors en_core_web_lg` finds them.
        bootstrap: the number of resamples of the images behind each interval; 0 for no interval.
        seed: the seed of the bootstrap.
        level: the level of the interval, in (0, 1).
        per_row: also give, for each row, what was found, with its places in the text as it was read, and its part in
            `hal`, `accuracy` and `unreadable`.
        thoughts: "removed" drops the LVLM's thoughts (`halluscope.responses.thoughts`), "kept" reads them too.

    Returns:
        Scores of descriptions, fractions in [0, 1]: `chair`, the share of mentions (nouns among AMBER's 418 words,
        repeats included) that are hallucinated; `cover`, the share of annotated words that are mentioned; `hal`, the
        share of descriptions with a hallucination; `cog`, the share of words for easily imagined things that are
        mentioned. Lower is better, except for `cover`.
        Scores of responses to questions, where "no" is the positive class: `accuracy precision recall f1`, NaN unless
        questions of all three dimensions were answered; the same scores for each dimension (`f1/existence`,
        `f1/attribute`, `f1/relation`) and for each kind of attribute (`f1/state`, `f1/number`, `f1/action`);
        `accuracy_mean`, the mean of the three dimensions' accuracies, which VLMEvalKit reports as the average;
        `yes_ratio`, the share of responses read as yes; `unreadable`, the share of responses that are neither yes nor
        no: these are wrong in accuracy and never count as "no".
        `amber`, the AMBER score: the mean of 1 - `chair` and `f1`. A score is NaN without rows or with a denominator
        of 0.
        `rows`, `descriptions`, `questions`, `images`; `mean_words`, the responses' mean length in words; `thoughts`,
        the number of responses from which a thought was removed; `signature`; and on request `interval` and
        `per_row`.

    Raises:
        ValueError: for any bad input.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', [nltk] or [spacy]).
        FileNotFoundError: without the data that nltk needs, or spaCy's model.
    """
    flags(per_row=per_row)
    readers.check(reader, readers.NOUNS)
    BENCHMARK.check_choices(convention=convention)
    usual = "official" if convention == "official" else "strict"
    parser = usual if parser is None else parser
    BENCHMARK.check_choices(parser=parser)
    predictions, references = paired(predictions, references)
    predictions, thought = take_out(predictions, thoughts)
    rows = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    pairs = [] if similar is None else read_pairs(similar)
    is_described = np.array([row.task == GENERATIVE for row in rows])
    image = numbers([row.file_name for row in rows])
    found, found_by = _nouns(predictions, is_described, nouns, reader)
    descriptions = _described([row for row in rows if row.task == GENERATIVE], found, pairs)
    answers = parsers.read(compress(predictions, ~is_described), parser, PARSERS)
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
    """Return the nouns of each description, and the signature's name for what found them."""
    described = list(compress(texts, is_described))
    if given is None and described:
        read, version = readers.load(reader, readers.NOUNS)
        found = [*map_texts(read, described)]
        if reader != readers.NLTK:
            spelt = words.load().spelt
            found = [in_forms(nouns, map(spelt, forms_of(nouns))) for nouns in found]
        return found, version
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
    """Return what each description mentions."""
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
    """Count both tasks per image."""
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
    """Return what was found in each response and its part in each score; the other task's columns are None."""
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
    """Return how a response to a question was read."""
    return {
        "answer": row.answer,
        "said": said,
        "accuracy": said == row.answer,
        "unreadable": said is None,
    }


def _of_description(row: AmberRow, found: Description) -> dict[str, Any]:
    """Return what a description mentions, word by word."""
    missed = [name for place, name in enumerate(row.truth) if place not in found.covered]
    imagined = [row.hallu[place] for place in sorted(found.imagined)]
    words = (list(found.mentions), list(found.places), list(found.hallucinated), missed, imagined)
    return {**dict(zip(OF_DESCRIPTION, words, strict=True)), "hal": bool(found.hallucinated)}
