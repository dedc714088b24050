"""POPE: yes/no questions about single objects (Li et al., EMNLP 2023), complete or sampled.

Each response is read as yes, no or neither by a named rule (`halluscope.responses.parsers`), and compared with what is
in the image.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmarks.pope import BENCHMARK, scoring
from halluscope.benchmarks.pope.rows import SAMPLINGS
from halluscope.benchmarks.pope.rows import unique_questions as unique_questions
from halluscope.benchmarks.pope.scoring import Conventions, Counts
from halluscope.inputs import Id, flags, ids, is_number, listed, paired, texts, word, words
from halluscope.judging.votes import YES
from halluscope.responses import parsers as replies
from halluscope.responses.parsers import said_of
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import numbers

USUAL = "usual"

# How unreadable responses are counted. A parser of one of these names has its own way; all others, the usual one.
CONVENTIONS = {
    USUAL: Conventions(),
    "lmms-eval": Conventions(unread_missed=False, yes_of_labels=True),
    "repope": Conventions(unread_missed=False, unread_wrong=False),
}

LABELS = ("yes", "no")

# The scores that are means over the questions, so that each question has a value of its own.
OF_EACH = ("accuracy", "yes_ratio", "unparsed")

# The scores for which the result says how much the corrected right answers change them.
COMPARED = ("accuracy", "precision", "recall", "f1", "f0.5", "yes_ratio", "unparsed")


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
        references: the right answers, "yes" or "no", one per question. On both sides True and 1 are taken for "yes",
            False and 0 for "no", and right answers may have capitals ("Yes").
        parser: "pope" (official), "strict", "lmms-eval", "vlmevalkit", "repope", "first-word", or "vcd", which reads
            by the right answer; see `halluscope.responses.parsers`.
        convention: how unreadable responses are counted, "usual", "lmms-eval" or "repope"; by default as in the
            project whose parser is used.
        objects: the class that each question asks about; adds averages over classes.
        sampling: "random", "popular" or "adversarial" for each question; adds the scores of each sampling.
        image_ids: the image of each question; the interval then resamples images, because the responses about one
            image depend on each other. Without images it resamples questions.
        bootstrap: the number of resamples behind each interval; 0 for no interval.
        seed: the seed of the bootstrap.
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
        responses from which a thought was removed; `signature`; and on request `interval`, `classes` and
        `per_question`.
        With `objects` also `precision_cls recall_cls f1_cls f0.5_cls`, where F is that of the two averages, and
        `undefined_classes`, the number of classes without a precision or a recall.
        With `sampling` also `samplings`, name -> the same scores, and `f1_mean`, the mean of the samplings' F1.
        With `corrected` also `corrected`, the result by the corrected answers (without `per_question`), with a
        signature of its own, and `difference`, for each score in `COMPARED` its value by the corrected answers minus
        its value by `references`.

    Raises:
        ValueError: for any bad input.
    """
    flags(per_class=per_class, per_question=per_question)
    predictions, references = paired(_in_words(predictions), _in_words(references))
    known = {one for one in references if isinstance(one, str)}
    label_of = {one: one.strip().lower() for one in known if one.strip().lower() in LABELS}
    references = [label_of.get(one, one) if isinstance(one, str) else one for one in references]
    rows, references = len(predictions), words("references", references, LABELS)
    sampling = None if sampling is None else words("sampling", sampling, SAMPLINGS, rows)
    objects = None if objects is None else ids("objects", objects, rows)
    image_ids = None if image_ids is None else ids("image_ids", image_ids, rows)
    questions = None if questions is None else texts("questions", questions, rows)
    form = form_of(() if forms is None else texts("forms", forms, rows))
    others = None if corrected is None else _answers(corrected, rows)
    said, (predictions, thought) = predictions, take_out(predictions, thoughts)
    resampling = Bootstrap(bootstrap, seed, level)
    if per_class and objects is None:
        raise ValueError("per_class needs objects: the class that each question asks about.")
    BENCHMARK.check_choices(parser=parser)
    own = own_convention(parser)
    convention = own if convention is None else convention
    BENCHMARK.check_choices(convention=convention)
    conventions = CONVENTIONS[convention]
    sampled, samplings = _groups(sampling, rows, SAMPLINGS)
    asked, classes = _groups(objects, rows)
    shape = (len(samplings), len(classes), 2, 3)
    present = np.fromiter(map("yes".__eq__, references), bool, rows)
    answers = (
        replies.by_label(predictions, present) if parser == replies.VCD else replies.read(predictions, parser)
    )
    place = scoring.places(present, answers, sampled * len(classes) + asked)
    counts = scoring.count(place, shape)
    warn_if_shuffled((answers == YES)[:, None], present[:, None])
    score = partial(_score, conventions=conventions, by_class=objects is not None, samplings=samplings)
    result: dict[str, Any] = _each(score(counts[None]), lambda values: float(values[0]))
    tables = [result, *result.get("samplings", {}).values()]
    for table, of in zip(tables, [counts.sum(axis=0), *counts], strict=False):
        table |= _sizes(of, conventions, by_class=objects is not None)
    about = (image_ids, objects, sampling, questions, references)
    result |= {
        "thoughts": thought,
        "signature": signature(
            "pope",
            data=data_of("pope", zip(*(values or [""] * rows for values in about), strict=True)),
            parser=parser,
            **({} if convention == own else {"convention": convention}),
            objects="no" if objects is None else len(classes),
            sampling="no" if sampling is None else samplings,
            **form,
            **choice(thoughts),
            interval=resampling.over("rows" if image_ids is None else "images"),
        ),
    }
    if bootstrap:
        if image_ids is None:
            drawn = scoring.resample_rows(counts, resampling)
        else:
            drawn = scoring.resample_images(place, numbers(image_ids), shape, resampling)
        result["interval"] = resampling.intervals(map(score, drawn))
    if per_class:
        result["classes"] = _of_each_class(counts.sum(axis=0), classes, conventions)
    if per_question:
        result["per_question"] = _of_each_question(present, answers, conventions)
    if others is not None:
        columns: dict[str, Sequence[Any] | None] = {
            "predictions": said,
            "references": others,
            "objects": objects,
            "sampling": sampling,
            "image_ids": image_ids,
            "questions": questions,
            "forms": forms,
        }
        result["corrected"] = compute(
            **_answered(columns, others),
            parser=parser,
            convention=convention,
            bootstrap=bootstrap,
            seed=seed,
            level=level,
            per_class=per_class,
            thoughts=thoughts,
        )
        result["difference"] = {name: result["corrected"][name] - result[name] for name in COMPARED}
    return result


def own_convention(parser: str) -> str:
    """Return the convention of the project whose parser it is."""
    return parser if parser in CONVENTIONS else USUAL


def _in_words(values: Any) -> Any:
    """Return yes and no in words where a list has truth values, as other metrics of `evaluate` take them."""
    is_list = isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim == 1)
    if not is_list or {*map(type, values)} == {str}:
        return values
    return [LABELS[not value] if _is_truth(value) else value for value in values]


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (is_number(value) and value in (0, 1))


def _answers(corrected: Any, rows: int) -> list[str | None]:
    """Check the corrected answers, and return them."""
    found = listed("corrected", corrected, "a list, 'yes', 'no' or None per row", rows)
    for row, answer in enumerate(found):
        if answer is not None:
            word(f"corrected[{row}]", answer, LABELS)
    if all(answer is None for answer in found):
        raise ValueError(
            "corrected has no answer to any of the questions; expected 'yes', 'no' or None per row."
        )
    return found


def _answered(columns: Mapping[str, Sequence[Any] | None], answers: Sequence[str | None]) -> dict[str, Any]:
    """Return the columns that are given, without the rows that have no answer."""
    kept = [answer is not None for answer in answers]
    return {name: list(compress(values, kept)) for name, values in columns.items() if values is not None}


def _sizes(counts: Counts, conventions: Conventions, by_class: bool) -> dict[str, int]:
    """Return how many rows a table's scores are computed from, and, by class, how many classes are undefined."""
    sizes = {"rows": int(counts.sum())}
    return sizes | ({"undefined_classes": scoring.undefined_classes(counts, conventions)} if by_class else {})


def _groups(
    values: Sequence[Id] | None, rows: int, order: Sequence[Id] = ()
) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the group number of each row and the groups' names; without values, all rows are one group."""
    if values is None:
        return np.zeros(rows, dtype=np.int64), [None]
    found = dict.fromkeys(values)
    names = [name for name in order if name in found] or list(found)
    number = {name: i for i, name in enumerate(names)}
    return np.fromiter(map(number.__getitem__, values), np.int64, rows), names


def _score(counts: Counts, conventions: Conventions, by_class: bool, samplings: list[Any]) -> dict[str, Any]:
    """Compute all scores of counts [resamples, samplings, classes, 2, 3], nested as in the result."""

    def scores(counts: Counts) -> dict[str, Any]:
        pooled = scoring.scores(counts.sum(axis=1), conventions)
        return pooled | (scoring.class_means(counts, conventions) if by_class else {})

    result = scores(counts.sum(axis=1))
    if samplings != [None]:
        result["samplings"] = {name: scores(counts[:, i]) for i, name in enumerate(samplings)}
        result["f1_mean"] = np.mean([table["f1"] for table in result["samplings"].values()], axis=0)
    return result


def _each(scores: dict[str, Any], change: Callable[[Floats], Any]) -> dict[str, Any]:
    """Change each array of nested scores."""
    return {
        name: _each(value, change) if isinstance(value, dict) else change(value)
        for name, value in scores.items()
    }


def _of_each_question(
    present: NDArray[np.bool_], answers: NDArray[np.int8], conventions: Conventions
) -> list[dict[str, Any]]:
    """Return how each response was read, and its own value of each score that is a mean; None where it is left out."""
    counts = scoring.count(scoring.places(present, answers, np.arange(len(answers))), (len(answers), 2, 3))
    scores = scoring.scores(counts, conventions)
    columns = {
        "answer": [LABELS[1 - label] for label in present.tolist()],
        "said": map(said_of, answers.tolist()),
        **{
            name: [None if value != value else bool(value) for value in scores[name].tolist()]
            for name in OF_EACH
        },
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _of_each_class(counts: Counts, classes: list[str], conventions: Conventions) -> dict[str, dict[str, Any]]:
    scores = scoring.scores(counts, conventions)
    columns = {
        "rows": counts.sum(axis=(-2, -1)).astype(int),
        **{name: scores[name] for name in ("accuracy", "precision", "recall", "f1", "f0.5", "yes_ratio")},
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {name: dict(zip(columns, row, strict=True)) for name, row in zip(classes, rows, strict=True)}
