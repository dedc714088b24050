"""AMBER: hallucination in descriptions, and in responses to yes/no questions (Wang et al., 2023).

No model is asked: a description's nouns are compared with annotated words, and each response to a question is read by
a named rule.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmarks.amber import BENCHMARK
from halluscope.benchmarks.amber.rows import (
    DISCRIMINATIVE,
    GENERATIVE,
    Description,
    describe,
    load_words,
    read_all,
    read_pairs,
    synonyms,
)
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.options import check_effect
from halluscope.reading.words import readers
from halluscope.reading.words.tokens import forms_of, in_forms
from halluscope.responses import parsers
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.read_otherwise import Readings, warn_if_read_otherwise
from halluscope.responses.thoughts import REMOVED, choice, spoken
from halluscope.signature import data_of, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import blocks_of, leave_out, shifted, total_of
from halluscope.stats.ratios import Floats, f_of_means, ratio
from halluscope.stats.stated import of_scores
from halluscope.stats.tallies import Ints, Tally, counts_of, numbers, points, tally_groups
from halluscope.validation import flags, paired

OF_DESCRIPTIONS = ("chair", "cover", "hal", "cog")
RATIOS = ("accuracy", "precision", "recall")

# What a question is about, the suffix of its scores' names -> its kinds of question. The scores over all questions are
# defined if each of AMBER's three dimensions has a question.
GROUPS = {
    "existence": ("existence",),
    "attribute": ("state", "number", "action"),
    "state": ("state",),
    "number": ("number",),
    "action": ("action",),
    "relation": ("relation",),
}
THREE = ("existence", "attribute", "relation")
SUFFIXES = ("", *(f"/{name}" for name in GROUPS))

# What the authors' script adds: to each denominator, at its start; and to that of F, where it adds 0.0001 elsewhere.
EPSILON = 0.001
BENEATH_F = {"/existence": 0.001}

# Score -> its numerator and denominator, each [sums]
Counts = Mapping[str, tuple[Floats, Floats]]

# "official" is the rule of the authors' script; lmms-eval reads AMBER and POPE by different rules.
PARSERS = {
    parsers.STRICT: parsers.strict,
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
        bootstrap: 0 for no intervals; any other number gives the same ones, which leave out one image at a time.
        seed: moves nothing.
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
        the number of responses from which a thought was removed, and `unfinished_thoughts`, of those that are a thought
        without an end; `signature`; and on request `interval` and `per_row`.

    Raises:
        ValueError: for any bad input.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', [nltk] or [spacy]).
        FileNotFoundError: without the data that nltk needs, or spaCy's model.
    """
    flags(per_row=per_row)
    readers.check(reader, readers.NOUNS)
    if nouns is not None:
        why = "nouns are given, so no description is read"
        check_effect({"reader": reader}, ["reader"], why, {"reader": readers.LEMMINFLECT})
    BENCHMARK.check_choices(convention=convention)
    usual = "official" if convention == "official" else "strict"
    parser = usual if parser is None else parser
    BENCHMARK.check_choices(parser=parser)
    predictions, references = paired(predictions, references)
    heard = spoken(predictions, thoughts)
    predictions = heard.texts
    rows = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    pairs = [] if similar is None else read_pairs(similar)
    image = numbers([row.file_name for row in rows])
    images = int(image.max()) + 1
    is_asked = np.array([row.task != GENERATIVE for row in rows])
    descriptions, known = [*compress(predictions, ~is_asked)], load_words()
    found, found_by = (
        readers.nouns_of(descriptions, nouns, reader) if descriptions or nouns is not None else ([], "")
    )
    if nouns is None and reader != readers.NLTK:
        spelt = known.spellings
        found = [in_forms(each, (spelt.get(form, form) for form in forms_of(each))) for each in found]
    alike, reading = synonyms(pairs), iter(found)
    each = [
        None if row.task != GENERATIVE else describe(next(reading), row.truth, row.hallu, known, alike)
        for row in rows
    ]
    codes = np.full(len(rows), OTHER, dtype=np.int8)
    codes[is_asked] = parsers.read(compress(predictions, is_asked), parser, PARSERS)
    if is_asked.any():
        _compare_with_strict([*compress(predictions, is_asked)], rows, parser, codes[is_asked])
    tally = _tally(rows, each, codes, image)

    by_image = counts_of([tally])
    total = total_of(by_image)
    counts = _named(total, [*tally])
    result: dict[str, Any] = points(_whole(CONVENTIONS[convention](counts), counts))
    result |= {
        "rows": len(rows),
        "descriptions": len(found),
        "questions": int(is_asked.sum()),
        "images": images,
        MEAN_WORDS: mean_words(predictions),
        **heard.counts(),
        "signature": signature(
            "amber",
            data=data_of("amber", (row.row.values() for row in rows)),
            tasks=[task for task in (GENERATIVE, DISCRIMINATIVE) if any(row.task == task for row in rows)],
            convention=convention,
            parser=parser if is_asked.any() else "no",
            nouns=found_by if found else "no",
            similar=data_of("similar", pairs) if pairs else "no",
            **form_of(row.form for row in rows),
            **choice(thoughts),
            interval=resampling.over("images"),
        ),
    }
    if bootstrap:

        def score(sums: Mapping[str, Floats]) -> dict[str, Floats]:
            return smooth(convention, _named(sums, [*tally]))

        left_out = leave_out(score, total, blocks_of(by_image))
        rounded = {path: shifted(without, result[path[0]]) for path, without in left_out.items()}
        result |= of_scores(rounded, resampling.level)
    if per_row:
        result["per_row"] = [
            {"id": row.id, "dimension": row.dimension, **_of_row(row, one, parsers.word_of(code))}
            for row, one, code in zip(rows, each, codes.tolist(), strict=True)
        ]
    return result


def _compare_with_strict(
    responses: Sequence[str], rows: Sequence[Any], parser: str, codes: NDArray[np.int8]
) -> None:
    """Warn if a parser reads many responses to questions otherwise than `strict` does."""
    if parser == parsers.STRICT:
        return
    right = [YES if row.answer == "yes" else NO for row in rows if row.task != GENERATIVE]
    strict = parsers.read(responses, parsers.STRICT)
    warn_if_read_otherwise(Readings(responses, parser, codes, strict, np.array(right), parsers.word_of))


def _of_row(row: Any, found: Description | None, said: str | None) -> dict[str, Any]:
    """Return what a description mentions, word by word, or how a response to a question was read; else None."""
    described = found and {
        "mentions": found.mentions,
        "places": found.places,
        "hallucinated": found.hallucinated,
        "missed": [name for place, name in enumerate(row.truth) if place not in found.covered],
        "imagined": [row.hallu[place] for place in sorted(found.imagined)],
        "hal": bool(found.hallucinated),
    }
    is_read = {"said": said, "accuracy": said == row.answer, "unreadable": said is None}
    return {
        **(described or dict.fromkeys(("mentions", "places", "hallucinated", "missed", "imagined", "hal"))),
        "answer": row.answer,
        **(dict.fromkeys(is_read) if described else is_read),
    }


def _tally(
    rows: Sequence[Any], found: Sequence[Description | None], said: NDArray[np.int8], image: Ints
) -> Tally:
    """Count per image what descriptions mention (section 3.3), and how questions were answered.

    "no" is the positive class, because most that is asked is absent. An unreadable response is wrong and does not count
    as "no".
    """
    counts = [
        (*map(len, (one.hallucinated, one.mentions, one.covered, row.truth, one.imagined, row.hallu)), 1)
        if one
        else [0] * 7
        for row, one in zip(rows, found, strict=True)
    ]
    wrong, mentions, covered, truth, imagined, hallu, described = np.array(counts).T
    asked, dimension = described == 0, np.array([row.dimension for row in rows])
    no = np.array([row.answer == "no" for row in rows])
    said_yes, said_no = asked & (said == YES), asked & (said == NO)
    of_descriptions = {
        "chair": (wrong, mentions),
        "cover": (covered, truth),
        "hal": (wrong > 0, described),
        "cog": (imagined, hallu),
    }
    right = {
        "accuracy": (np.where(no, said_no, said_yes), asked),
        "precision": (said_no & no, said_no),
        "recall": (said_no & no, asked & no),
    }
    others = {"yes_ratio": (said_yes, asked), "unreadable": (asked & (said == OTHER), asked)}
    groups = {name: np.isin(dimension, kinds) for name, kinds in GROUPS.items()}
    return {
        **tally_groups(of_descriptions, image, {}),
        **tally_groups(right, image, groups),
        **tally_groups(others, image, {}),
    }


def _named(sums: Mapping[str, Floats], names: Sequence[str]) -> Counts:
    """Return the sums of parts and of wholes by score, each [sums]."""
    parts = sums["part"][:, 0].T
    wholes = sums["whole"][:, 0].T
    return dict(zip(names, zip(parts, wholes, strict=True), strict=True))


def exact(counts: Counts) -> dict[str, Floats]:
    """Return unrounded scores, NaN where a denominator is 0; F is 0 where nothing was right."""
    found = {name: ratio(*of) for name, of in counts.items()}
    for group in SUFFIXES:
        found[f"f1{group}"] = f_of_means(found[f"precision{group}"], found[f"recall{group}"], 1.0)
    return found


def official(counts: Counts, printed: Callable[[Floats], Floats] | None = None) -> dict[str, Floats]:
    """Return scores as the authors' script prints them: to 0.1 %, 0 where a denominator is 0, F from rounded scores.

    The script starts each denominator at 0.001 (those of attributes are sums of three), and adds a little to that of F,
    so that it never divides by 0. A score without any row is NaN here; the script does not print it. It prints no yes
    ratio, and no share of unreadable responses. `printed` rounds shares; by default as the script does.
    """
    printed = printed or _rounded
    found = {
        name: printed(part / (whole + EPSILON * (3 if name.endswith("/attribute") else 1)))
        for name, (part, whole) in counts.items()
    }
    wrong, rows = counts["hal"]
    found["hal"] = printed(1 - (rows - wrong) / (rows + EPSILON))
    for group in SUFFIXES:
        precision, recall = found[f"precision{group}"], found[f"recall{group}"]
        beneath = precision + recall + BENEATH_F.get(group, 0.0001)
        found[f"f1{group}"] = printed(2 * precision * recall / beneath)
    for name in found:
        of = "hal" if name in OF_DESCRIPTIONS else "".join(["accuracy", *name.partition("/")[1:]])
        found[name] = np.where(counts[of][1] > 0, found[name], np.nan)
    return found | {name: ratio(*counts[name]) for name in ("yes_ratio", "unreadable")}


def lmms_eval(counts: Counts) -> dict[str, Floats]:
    """Return scores as lmms-eval's amber_g has them: it starts the totals of each description at 0.001, then adds them.

    `hal` is there 1 - (descriptions without hallucination) / (this total).
    """
    found, (wrong, rows) = exact(counts), counts["hal"]
    for name in OF_DESCRIPTIONS:
        part, whole = counts[name]
        found[name] = ratio(part, np.where(rows > 0, whole + EPSILON * rows, 0))
    found["hal"] = 1 - ratio(rows - wrong, rows * (1 + EPSILON))
    return found


def smooth(convention: str, counts: Counts) -> dict[str, Floats]:
    """Return the scores by a convention, not rounded: what an image adds must not be lost in the rounding."""
    if convention == "official":
        return _combined(official(counts, printed=np.asarray))
    return _combined(CONVENTIONS[convention](counts))


def _whole(found: dict[str, Floats], counts: Counts) -> dict[str, Floats]:
    """Add the scores of all three dimensions; scores over all questions are NaN if a dimension has no question."""
    there = np.all([counts[f"accuracy/{name}"][1] > 0 for name in THREE], axis=0)
    for name in (*RATIOS, "f1"):
        found[name] = np.where(there, found[name], np.nan)
    return _combined(found)


def _combined(found: dict[str, Floats]) -> dict[str, Floats]:
    """Add the scores that are means of others."""
    found["accuracy_mean"] = np.mean([found[f"accuracy/{name}"] for name in THREE], axis=0)
    found["amber"] = (1 - found["chair"] + found["f1"]) / 2
    return found


def _rounded(shares: Floats) -> Floats:
    """Round shares to 0.1 %, as Python's `round` does."""
    return np.array([round(share * 100, 1) / 100 for share in shares.tolist()])


CONVENTIONS: dict[str, Callable[[Counts], dict[str, Floats]]] = {
    "exact": exact,
    "official": official,
    "lmms-eval": lmms_eval,
}
