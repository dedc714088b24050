"""GAVIE: do responses follow instructions, and are they true of the image (Liu et al., ICLR 2024)?

A language model rates each response from 0 to 10 in both ways. It sees no image, only Visual Genome's descriptions of
the image's regions.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from halluscope import options
from halluscope.benchmarks.gavie import MAX_TOKENS, scoring
from halluscope.benchmarks.gavie.prompts import OURS, WORDINGS, Verdict, Wording
from halluscope.benchmarks.gavie.rows import CRITERIA, Instruction, read_all
from halluscope.inputs import flags, paired, warn_of_a_part, word
from halluscope.judging.graders import judged
from halluscope.judging.graders.grading import Grading
from halluscope.judging.graders.judged import NOBODY, Judged
from halluscope.responses.graded import Graded
from halluscope.responses.thoughts import REMOVED, take_out
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Bools, numbers

QUESTIONS = 1000


def compute(
    predictions: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    ratings: Sequence[Any] | None = None,
    prompts: str = OURS,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_question: bool = False,
    thoughts: str = REMOVED,
    **judging: Any,
) -> dict[str, Any]:
    """Score an LVLM's responses to GAVIE's instructions.

    Args:
        predictions: the LVLM's raw responses, one per instruction.
        references: the dataset's rows without images, in the same order. A judge is shown their `regions`; if ratings
            are given, rows of evaluation_set.json also work.
        ratings: {"relevancy": number, "accuracy": number} per row, each from 0 to 10, or None if nobody could rate the
            response. If given, no judge is asked.
        prompts: the wording of a language model's prompt: "ours", or "authors" for that of the authors' script, for one
            response; it prints a region's width also as its height.
        bootstrap: how many times to resample the images for an interval; 0 for no interval. Instructions about an image
            depend on each other.
        seed: the seed of the bootstrap, and of a language model's replies unless `judge_seed` says otherwise.
        level: the confidence level of the interval, in (0, 1).
        per_question: also return, for each instruction, its scores and the judge's reason (first repeat; `repeats` has
            all).
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.
        judging: which judge rates, and how it is asked: judge (no default; "none" rates nothing), repeats (the scores
            are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens (1,024: a judge gives
            reasons), device, store, progress; see `halluscope.judging.graders.grading.Grading`.

    Returns:
        `relevancy` and `accuracy`, the mean scores, from 0 to 10, each over the responses that have that score; higher
        is better. `unreadable`, the share of responses that lack either score; a response is left out of the mean of a
        score that it lacks. A mean of nothing is NaN. `rated`, how many responses have both scores, summed over the
        repeats; `questions`; `images`; `mean_words`, the mean length of the responses; `thoughts`, how many responses
        held thoughts that were removed; `signature`; `verdicts`, a digest of a language model's verdicts; `interval`
        with a bootstrap; `spread` with repeats, the least and greatest value of each score; and `per_question` if
        requested.

    Raises:
        ValueError: for any bad input, if no judge is named, or if a row has no regions to show to the judge; always
            before a judge is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    flags(per_question=per_question)
    predictions, references = paired(predictions, references)
    predictions, thought = take_out(predictions, thoughts)
    questions = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    grading = options.build(Grading, judging, "gavie", judge="", max_tokens=MAX_TOKENS, judge_seed=seed)
    wording = WORDINGS[word("prompts", prompts, tuple(WORDINGS))]
    warn_of_a_part(len(questions), QUESTIONS)
    verdicts = judged.judge(
        grading,
        CRITERIA,
        len(questions),
        ("ratings", ratings),
        {NOBODY: partial(judged.nobody, CRITERIA, len(questions))},
        partial(_asked, grading, wording, questions, predictions),
    )
    image = numbers([question.image_id for question in questions])
    has_both = _has_both(verdicts)
    graded = Graded(
        of="gavie",
        questions=questions,
        about=map(_about, questions),
        texts=predictions,
        image=image,
        tally=scoring.tally,
        resampling=resampling,
        thoughts=(thoughts, thought),
        unread=("unreadable", ~has_both),
    )
    return graded.result(verdicts, {"rated": int(has_both.sum())}, ("image_id",) if per_question else None)


def _asked(
    grading: Grading, wording: Wording, questions: Sequence[Instruction], texts: Sequence[str]
) -> Judged:
    _check_regions(questions)
    asked = [
        wording.asked(question.regions or (), question.question, text)
        for question, text in zip(questions, texts, strict=True)
    ]
    return judged.from_model(grading, wording.key, CRITERIA, grading.verdicts(asked), _numbers, _notes)


def _check_regions(questions: Sequence[Instruction]) -> None:
    """Check that each row has regions to show to a language model."""
    without = [row for row, question in enumerate(questions) if not question.regions]
    if without:
        raise ValueError(
            f"references[{without[0]}] has no regions (rows without any: {len(without):,} of {len(questions):,}); a "
            "language model needs them to know what the image shows. Build the dataset with --regions, or give ratings."
        )


def _numbers(verdict: Verdict) -> tuple[float, float]:
    return verdict.relevancy, verdict.accuracy


def _notes(verdict: Verdict | None) -> dict[str, str]:
    return {"reason": verdict.reason if verdict else ""}


def _has_both(verdicts: Judged) -> Bools:
    """Return which responses have both scores: [repeats, responses]."""
    found: Bools = ~np.isnan(np.array([*verdicts.values.values()])).any(axis=0)
    return found


def _about(question: Instruction) -> Iterator[Any]:
    """Yield the values that distinguish an instruction from others."""
    yield from (question.id, question.image_id, question.question)
    for one in question.regions or ():
        yield from (one.phrase, one.x, one.y, one.width, one.height)
