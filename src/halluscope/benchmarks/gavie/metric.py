"""GAVIE: do responses follow instructions, and are they true of the image (Liu et al., ICLR 2024)?

Each response is rated from 0 to 10 in both ways by a language model that sees no image, only what Visual Genome
describes of it, region by region.
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
        predictions: the LVLM's raw texts, one per instruction.
        references: the dataset's rows without images, in the same order. A judge is told their `regions`; where ratings
            are given, those of evaluation_set.json serve as well.
        ratings: {"relevancy": number, "accuracy": number} per row, each from 0 to 10, or None where nobody could rate.
            When given, no judge is asked.
        prompts: the words in which a language model is asked: "ours", or "authors", as the authors' script asks about
            one response, regions with their width in place of their height.
        bootstrap: how many resamples of the images an interval is made of; 0 for none. Instructions about an image
            depend on each other.
        seed: of the bootstrap; and of a language model's replies, unless `judge_seed` says otherwise.
        level: of the interval, in (0, 1).
        per_question: also give, for each instruction, its scores and why (first repeat; `repeats` has all).
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.
        judging: who rates, and how it is asked: judge (there is no default; "none" rates nothing), repeats (the scores
            are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens (1,024: a judge gives
            reasons), device, store, progress; see `halluscope.judging.graders.grading.Grading`.

    Returns:
        `relevancy` and `accuracy`, the mean scores, from 0 to 10, higher is better, each of the responses that have it;
        `unreadable`, the share of responses that lack either: they count in the mean that they lack neither as good nor
        as bad. A mean of nothing is NaN. `rated`, how many responses have both, summed over the repeats; `questions`,
        `images`; `mean_words`, how long the texts are; `thoughts`, how many texts held one that was removed;
        `signature`; `verdicts`, where a language model judged, which tells its verdicts from others; `interval` with a
        bootstrap, `spread` with repeats (each score's least and greatest value), and `per_question` when asked for.

    Raises:
        ValueError: for any bad input, without a judge, or without the regions that one is told, before one is asked.
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
    """Check that a language model can be told what is in each image."""
    without = [row for row, question in enumerate(questions) if not question.regions]
    if without:
        raise ValueError(
            f"references[{without[0]}] has no regions, as {len(without):,} of the {len(questions):,} rows; a language "
            "model is told by them what is in the image. Build the dataset with --regions, or give ratings."
        )


def _numbers(verdict: Verdict) -> tuple[float, float]:
    return verdict.relevancy, verdict.accuracy


def _notes(verdict: Verdict | None) -> dict[str, str]:
    return {"reason": verdict.reason if verdict else ""}


def _has_both(verdicts: Judged) -> Bools:
    """Which responses have both scores: [repeats, responses]."""
    found: Bools = ~np.isnan(np.array([*verdicts.values.values()])).any(axis=0)
    return found


def _about(question: Instruction) -> Iterator[Any]:
    """What tells an instruction from others."""
    yield from (question.id, question.image_id, question.question)
    for one in question.regions or ():
        yield from (one.phrase, one.x, one.y, one.width, one.height)
