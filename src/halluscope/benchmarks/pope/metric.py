"""POPE: yes/no questions about single objects (Li et al., EMNLP 2023), complete or sampled.

Each response is read as yes, no or neither by a named rule (`halluscope.responses.parsers`), and compared with what is
in the image.
"""

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from halluscope.benchmarks.pope import BENCHMARK
from halluscope.benchmarks.pope.rows import SAMPLINGS
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.options import check_effect
from halluscope.reading.yes_no_labels import as_words
from halluscope.responses import parsers as replies
from halluscope.responses.read_otherwise import LEAST_SHARE, Readings, warn_if_read_otherwise
from halluscope.responses.thoughts import REMOVED, choice, spoken
from halluscope.signature import data_of_texts, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.intervals import NUMBERS_AT_ONCE, Names, leave_out, refusal
from halluscope.stats.ratios import Floats, defined_mean, f_of_means, ratio
from halluscope.stats.stated import of_scores
from halluscope.stats.tallies import Ints, numbers, points, rows_of
from halluscope.validation import Id, flags, ids, listed, paired, texts, word, words

LABELS = ("yes", "no")

# Of more responses than this, a sample tells first whether it is worth reading all by `strict` too
MANY_RESPONSES, SAMPLED = 20_000, 4_000

# The scores of each table; the responses about one question or class have all or some of them.
SCORES = ("accuracy", "precision", "recall", "f1", "f0.5", "yes_ratio", "unparsed")

# Counts [..., classes, 2 labels, 3 answers], whole numbers: label 0 (absent) or 1 (present); answer NO, YES or OTHER.
Counts = Floats
ABSENT, PRESENT = 0, 1

CELLS = "cells"  # the name of the counts that the scores are made from


class Convention(NamedTuple):
    """How unreadable responses are counted; they never count as yes."""

    # whether they are wrong in accuracy, and responses in the yes ratio; otherwise both leave them out
    unread_wrong: bool = True
    # whether a present object without a readable response is missed; otherwise recall leaves it out
    unread_missed: bool = True
    # whether the yes ratio is that of the ground truth instead of the LVLM's responses
    yes_of_labels: bool = False


# A parser of one of these names has its own convention; all others, the usual one.
CONVENTIONS = {
    "usual": Convention(),
    "lmms-eval": Convention(unread_missed=False, yes_of_labels=True),
    "repope": Convention(unread_missed=False, unread_wrong=False),
}

READ_ALL = ("pope", replies.VCD)
"""The parsers that leave no response unreadable."""


def compute(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    parser: str = "pope",
    convention: str | None = None,
    objects: Sequence[Id] | None = None,
    sampling: Sequence[str] | None = None,
    image_ids: Sequence[Hashable] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_class: bool = False,
    per_question: bool = False,
    questions: Sequence[str] | None = None,
    forms: Sequence[str] | None = None,
    corrected: Sequence[str | None] | None = None,
    thoughts: str = REMOVED,
) -> dict[str, Any]:
    """Score an LVLM's responses to yes/no questions about objects. Yes is the positive class.

    An unreadable response is wrong in accuracy and does not count as yes. So it does not enter precision, and a present
    object without a readable response is missed. With the convention "lmms-eval" an unreadable response does not
    enter recall either, and the yes ratio is that of the ground truth, as in the harness lmms-eval. With "repope" an
    unreadable response is left out of every score but `unparsed`, as in RePOPE's script.

    Args:
        predictions: the LVLM's raw responses, one per question.
        references: the right answers, "yes" or "no", one per question: a list, an array, a column of a table, or a
            tensor. On both sides True and 1 are taken for "yes", False and 0 for "no", and right answers may have
            capitals ("Yes").
        parser: "pope" (official), "strict", "lmms-eval", "vlmevalkit", "repope", "first-word", or "vcd", which reads
            by the right answer; see `halluscope.responses.parsers`.
        convention: how unreadable responses are counted, "usual", "lmms-eval" or "repope"; by default as in the
            project whose parser is used.
        objects: the class that each question asks about; adds averages over classes.
        sampling: "random", "popular" or "adversarial" for each question; adds the scores of each sampling.
        image_ids: the image of each question; intervals then leave out one image at a time, because the responses about
            one image depend on each other. Without images they leave out questions.
        bootstrap: 0 for no intervals; any other number gives the same ones.
        seed: moves nothing.
        level: the level of the interval, in (0, 1).
        per_class: also give the table `classes`; needs `objects`.
        per_question: also give, for each question, how the response was read, and its own value of `accuracy`,
            `yes_ratio` and `unparsed`.
        questions: the text of each question, for the digest of the data in the signature; it changes no score.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        corrected: corrected right answers to the same questions, such as RePOPE's (Neuhaus and Hein, 2025): "yes",
            "no", or None for a question to leave out; the same responses are also scored by them.
        thoughts: "removed" drops the LVLM's thoughts (`halluscope.responses.thoughts`), "kept" reads them too.

    Returns:
        `accuracy precision recall f1 f0.5`, `yes_ratio`, the share of responses read as yes, and `unparsed`,
        the share of unreadable responses, fractions in [0, 1], NaN where undefined; `rows`; `thoughts`, the number of
        responses from which a thought was removed, and `unfinished_thoughts`, of those that are a thought without an
        end; `signature`; and on request `interval`, `classes` and `per_question`.
        With `objects` also `precision_cls recall_cls f1_cls f0.5_cls`, where F is that of the two averages, and
        `undefined_classes`, the number of classes without a precision or a recall.
        With `sampling` also `samplings`, name -> the same scores, and `f1_mean`, the mean of the samplings' F1.
        With `corrected` also `corrected`, the result by the corrected answers (without `per_question`), with a
        signature of its own, and `difference`, for each score in `SCORES` its value by the corrected answers minus its
        value by `references`.

    Raises:
        ValueError: for any bad input.
    """
    flags(per_class=per_class, per_question=per_question)
    said, references = paired(as_words(predictions), as_words(references, any_case=True))
    references = words("references", references, LABELS)
    rows = len(references)
    given: dict[str, tuple[Any, Any]] = {
        "image_ids": (image_ids, ids),
        "objects": (objects, ids),
        "sampling": (sampling, partial(words, known=SAMPLINGS)),
        "questions": (questions, texts),
        "forms": (forms, texts),
    }
    columns: dict[str, Any] = {
        name: values if values is None else check(name, values, rows=rows)
        for name, (values, check) in given.items()
    }
    others = None if corrected is None else _answers(corrected, rows)
    BENCHMARK.check_choices(parser=parser)
    heard = spoken(said, thoughts, replies.of_empty(parser))
    predictions = heard.texts
    resampling = Bootstrap(bootstrap, seed, level)
    if per_class and objects is None:
        raise ValueError("per_class needs objects: the class that each question asks about.")
    own = own_convention(parser)
    convention = own if convention is None else convention
    BENCHMARK.check_choices(convention=convention)
    _check_convention(convention, parser)
    by, by_class = CONVENTIONS[convention], objects is not None
    sampled, samplings = _groups(columns["sampling"], rows, SAMPLINGS)
    asked, classes = _groups(columns["objects"], rows)
    shape = (len(samplings), len(classes), 2, 3)
    present = np.fromiter(map("yes".__eq__, references), bool, rows)
    answers = (
        replies.by_label(predictions, present) if parser == replies.VCD else replies.read(predictions, parser)
    )
    place = present * 3 + answers  # of each response in the flat table of its sampling and class
    cell = (sampled * len(classes) + asked) * 6 + place
    counts = _count(cell, shape)
    says_yes = answers == YES
    warn_if_shuffled(says_yes[:, None], present[:, None])

    def score(sums: Mapping[str, Counts]) -> dict[str, Any]:
        """Score sums of cells [sums, samplings, classes, 2, 3]."""
        counts = sums[CELLS]
        found: dict[str, Any] = _scores(counts.sum(axis=1), by, by_class)
        if sampling is not None:
            parts = {name: _scores(counts[:, i], by, by_class) for i, name in enumerate(samplings)}
            found |= {"samplings": parts, "f1_mean": np.mean([of["f1"] for of in parts.values()], axis=0)}
        return found

    result = points(score({CELLS: counts[None]}))
    _compare_with_strict(predictions, parser, answers, present, result["accuracy"], forms is not None)
    tables = [result, *result.get("samplings", {}).values()]
    for of, count in zip(tables, [counts.sum(axis=0), *counts], strict=False):
        of["rows"] = int(count.sum())
        if by_class:
            of["undefined_classes"] = int(np.isnan(sum(_precision_recall(count, by))).sum())
    about, blank = ("image_ids", "objects", "sampling", "questions"), [""] * rows
    data = [map(str, columns[name]) if columns[name] else blank for name in about]
    result |= {
        **heard.counts(),
        "signature": signature(
            "pope",
            data=data_of_texts("pope", zip(*data, references, strict=True)),
            parser=parser,
            **({} if convention == own else {"convention": convention}),
            objects=len(classes) if by_class else "no",
            sampling="no" if sampling is None else samplings,
            **form_of(columns["forms"] or ()),
            **choice(thoughts),
            interval=resampling.over("rows" if image_ids is None else "images"),
        ),
    }
    if bootstrap:
        kinds = None
        if image_ids is None:  # rows of the same cell move the scores alike
            cells, kinds = np.unique(cell, return_inverse=True)
            blocks = _blocks(cells, np.arange(len(cells)), shape)
        else:
            blocks = _blocks(cell, numbers(columns["image_ids"]), shape)
        refused = _refused(counts, samplings, by) if by_class else {}
        left_out = leave_out(score, {CELLS: counts[None]}, blocks, refused=refused, kinds=kinds)
        result |= of_scores(left_out, resampling.level)
    if per_class:
        of_class = counts.sum(axis=0)[:, None]
        table = {"rows": of_class.sum(axis=(1, 2, 3)).astype(int), **_scores(of_class, by)}
        del table["unparsed"]
        result["classes"] = dict(zip(classes, rows_of(table), strict=True))
    if per_question:
        result["per_question"] = [
            {"answer": label, "said": said_as, **_of_question(label, said_as, by)}
            for label, said_as in zip(references, map(replies.word_of, answers.tolist()), strict=True)
        ]
    if others is not None:
        kept = [answer is not None for answer in others]
        also: dict[str, Any] = {
            name: values and [*compress(values, kept)] for name, values in columns.items()
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about the same responses
            result["corrected"] = compute(
                [*compress(said, kept)],
                [*filter(None, others)],
                **also,
                parser=parser,
                convention=convention,
                bootstrap=bootstrap,
                seed=seed,
                level=level,
                per_class=per_class,
                thoughts=thoughts,
            )
        result["difference"] = {name: result["corrected"][name] - result[name] for name in SCORES}
    return result


def _of_question(label: str, said: str | None, by: Convention) -> dict[str, bool | None]:
    """Return what a question adds to the scores that are means; None where it does not count."""
    counts = by.unread_wrong or said is not None
    return {
        "accuracy": said == label if counts else None,
        "yes_ratio": (label if by.yes_of_labels else said) == "yes" if counts else None,
        "unparsed": said is None,
    }


def own_convention(parser: str) -> str:
    """Return the convention of the project whose parser it is."""
    return parser if parser in CONVENTIONS else "usual"


def _compare_with_strict(
    predictions: Sequence[str],
    parser: str,
    answers: Any,
    present: Any,
    accuracy: float,
    has_forms: bool,
) -> None:
    """Warn if a parser reads many responses otherwise than `strict`, which cannot read answers to negated questions."""
    is_for_forms = parser == replies.FIRST_WORD and has_forms
    if parser == replies.STRICT or is_for_forms:
        return
    if len(predictions) > MANY_RESPONSES and _is_read_alike(predictions, answers):
        return
    readings = Readings(
        predictions,
        parser,
        answers,
        replies.read(predictions, replies.STRICT),
        np.where(present, YES, NO),
        replies.word_of,
        accuracy=accuracy,
    )
    warn_if_read_otherwise(readings)


def _is_read_alike(predictions: Sequence[str], answers: Any) -> bool:
    """Whether `strict` reads a random sample otherwise so rarely that it reads few of all responses otherwise.

    If it read 5 % of all otherwise, it would be under half as many of `SAMPLED` in one of 10^13 samples.
    """
    rows = np.random.default_rng(0).choice(len(predictions), SAMPLED, replace=False)
    by_strict = replies.read([predictions[row] for row in rows.tolist()], replies.STRICT)
    return bool((by_strict != answers[rows]).mean() < LEAST_SHARE / 2)


def _check_convention(convention: str, parser: str) -> None:
    """Refuse another convention where it cannot matter: a parser that reads every response leaves none to count."""
    own = own_convention(parser)
    if parser not in READ_ALL or convention == own:
        return
    if CONVENTIONS[convention].yes_of_labels == CONVENTIONS[own].yes_of_labels:
        why = f"the parser {parser!r} reads every response as yes or no, so none is counted by a convention"
        check_effect({"convention": convention}, ["convention"], why)


def _answers(corrected: Any, rows: int) -> list[str | None]:
    found = listed(
        "corrected", as_words(corrected, any_case=True), "a list, 'yes', 'no' or None per row", rows
    )
    for row, answer in enumerate(found):
        if answer is not None:
            word(f"corrected[{row}]", answer, LABELS)
    if not any(found):
        raise ValueError(
            "corrected has no answer to any of the questions; expected 'yes', 'no' or None per row."
        )
    return found


def _groups(values: Sequence[Any] | None, rows: int, order: Sequence[Any] = ()) -> tuple[Ints, list[Any]]:
    """Return the group number of each row, and the groups' names; without values, all rows are one group."""
    if not values:
        return np.zeros(rows, dtype=np.int64), [None]
    found = dict.fromkeys(values)
    names = [name for name in order if name in found] or list(found)
    number = {name: i for i, name in enumerate(names)}
    return np.fromiter(map(number.__getitem__, values), np.int64, rows), names


def _count(cell: Ints, shape: tuple[int, ...]) -> Counts:
    """Count rows by their place in a flattened table of this shape."""
    return np.bincount(cell, minlength=math.prod(shape)).reshape(shape).astype(float)


def _scores(counts: Counts, by: Convention, by_class: bool = False) -> dict[str, Floats]:
    """Score counts [..., classes, 2, 3]: arrays [...] of fractions, NaN where undefined (POPE, section 5.1).

    The averages over classes (THRONE, section 5.4) leave out classes where they are undefined; F is that of averages.
    """
    pooled = counts.sum(axis=-3)
    rows, unread = pooled.sum(axis=(-2, -1)), pooled[..., OTHER].sum(axis=-1)
    scored = rows if by.unread_wrong else rows - unread
    yes = pooled[..., PRESENT, :] if by.yes_of_labels else pooled[..., YES]
    found = {
        "accuracy": ratio(pooled[..., ABSENT, NO] + pooled[..., PRESENT, YES], scored),
        **_with_f(_precision_recall(pooled, by)),
        "yes_ratio": ratio(yes.sum(axis=-1), scored),
        "unparsed": ratio(unread, rows),
    }
    return found | (_with_f(map(defined_mean, _precision_recall(counts, by)), "_cls") if by_class else {})


def _with_f(means: Iterable[Floats], suffix: str = "") -> dict[str, Floats]:
    precision, recall = means
    every = {"precision": precision, "recall": recall}
    every |= {f"f{beta:g}": f_of_means(precision, recall, beta) for beta in (1.0, 0.5)}
    return {f"{name}{suffix}": values for name, values in every.items()}


def _precision_recall(counts: Counts, by: Convention) -> tuple[Floats, Floats]:
    true = counts[..., PRESENT, YES]
    missed = counts[..., PRESENT, NO] + by.unread_missed * counts[..., PRESENT, OTHER]
    return ratio(true, counts[..., YES].sum(axis=-1)), ratio(true, true + missed)


def _refused(counts: Counts, samplings: Sequence[Any], by: Convention) -> dict[Names, str]:
    """Say which means over the classes of counts [samplings, classes, 2, 3] have no interval, by the names that lead to
    the score, since too many of the classes have no value.
    """
    tables: dict[Names, Counts] = {(): counts.sum(axis=0)}
    if samplings != [None]:
        for name, of_sampling in zip(samplings, counts, strict=True):
            tables["samplings", name] = of_sampling
    refused: dict[Names, str] = {}
    for path, table in tables.items():
        asked = table[table.any(axis=(1, 2))]
        refused |= {(*path, name): reason for name, reason in _class_refusals(asked, by).items()}
    return refused


def _class_refusals(counts: Counts, by: Convention) -> dict[str, str]:
    """Say which means over the classes of counts [classes, 2, 3] have no interval: score -> reason."""
    precision, recall = map(np.isnan, _precision_recall(counts, by))
    undefined = {
        "precision_cls": (precision, "a precision"),
        "recall_cls": (recall, "a recall"),
        "f1_cls": (precision | recall, "a precision or a recall"),
        "f0.5_cls": (precision | recall, "a precision or a recall"),
    }
    reasons = {}
    for score, (is_undefined, what) in undefined.items():
        reasons[score] = refusal(int(is_undefined.sum()), len(counts), what)
    return reasons


def _blocks(cell: Ints, image: Ints, shape: tuple[int, ...]) -> Iterator[Mapping[str, Counts]]:
    """Yield counts [some images, samplings, classes, 2, 3], some images at a time, of rows in cells of a flat table."""
    cells = math.prod(shape)
    order = np.argsort(image, kind="stable")
    image = image[order]
    cell = cell[order]
    images = int(image[-1]) + 1
    step = max(1, NUMBERS_AT_ONCE // cells)
    for first in range(0, images, step):
        some = min(step, images - first)
        start, end = np.searchsorted(image, [first, first + some])
        place = (image[start:end] - first) * cells + cell[start:end]
        yield {CELLS: _count(place, (some, *shape))}
