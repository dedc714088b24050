"""HQH: wrong main answers and extra claims in free-form responses (Yan et al., Measuring the Measurers).

Each response is judged in two steps (section IV.B): is its main answer right, and how many extra claims contradict the
image? Equation 5 turns the judgements into rates, over all questions, by type and by level.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from halluscope import options
from halluscope.benchmarks.hqh import contains, prompts, scoring
from halluscope.benchmarks.hqh.prompts import Verdict
from halluscope.benchmarks.hqh.rows import CRITERIA, LEVELS, FreeQuestion, read_all
from halluscope.inputs import flags, paired, warn_of_a_part
from halluscope.judging.graders import judged
from halluscope.judging.graders.grading import Grading
from halluscope.judging.graders.judged import Judged
from halluscope.responses.graded import Graded
from halluscope.responses.thoughts import REMOVED, take_out
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Bools, numbers

REFERENCE_ONLY = "reference-only"
"""The judge that asks no model, and only checks whether a response contains the right answer."""

TYPES = {name: name for name in LEVELS} | {"attribute": "color"}
"""Type -> its name in a result. The type "attribute" asks for colours and is called "color": "attribute" is a level."""

COUNTS = {
    "main_hal": ("judged", "wrong"),
    "extra_hal": ("searched", "extra_claims"),
    "overall_hal": ("judged_in_full", "hallucinated"),
}
"""Score -> the names of its denominator and its numerator in `counts`."""

QUESTIONS = 4000
MAX_TOKENS = 512
"""How long a reply may be: a judge quotes the claims that it counts."""


def compute(
    predictions: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    judgements: Sequence[Mapping[str, Any] | None] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_question: bool = False,
    thoughts: str = REMOVED,
    **judging: Any,
) -> dict[str, Any]:
    """Score an LVLM's responses to HQH's questions.

    Args:
        predictions: the LVLM's raw responses, one per question.
        references: the dataset's rows without images, in the same order; upstream's own rows also work. A judge is
            shown their `caption` and `details` if they have them, and never sees an image (section IV.B).
        judgements: {"correct": bool, "extra_claims": int}, one per row, or None for a response that nobody could judge.
            extra_claims may also be None, if nobody looked for extra claims. If judgements are given, no judge is
            asked.
        bootstrap: how many times to resample the images for an interval; 0 for no interval. Questions about an image
            depend on each other.
        seed: the seed of the bootstrap, and of a language model's replies unless `judge_seed` says otherwise.
        level: the confidence level of the interval, in (0, 1).
        per_question: also return, for each question, the judgement and its part in each score (first repeat; `repeats`
            has all).
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.
        judging: which judge gives verdicts, and how it is asked: judge ("reference-only", the default, asks no model:
            it checks whether a response contains the right answer, and cannot see extra claims), repeats (the scores
            are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens (512: a judge quotes
            the claims that it counts), device, store, progress; see `halluscope.judging.graders.grading.Grading`.

    Returns:
        Equation 5: `main_hal`, the share of wrong main answers, in [0, 1]; `extra_hal`, the mean number of extra claims
        per response that contradict the image, 0 or more; `overall_hal`, the share of responses with either fault, in
        [0, 1], among the responses for which both are known (if these are not all judged responses, it may be below
        `main_hal`). Lower is better. The same for each type and level, such as `main_hal/count` and `main_hal/object`;
        `main_hal/attribute` is the level (colours and actions), and the type "attribute" is `main_hal/color`. With
        "reference-only", `extra_hal` and `overall_hal` are NaN.
        A claim counts once, and only if the judge quotes it from the response; a warning counts the other quotes.
        `halluscope.benchmarks.hqh.prompts` describes the limits of a judge.
        `unjudged`, the share of responses without a judgement, which count in no score, neither as right nor as wrong;
        a share of nothing is NaN. `questions`; `images`; `counts`, the counts behind the scores, for "all", each type
        and each level, summed over the repeats: how many main answers were `judged`, and how many of these are `wrong`;
        how many responses were `searched` for extra claims, and how many `extra_claims` they hold; and how many were
        `judged_in_full`, and how many of these `hallucinated` in either way (None if nobody looked); `mean_words`, the
        mean length of the responses; `thoughts`, how many responses held thoughts that were removed; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap; `spread` with repeats, the
        least and greatest value of each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    flags(per_question=per_question)
    predictions, references = paired(predictions, references)
    predictions, thought = take_out(predictions, thoughts)
    questions = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    grading = options.build(
        Grading, judging, "hqh", judge=REFERENCE_ONLY, max_tokens=MAX_TOKENS, judge_seed=seed
    )
    warn_of_a_part(len(questions), QUESTIONS)
    verdicts = judged.judge(
        grading,
        CRITERIA,
        len(questions),
        ("judgements", judgements),
        {REFERENCE_ONLY: partial(_contained, questions, predictions)},
        partial(_asked, grading, questions, predictions),
    )
    image = numbers([question.image_id for question in questions])
    groups = _groups(questions)
    graded = Graded(
        of="hqh",
        questions=questions,
        about=_about(questions),
        texts=predictions,
        image=image,
        tally=lambda one, by: scoring.tally(one["correct"], one["extra_claims"], by, groups),
        resampling=resampling,
        thoughts=(thoughts, thought),
        unread=("unjudged", np.isnan(verdicts.values["correct"])),
        counts=COUNTS,
        groups=groups,
    )
    return graded.result(
        verdicts,
        {},
        ("type",) if per_question else None,
        image_data=_image_data(questions) if verdicts.by_model else "no",
    )


# The judges.


def _contained(questions: Sequence[FreeQuestion], texts: Sequence[str]) -> Judged:
    found = [
        contains.contains(text, question.answer, question.question)
        for question, text in zip(questions, texts, strict=True)
    ]
    correct = np.array([[np.nan if right is None else float(right) for right in found]])
    values = dict(zip((one.name for one in CRITERIA), (correct, np.full_like(correct, np.nan)), strict=True))
    return Judged(CRITERIA, values, [REFERENCE_ONLY, contains.KEY])


def _asked(grading: Grading, questions: Sequence[FreeQuestion], texts: Sequence[str]) -> Judged:
    fields = [
        {
            "question": question.question,
            "reference": question.answer,
            "caption": question.caption or "",
            "details": question.details or "",
            "answer": text,
        }
        for question, text in zip(questions, texts, strict=True)
    ]
    verdicts = grading.verdicts([prompts.asked(one) for one in fields])
    _warn_of_dropped([one for row in verdicts for one in row if one])
    return judged.from_model(
        grading,
        prompts.KEY,
        CRITERIA,
        verdicts,
        lambda one: (one.correct, len(one.evidence)),
        lambda one: {"evidence": list(one.evidence) if one else []},
    )


def _warn_of_dropped(verdicts: Sequence[Verdict]) -> None:
    """Warn of claims that the judge counts but that are not in the response, or are counted twice."""
    dropped = sum(one.dropped for one in verdicts)
    if dropped:
        every = dropped + sum(len(one.evidence) for one in verdicts)
        warnings.warn(
            f"{dropped:,} of the {every:,} extra claims that the judge quotes are not in the response, or are quoted "
            "twice; they do not count.",
            stacklevel=4,
        )


# The result.


def _groups(questions: Sequence[FreeQuestion]) -> dict[str, Bools]:
    """Return which questions belong to each type and level that occurs."""
    types = np.array([TYPES[question.type] for question in questions])
    levels = np.array([question.level for question in questions])
    return {
        **{name: types == name for name in TYPES.values() if name in types},
        **{name: levels == name for name in dict.fromkeys(LEVELS.values()) if name in levels},
    }


def _about(questions: Sequence[FreeQuestion]) -> Iterator[Iterable[Any]]:
    """Yield the values that distinguish these questions from others, such as a parallel form."""
    return (one.row.values() for one in questions)


def _image_data(questions: Sequence[FreeQuestion]) -> str:
    """Say for which rows a judge is shown upstream's image data: "all", "part" or "none"."""
    told = [question.caption is not None or question.details is not None for question in questions]
    return "all" if all(told) else "part" if any(told) else "none"
