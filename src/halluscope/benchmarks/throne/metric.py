"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024).

Judges vote, for every class of the vocabulary, on whether an LVLM's response implies that the class is in the image.
Votes become labels; comparing the labels with the ground truth gives precision, recall and F.
"""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope import options as checks
from halluscope import vocabularies
from halluscope.benchmarks.throne import prompts, scoring
from halluscope.benchmarks.throne.scoring import AllAverage, ClassF, Conventions, Hits
from halluscope.inputs import array, class_names, flags, ids, labelled, paired, texts, whole
from halluscope.judging import voting
from halluscope.judging.cost.planning import Plan, plan_poll
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.options import VoteOptions
from halluscope.judging.questions import QuestionSet
from halluscope.judging.resolve import lexical
from halluscope.judging.votes import OTHER, UNASKED, VoteResult
from halluscope.judging.voting import IGNORED
from halluscope.reliability.certificate import Certificate, Judgement, name_of, rows_of
from halluscope.reliability.certificate import read as read_certificate
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.sanitize import short_repr
from halluscope.signature import data_of, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.corrected import correct
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.vocabularies import Vocabulary

GIVEN = "given"

# The method by which `halluscope.stats.corrected` makes scores and intervals; its number goes up when it changes.
METHOD = "ppi-1"


def compute(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    vocabulary: str | Sequence[str] | Vocabulary = "coco",
    votes: ArrayLike | None = None,
    beta: float = 0.5,
    class_f: ClassF = "of_means",
    all_average: AllAverage = "pooled",
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    cells: ArrayLike | None = None,
    cells_of: int | None = None,
    image_ids: Sequence[Any] | None = None,
    forms: Sequence[str] | None = None,
    per_class: bool = False,
    per_image: bool = False,
    explain: bool = False,
    thoughts: str = REMOVED,
    certificate: str | Path | Mapping[str, Any] | Certificate | None = None,
    **judging: Any,
) -> dict[str, Any]:
    """Score an LVLM's descriptions of images.

    Args:
        predictions: the LVLM's raw responses, one per image; an empty response mentions nothing.
        references: the classes present in each image, by their names in the vocabulary.
        vocabulary: "coco", "objects365", or the class names in the order of the columns of `votes`.
        votes: 0/1 [images, classes, judges x questions]; if given, no judge is asked.
        beta: the weight of recall against precision in F (equation 3).
        class_f: "of_means", F of the two class averages (Table 1), or "mean", the mean of each class's F (released
            code).
        all_average: "pooled", counts over all cells, or "image", the mean over images (released code).
        bootstrap: the number of resamples of the images behind each interval; 0 for no interval.
        seed: the seed of the bootstrap.
        level: the level of the interval, in (0, 1).
        cells: bool [images, classes]; the same votes are also scored on these cells alone, such as those that POPE
            asks about (supplement, section 2). An image without any such cell is left out of these scores.
        cells_of: the number of cells in the whole sample, other images included; a warning appears if most of them lie
            in images that are not scored.
        image_ids: the images' ids; a repeated id is an error.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        per_class: also give the table `classes`.
        per_image: also give, for each image, which classes were found, hallucinated and missed.
        explain: also give `explained`, how the lexical judge read each mention. It changes no score.
        thoughts: "removed" drops the LVLM's thoughts (`halluscope.responses.thoughts`), "kept" scores them too.
        certificate: the judges' certificate: a file that `halluscope certify` wrote about exactly these responses, or
            its content; adds scores corrected for the judges' errors (`halluscope.stats.corrected`).
        judging: how the poll is held: judges, questions ("paper" of section 4.3, "released", "plain", "claims" for
            checkers, or templates), agreement, ask, device, engine, recheck, tokenizer, workers, leave_out, at_once,
            max_failed, store, progress; see `halluscope.judging.options.VoteOptions`.

    Returns:
        `precision_all recall_all f1_all f0.5_all` over all cells and `precision_cls recall_cls f1_cls f0.5_cls` over
        classes, fractions in [0, 1], NaN where undefined; `undefined_classes`, the number of classes without a
        precision or a recall; `ignored`, the share of cells without agreement (None unless everything was asked);
        `unparsed`, the share of votes that are neither yes nor no (None for given votes); `images`;
        `median_characters` of the responses (L of Table 1); `mean_words`, their mean length in words; `thoughts`,
        the number of responses from which a thought was removed; `signature`; and on request `interval`, `classes`,
        `per_image`.
        With `cells` also `sampled`, the scores on these cells with their own signature, the number of `cells`, and
        `cells_of`; and `difference`, the scores on all cells minus those on the sampled ones.
        `explained` has one list per image with one row per mention: `class`, `start`, `end`, `words`, and
        `taken_back_by`, the name of the rule, or None where the mention counts; `start` and `end` are places in the
        response as judged, without thoughts.
        With a certificate also `corrected`: for each score the "value", "low" and "high" that people's labels make
        likely, at `level`; the numbers of `labels` and `labelled_texts`; `labelled_by`, who gave the labels; `refused`,
        why a score is not corrected; and a signature.

    Raises:
        ValueError: for any bad input, before a model is loaded; for a certificate of other judges, questions,
            agreement, vocabulary or responses, or one whose labels cannot support any score.
    """
    flags(per_class=per_class, per_image=per_image, explain=explain)
    predictions, references = paired(predictions, references)
    image_ids = None if image_ids is None else ids("image_ids", image_ids, len(predictions), unique=True)
    form = form_of(() if forms is None else texts("forms", forms, len(predictions)))
    predictions, thought = take_out(predictions, thoughts)
    references = class_names(references)
    vocabulary = vocabularies.load(vocabulary)
    present = vocabulary.presence(references)
    conventions, resampling = Conventions(beta, class_f, all_average), Bootstrap(bootstrap, seed, level)
    poll = checks.build(VoteOptions, judging, "throne")
    reader = _reader(poll, vocabulary, votes) if explain else None
    certified = None if certificate is None else _check_certificate(certificate, votes, all_average)
    sample = None if cells is None else _check_cells(cells, present)
    size = None if cells_of is None else whole("cells_of", cells_of, 1)
    if sample is not None and size is not None:
        _warn_of_few(int(sample.sum()), size, len(present))
    if votes is not None:
        cast = _given(votes, poll, present)
    else:
        questions = prompts.load(poll.questions)
        if certified:
            _check_about(certified, predictions, vocabulary, questions)
        cast = poll.collect_votes(predictions, present, vocabulary, questions)
    labels = voting.label(*voting.count(cast.votes), cast.k)
    hits = Hits.of(labels, present)
    warn_if_shuffled(hits.predicted, present)
    result: dict[str, Any] = _scores(hits, conventions)
    result |= {
        "ignored": float((labels == IGNORED).mean()) if votes is not None or poll.ask == "all" else None,
        "unparsed": None
        if votes is not None
        else float((cast.votes == OTHER).sum() / max(1, (cast.votes != UNASKED).sum())),
        "undefined_classes": scoring.undefined_classes(hits),
        "images": len(present),
        "median_characters": float(np.median([len(text) for text in predictions])),
        MEAN_WORDS: mean_words(predictions),
        "thoughts": thought,
    }
    made_by = {
        "data": data_of(vocabulary.name, labelled(references, image_ids)),
        "judges": cast.judges,
        "questions": cast.questions,
        "agreement": f"{cast.k}of{cast.votes.shape[-1]}",
        "beta": f"{beta:g}",
        "class_f": class_f,
        "all_average": all_average,
        **form,
        **choice(thoughts),
        "interval": resampling,
    }
    result["signature"] = signature("throne", **made_by)
    if bootstrap:
        drawn = resampling.weights(len(present), scoring.NUMBERS * present.shape[1])
        result["interval"] = resampling.intervals(map(partial(scoring.score, hits, conventions), drawn))
    if sample is not None:
        sampled = _sampled(sample, labels, present, conventions)
        result["difference"] = {name: result[name] - value for name, value in sampled.items()}
        which = f"{sample.sum()}-{hashlib.sha256(sample.tobytes()).hexdigest()[:8]}"
        signed = signature("throne", **made_by, cells=which)
        result["sampled"] = {**sampled, "cells": int(sample.sum()), "cells_of": cells_of, "signature": signed}
    if certified:
        certified.check({name: made_by[name] for name in ("judges", "agreement")})
        corrected = _corrected(certified, predictions, labels, present, vocabulary, conventions, level)
        made_by |= certified.signed | {"interval": f"{level:g},{METHOD}"}
        result["corrected"] = corrected | {"signature": signature("throne", **made_by)}
    if per_class:
        result["classes"] = _of_each_class(hits, beta, vocabulary)
    if per_image:
        result["per_image"] = _of_each_image(hits, present, labels, vocabulary)
    if reader is not None:
        cut = prompts.load(poll.questions).cut
        result["explained"] = [reader.explain(cut(text)) for text in predictions]
    return result


def judge(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    vocabulary: str | Sequence[str] | Vocabulary = "coco",
    thoughts: str = REMOVED,
    **judging: Any,
) -> Judgement:
    """Ask the judges without scoring; the arguments are those of `compute`."""
    predictions, references = paired(predictions, references)
    said, _ = take_out(predictions, thoughts)
    classes = vocabularies.load(vocabulary)
    present = classes.presence(class_names(references))
    poll = checks.build(VoteOptions, judging, "throne")
    questions = prompts.load(poll.questions)
    return Judgement(said, present, classes, questions, poll.collect_votes(said, present, classes, questions))


def plan(
    sets: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]],
    *,
    vocabulary: str | Sequence[str] | Vocabulary = "coco",
    calibrate: float = 0.0,
    prices: tuple[float, float] | None = None,
    **judging: Any,
) -> Plan:
    """Plan what `compute` will ask, and how long it will take."""
    checked = [(texts, class_names(references)) for texts, references in (paired(*one) for one in sets)]
    poll = checks.build(VoteOptions, judging, "throne")
    return plan_poll(
        checked, vocabularies.load(vocabulary), poll, prompts.load(poll.questions), calibrate, prices
    )


def _reader(poll: VoteOptions, vocabulary: Vocabulary, votes: ArrayLike | None) -> LexicalJudge:
    """Return the judge that can explain its votes."""
    if votes is not None:
        raise ValueError(
            "explain says which rule of the lexical judge took a mention back, but votes are given, so no judge reads "
            "the responses; leave votes out and pass judges='lexical'."
        )
    return lexical(poll.judges, vocabulary)


def _check_certificate(
    given: str | Path | Mapping[str, Any] | Certificate, votes: object, all_average: str
) -> Certificate:
    """Read a certificate, after checking that scores can be corrected."""
    if votes is not None:
        raise ValueError(
            "certificate and votes are given; a certificate is about judges: leave votes out and pass judges."
        )
    if all_average != "pooled":
        raise ValueError(
            f"certificate is given, but all_average is {short_repr(all_average)}; expected 'pooled': only counts "
            "pooled over images, or per class, can be corrected."
        )
    return read_certificate(given)


def _check_about(
    certificate: Certificate, texts: Sequence[str], vocabulary: Vocabulary, questions: QuestionSet
) -> None:
    """Check that a certificate is about these texts, judged in this way."""
    certificate.check(
        {"vocabulary": vocabulary.name, "questions": questions.name, "texts": name_of(rows_of(texts))}
    )
    certificate.check_size(texts)


def _given(votes: ArrayLike, poll: VoteOptions, present: NDArray[np.bool_]) -> VoteResult:
    """Return votes that were cast elsewhere, in the form of a poll."""
    cast = voting.check(votes, *present.shape).astype(np.int8)
    return VoteResult(cast, voting.required(poll.agreement, cast.shape[-1]), [GIVEN], GIVEN, ())


def _sampled(
    sample: NDArray[np.bool_], labels: NDArray[np.int8], present: NDArray[np.bool_], conventions: Conventions
) -> dict[str, float]:
    """Return the scores on some cells alone."""
    rows = sample.any(axis=1)
    return _scores(Hits.of(np.where(sample, labels, IGNORED)[rows], present[rows]), conventions)


def _corrected(
    certificate: Certificate,
    predictions: Sequence[str],
    labels: NDArray[np.int8],
    present: NDArray[np.bool_],
    vocabulary: Vocabulary,
    conventions: Conventions,
    level: float,
) -> dict[str, Any]:
    """Return the corrected scores and the labels that they rest on."""
    labels = voting.known(labels, present)
    sample = certificate.sample(predictions, labels, vocabulary)
    found = correct(labels, present, sample, conventions.betas, conventions.class_f, level)
    if found.refused.keys() >= found.scores.keys():
        raise ValueError(
            f"The labels of the certificate {certificate.digest} cannot support any corrected score: "
            f"{next(iter(found.refused.values()))}"
        )
    return {
        **found.scores,
        "refused": found.refused,
        "labels": certificate.count,
        "labelled_texts": certificate.texts,
        "labelled_by": certificate.labelled_by,
    }


def _check_cells(cells: ArrayLike, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    table = array(
        "cells", cells, "bool [images, classes]: for each image and class whether it is in the sample"
    )
    if table.shape != present.shape or table.dtype != bool:
        raise ValueError(
            f"cells is an array of {table.dtype} with the shape {table.shape}; expected bool {present.shape}: "
            "for each image and class whether the cell is in the sample."
        )
    return table


def _warn_of_few(scored: int, of: int, images: int) -> None:
    if 2 * scored < of:
        warnings.warn(
            f"Only {scored:,} of the sample's {of:,} cells ({scored / of:.1%}) lie in the {images:,} images that are "
            "scored; expected most of them. POPE's official questions are about COCO val2014, but throne_coco is "
            "COCO val2017.",
            stacklevel=3,
        )


def _scores(hits: Hits, conventions: Conventions) -> dict[str, float]:
    return {name: float(value[0]) for name, value in scoring.score(hits, conventions).items()}


def _of_each_class(hits: Hits, beta: float, vocabulary: Vocabulary) -> dict[str, dict[str, float]]:
    columns = scoring.per_class(hits, beta)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {
        name: dict(zip(columns, row, strict=True)) for name, row in zip(vocabulary.classes, rows, strict=True)
    }


def _of_each_image(
    hits: Hits, present: NDArray[np.bool_], labels: NDArray[np.int8], vocabulary: Vocabulary
) -> list[dict[str, list[str]]]:
    tables = {
        "found": hits.true,
        "hallucinated": hits.predicted & ~present,
        "missed": present & (labels == 0),
    }
    return [
        {kind: [vocabulary.classes[i] for i in np.flatnonzero(table[row])] for kind, table in tables.items()}
        for row in range(len(present))
    ]
