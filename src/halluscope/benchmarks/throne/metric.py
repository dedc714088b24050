"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024).

Judges vote, for every class of the vocabulary, on whether a response implies it. Votes become labels; comparing these
with the ground truth gives precision, recall and F.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope import options as checks
from halluscope import vocabularies
from halluscope.benchmarks.throne import BENCHMARK, yes_shares
from halluscope.judging import votes as voting
from halluscope.judging.options import POLLING, VoteOptions
from halluscope.judging.questions import QuestionSet, question_set
from halluscope.judging.votes import IGNORED, OTHER, UNASKED, VoteResult
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.thoughts import REMOVED, choice, spoken, take_out
from halluscope.sanitize import short_repr
from halluscope.signature import data_of_objects, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.intervals import Counts, Names, blocks_of, leave_out, refusal, total_of
from halluscope.stats.ratios import Floats, defined_mean, f_of_means, f_score, ratio
from halluscope.stats.stated import of_scores
from halluscope.stats.tallies import points, rows_of
from halluscope.validation import array, class_names, finite, flags, ids_and_forms, paired, whole
from halluscope.vocabularies import Vocabulary, read_toml

if TYPE_CHECKING:  # judges and certificates are imported at first use
    from halluscope.reliability.certificate import Judgement

ClassF = Literal["of_means", "mean"]
AllAverage = Literal["pooled", "image"]
Cells = NDArray[np.bool_]  # [images, classes]

# THRONE's prompts to its judges
SETS = {name: QuestionSet(**one) for name, one in read_toml(__file__, "benchmark.toml")["questions"].items()}
PAPER, RELEASED, CLAIMS = (SETS[name] for name in ("paper", "released", "claims"))

# With this beta F equals recall to every digit printed; with its inverse F equals precision.
LARGEST_BETA = 1000

# Names of counts: the sums of images' own scores, and how many images have one
OF_IMAGES, DEFINED = "of_images", "defined"

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
    certificate: str | Path | Mapping[str, Any] | None = None,
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
        bootstrap: 0 for no intervals; any other number gives the same ones, which leave out one image at a time.
        seed: moves nothing.
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
        `ignored_present`, that share among the cells whose class is in the image (None if there are none);
        `yes_shares`, how often each judge says yes about classes that are in the image and about others, as
        {judge: {"present": share, "absent": share}}, of the cells that it was asked about: under ask="needed" these are
        the ones that earlier votes leave open, so that a later judge's "absent" may well be high; nobody is asked about
        empty responses; None where nothing was asked. Given votes are "vote 1" and so on, or, if `questions` says
        how many there are to a judge, "judge 1" and so on;
        `unparsed`, the share of votes that are neither yes nor no (None for given votes); `images`;
        `median_characters` of the responses (L of Table 1); `mean_words`, their mean length in words; `thoughts`,
        the number of responses from which a thought was removed, and `unfinished_thoughts`, of those that are a thought
        without an end; `signature`; and on request `interval`, `classes`, `per_image`.
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
    import hashlib

    flags(per_class=per_class, per_image=per_image, explain=explain)
    predictions, references = paired(predictions, references)
    image_ids, form = ids_and_forms(image_ids, forms, len(predictions))
    heard = spoken(predictions, thoughts)
    predictions = heard.texts
    references = class_names(references)
    vocabulary = vocabularies.load(vocabulary)
    present = vocabulary.presence(references)
    conventions, resampling = Conventions(beta, class_f, all_average), Bootstrap(bootstrap, seed, level)
    poll = checks.build(VoteOptions, judging, "throne")
    if votes is not None:
        why = "votes are given, so nobody is asked"
        checks.check_effect(judging, POLLING, why, checks.usual_values(VoteOptions))
    if cells is None:
        checks.check_effect({"cells_of": cells_of}, ["cells_of"], "it is about a sample, and cells is None")
    if votes is not None and (explain or certificate is not None):
        raise ValueError(
            f"{'explain' if explain else 'certificate'} is about judges that read the responses, but votes are given; "
            "leave votes out and pass judges='lexical' or others."
        )
    if explain:
        from halluscope.judging.resolve import lexical

        reader = lexical(poll.meant, vocabulary)
    certified = None
    if certificate is not None:
        from halluscope.reliability.certificate import read

        if all_average != "pooled":
            raise ValueError(
                f"certificate is given, but all_average is {short_repr(all_average)}; expected 'pooled': only counts "
                "pooled over images, or per class, can be corrected."
            )
        certified = read(certificate)
    size = 0 if cells_of is None else whole("cells_of", cells_of, 1)
    sample = None if cells is None else _check_cells(cells, present, size)
    questions = questions_of(poll.questions)
    if votes is not None:
        given = voting.check(votes, *present.shape).view(np.int8)
        cast = VoteResult(given, voting.required(poll.agreement, given.shape[-1]), ["given"], "given", ())
    else:
        if certified:
            certified.check(vocabulary=vocabulary.name, questions=questions.name)
            certified.check_texts(predictions)
        cast = poll.collect_votes(predictions, present, vocabulary, questions)
    labels = voting.label(*voting.count(cast.votes), cast.k)
    hits = Hits.of(labels, present)
    if votes is None:
        judges = count_asked(cast, present, predictions, questions)
    else:
        names = names_of_given(
            cast.votes.shape[-1], len(questions.templates) if "questions" in judging else 0
        )
        judges = yes_shares.count_yes(cast.votes, present, names)
    present_cells = int(np.count_nonzero(present))
    ignored_present = present_cells - int(np.count_nonzero(hits.present))
    yes_shares.warn_of_judges(judges)
    yes_shares.warn_of_ignored(ignored_present, present_cells, judges)
    warn_if_shuffled(hits.predicted, present)
    unparsed = None
    if votes is None:
        asked = int(np.count_nonzero(cast.votes != UNASKED))
        unparsed = float(np.count_nonzero(cast.votes == OTHER) / max(1, asked))
    is_whole = votes is not None or poll.ask == "all"
    counts = hits.counts(conventions)
    result: dict[str, Any] = points(score(total_of(counts), conventions)) | {
        "ignored": float((labels == IGNORED).mean()) if is_whole else None,
        "ignored_present": ignored_present / present_cells if present_cells else None,
        "yes_shares": yes_shares.shares(judges),
        "unparsed": unparsed,
        "undefined_classes": int((~hits.predicted.any(axis=0) | ~hits.present.any(axis=0)).sum()),
        "images": len(present),
        "median_characters": float(np.median([len(text) for text in predictions])),
        MEAN_WORDS: mean_words(predictions),
        **heard.counts(),
    }
    made_by = {
        "data": data_of_objects(vocabulary.name, references, image_ids),
        "judges": cast.judges,
        "questions": cast.questions,
        "agreement": f"{cast.k}of{cast.votes.shape[-1]}",
        "beta": f"{beta:g}",
        "class_f": class_f,
        "all_average": all_average,
        **form,
        **choice(thoughts),
        "interval": resampling.over("images"),
    }
    result["signature"] = signature("throne", **made_by)
    if bootstrap:
        scoring = partial(score, conventions=conventions)
        refused = _refused(hits, conventions)
        left_out = leave_out(scoring, total_of(counts), blocks_of(counts), refused=refused)
        result |= of_scores(left_out, resampling.level)
    if sample is not None:
        there = sample.any(axis=1)
        on_sample = Hits.of(np.where(sample, labels, IGNORED)[there], present[there])
        sampled = points(score(total_of(on_sample.counts(conventions)), conventions))
        result["difference"] = {name: result[name] - value for name, value in sampled.items()}
        which = f"{sample.sum()}-{hashlib.sha256(sample.tobytes()).hexdigest()[:8]}"
        signed = signature("throne", **made_by, cells=which)
        result["sampled"] = {**sampled, "cells": int(sample.sum()), "cells_of": cells_of, "signature": signed}
    if certified:
        from halluscope.stats.corrected import correct

        certified.check(judges=made_by["judges"], agreement=made_by["agreement"])
        labels_known = voting.known(labels, present)
        of_people = certified.sample(predictions, labels_known, vocabulary)
        found = correct(labels_known, present, of_people, conventions.betas, class_f, level)
        if found.refused.keys() >= found.scores.keys():
            raise ValueError(
                f"The labels of the certificate {certified.content['digest']} cannot support any corrected score: "
                f"{next(iter(found.refused.values()))}"
            )
        made_by |= certified.signed | {"interval": f"{level:g},{METHOD}"}
        result["corrected"] = {
            **found.scores,
            "refused": found.refused,
            "labels": certified.signed["labels"],
            "labelled_texts": len(certified.content["labels"]),
            "labelled_by": certified.signed["labelled_by"],
            "signature": signature("throne", **made_by),
        }
    if per_class:
        result["classes"] = dict(zip(vocabulary.classes, rows_of(of_each_class(hits, beta)), strict=True))
    if per_image:
        kinds = {
            "found": hits.true,
            "hallucinated": hits.predicted & ~present,
            "missed": present & (labels == 0),
        }
        result["per_image"] = [
            {kind: [vocabulary.classes[i] for i in np.flatnonzero(of[row])] for kind, of in kinds.items()}
            for row in range(len(present))
        ]
    if explain:
        result["explained"] = [reader.explain(questions.cut(text)) for text in predictions]
    return result


def count_asked(
    cast: VoteResult, present: Cells, responses: Sequence[str], questions: QuestionSet
) -> list[yes_shares.JudgeCounts]:
    """Count the judges' votes on responses that they were asked about; nobody is asked about an empty one."""
    is_asked = np.array([bool(questions.cut(response).strip()) for response in responses], dtype=bool)
    return yes_shares.count_yes(cast.votes[is_asked], present[is_asked], cast.judges)


def names_of_given(columns: int, questions: int) -> list[str]:
    """Name the judges of given votes; if it is not known how many `questions` each was asked, name each vote."""
    if questions and columns % questions == 0:
        return [f"judge {number}" for number in range(1, columns // questions + 1)]
    return [f"vote {number}" for number in range(1, columns + 1)]


def judge(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    vocabulary: str | Sequence[str] | Vocabulary = "coco",
    thoughts: str = REMOVED,
    **judging: Any,
) -> "Judgement":
    """Ask the judges without scoring; the arguments are those of `compute`."""
    from halluscope.reliability.certificate import Judgement

    predictions, references = paired(predictions, references)
    said = take_out(predictions, thoughts).texts
    classes = vocabularies.load(vocabulary)
    present = classes.presence(class_names(references))
    poll = checks.build(VoteOptions, judging, "throne")
    asked = said, present, classes, questions_of(poll.questions)
    return Judgement(*asked, poll.collect_votes(*asked))


def questions_of(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the paper's frame."""
    return question_set(questions, SETS, PAPER.frame)


def _check_cells(cells: ArrayLike, present: Cells, every: int) -> Cells:
    """Return the cells of a sample, and warn if most of the sample lies in images that are not scored."""
    meant = "for each image and class whether it is in the sample"
    table = array("cells", cells, f"bool [images, classes]: {meant}")
    if table.shape != present.shape or table.dtype != bool:
        raise ValueError(
            f"cells is an array of {table.dtype} with the shape {table.shape}; expected bool {present.shape}: {meant}."
        )
    scored = int(table.sum())
    if 2 * scored < every:
        warnings.warn(
            f"Only {scored:,} of the sample's {every:,} cells ({scored / every:.1%}) lie in the {len(present):,} "
            "images that are scored; expected most of them. POPE's official questions are about COCO val2014, but "
            "throne_coco is COCO val2017.",
            stacklevel=3,
        )
    return table


class Hits(NamedTuple):
    """The cells that count, as tables [images, classes]."""

    true: Cells  # predicted and present (true positives)
    predicted: Cells  # labelled yes
    present: Cells  # in the ground truth, and not ignored

    @classmethod
    def of(cls, labels: NDArray[np.int8], present: Cells) -> "Hits":
        """Compare labels (1, 0 or `IGNORED`) with the ground truth; ignored cells do not count."""
        predicted = labels == 1
        return cls(predicted & present, predicted, present & (labels != IGNORED))

    def counts(self, conventions: "Conventions") -> Counts:
        """Return what scores are made from, by image: the tables, and an image's own scores where these are averaged:
        [images, scores], 0 where undefined, and whether they are defined.
        """
        tables: dict[str, NDArray[Any]] = dict(zip(self._fields, self, strict=True))
        if conventions.all_average == "pooled":
            return tables
        true, predicted, present = (table.sum(axis=1) for table in self)
        empty = (predicted == 0) | (present == 0)
        precision = np.where(empty, 0.0, ratio(true, predicted))
        recall = np.where(empty, 0.0, ratio(true, present))
        values = [precision, recall]
        for beta in conventions.betas:
            values.append(f_score(precision, recall, beta))
        own = np.stack(values, axis=1)
        return tables | {OF_IMAGES: np.nan_to_num(own), DEFINED: ~np.isnan(own)}


class Conventions:
    """The choices on which papers and released code differ; see `compute`."""

    def __init__(
        self, beta: float = 0.5, class_f: ClassF = "of_means", all_average: AllAverage = "pooled"
    ) -> None:
        """Check the options."""
        finite("beta", beta, 1 / LARGEST_BETA, LARGEST_BETA, "a number, such as 0.5,")
        BENCHMARK.check_choices(class_f=class_f, all_average=all_average)
        self.betas = sorted({1.0, 0.5, float(beta)}, reverse=True)  # those that are reported
        self.class_f, self.all_average = class_f, all_average
        self.names = ["precision", "recall", *(f"f{beta:g}" for beta in self.betas)]


def score(sums: Counts, conventions: Conventions) -> dict[str, Floats]:
    """Return scores [sums], fractions in [0, 1] and NaN where undefined (section 3.1, equation 3), of sums of `counts`.

    With `all_average="image"`, P and R of an image whose predicted or true set is empty are 0, and an image without a
    hit has no F.
    """
    tables, betas = [sums[name] for name in Hits._fields], conventions.betas
    names = conventions.names

    def with_f(precision: Floats, recall: Floats, f: Callable[..., Floats]) -> list[Floats]:
        return [precision, recall, *(f(precision, recall, beta) for beta in betas)]

    if conventions.all_average == "pooled":
        overall = with_f(*_precision_recall(*(of.sum(axis=1) for of in tables)), f_of_means)
    else:
        overall = [*ratio(sums[OF_IMAGES], sums[DEFINED]).T]
    p, r = _precision_recall(*tables)
    if conventions.class_f == "of_means":
        by_class = with_f(defined_mean(p), defined_mean(r), f_of_means)
    else:
        by_class = [*map(defined_mean, with_f(p, r, f_score))]
    return {
        f"{name}_{over}": value
        for over, values in (("all", overall), ("cls", by_class))
        for name, value in zip(names, values, strict=True)
    }


def _refused(hits: Hits, conventions: Conventions) -> dict[Names, str]:
    """Say which means over classes have no interval, since too many classes have no value."""
    true, predicted, present = (table.any(axis=0) for table in hits)
    if conventions.class_f == "of_means":
        has_f, without_f = predicted & present, "a precision or a recall"
    else:
        has_f, without_f = true, "an F"
    defined = dict.fromkeys(conventions.names, (has_f, without_f))
    defined |= {"precision": (predicted, "a precision"), "recall": (present, "a recall")}
    refused: dict[Names, str] = {}
    for name, (is_defined, what) in defined.items():
        refused[(f"{name}_cls",)] = refusal(int((~is_defined).sum()), hits.true.shape[1], what)
    return refused


def _precision_recall(true: Any, predicted: Any, present: Any) -> tuple[Floats, Floats]:
    return ratio(true, predicted), ratio(true, present)


def of_each_class(hits: Hits, beta: float) -> dict[str, NDArray[Any]]:
    """Return one array [classes] per column of the per-class table; ratios are NaN where undefined."""
    counts = [table.sum(axis=0) for table in hits]
    precision, recall = _precision_recall(*counts)
    return {
        **dict(zip(hits._fields, counts, strict=True)),
        "precision": precision,
        "recall": recall,
        **{f"f{one:g}": f_score(precision, recall, one) for one in (1.0, beta)},
    }
