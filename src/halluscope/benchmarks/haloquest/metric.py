"""HaloQuest: does a response agree with the answers that people wrote? (Wang et al., ECCV 2024).

Right answers are free sentences ("There is no dog in the image"), so no rule can compare them: a language model judges
each response, or people have judged it. Verdicts become accuracies over all questions, by type of image, and by the
type of hallucination that a question provokes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from halluscope import options
from halluscope.benchmarks.haloquest import prompts as wordings
from halluscope.benchmarks.haloquest import scoring
from halluscope.benchmarks.haloquest.rows import (
    BETWEEN,
    CRITERIA,
    IMAGE_TYPES,
    PARTS,
    HaloQuestion,
    read_all,
)
from halluscope.benchmarks.haloquest.scoring import ACCURACY
from halluscope.inputs import flags, paired, warn_of_a_part, word
from halluscope.judging.graders import judged
from halluscope.judging.graders.grading import Grading
from halluscope.judging.graders.judged import NOBODY, Judged
from halluscope.responses.graded import Graded
from halluscope.responses.thoughts import REMOVED, take_out
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Bools, numbers

QUESTIONS = 608

COUNTS = {ACCURACY: ("judged", "correct")}
"""Score -> the names of its denominator and its numerator in `counts`."""


def compute(
    predictions: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    judgements: Sequence[Mapping[str, Any] | bool | None] | None = None,
    prompts: str = wordings.OURS,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_question: bool = False,
    thoughts: str = REMOVED,
    **judging: Any,
) -> dict[str, Any]:
    """Score an LVLM's responses to HaloQuest's questions.

    Args:
        predictions: the LVLM's raw responses, one per question.
        references: the dataset's rows without images, in the same order; the rows of haloquest-eval.csv also work.
        judgements: {"correct": bool}, or the bare bool, one per row; None for a response that nobody could judge. If
            given, no judge is asked.
        prompts: the wording of a language model's prompt: "ours", or "authors" for the instructions in the authors'
            notebook (`halluscope.benchmarks.haloquest.prompts` says which parts are theirs).
        bootstrap: how many times to resample the images for an interval; 0 for no interval. Questions about an image
            depend on each other.
        seed: the seed of the bootstrap, and of a language model's replies unless `judge_seed` says otherwise.
        level: the confidence level of the interval, in (0, 1).
        per_question: also return, for each question, the verdict (first repeat; `repeats` has all), the response's main
            point in the judge's words (`point`), and its part in each score.
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.
        judging: which judge gives verdicts, and how it is asked: judge (no default; "none" gives no verdict), repeats
            (the scores are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens, device,
            store, progress; see `halluscope.judging.graders.grading.Grading`.

    Returns:
        `accuracy`, the share of judged responses that agree with a right answer, in [0, 1]; the same for each type of
        image (`accuracy/generated`, `accuracy/real`), each type of question (`accuracy/false_premises`,
        `accuracy/visual_challenge`, `accuracy/insufficient_context`), and each pair of the two types (such as
        `accuracy/real/false_premises`); higher is better. A share of nothing is NaN. `unreadable`, the share of
        responses without a readable verdict, which count in no score, neither as right nor as wrong; `questions`;
        `images`; `counts`, for "all" and each group, summed over the repeats: how many responses were `judged`, and how
        many of these are `correct` (None if none was judged); `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `signature`; `verdicts`, a digest of a language
        model's verdicts; `interval` with a bootstrap; `spread` with repeats, the least and greatest value of each
        score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, before a model is asked; and if no judge is named.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    flags(per_question=per_question)
    word("prompts", prompts, [*wordings.WORDINGS])
    predictions, references = paired(predictions, references)
    predictions, thought = take_out(predictions, thoughts)
    questions = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    grading = options.build(Grading, judging, "haloquest", judge="", judge_seed=seed)
    warn_of_a_part(len(questions), QUESTIONS)
    verdicts = judged.judge(
        grading,
        CRITERIA,
        len(questions),
        ("judgements", judgements),
        {NOBODY: partial(judged.nobody, CRITERIA, len(questions))},
        partial(_asked, grading, prompts, questions, predictions),
    )
    image = numbers([question.file_name for question in questions])
    groups = _groups(questions)
    graded = Graded(
        of="haloquest",
        questions=questions,
        about=_about(questions),
        texts=predictions,
        image=image,
        tally=lambda one, by: scoring.tally(one["correct"], by, groups),
        resampling=resampling,
        thoughts=(thoughts, thought),
        unread=("unreadable", np.isnan(verdicts.values["correct"])),
        counts=COUNTS,
        groups=groups,
    )
    return graded.result(verdicts, {}, ("image_type", "type") if per_question else None)


def _asked(grading: Grading, prompts: str, questions: Sequence[HaloQuestion], texts: Sequence[str]) -> Judged:
    fields = [
        {"question": question.question, "answers": f"{BETWEEN} ".join(question.answers), "response": text}
        for question, text in zip(questions, texts, strict=True)
    ]
    return judged.from_model(
        grading,
        wordings.WORDINGS[prompts].key,
        CRITERIA,
        grading.verdicts([wordings.asked(one, prompts) for one in fields]),
        lambda one: (one.correct,),
        lambda one: {"point": one.point if one else None},
    )


def _groups(questions: Sequence[HaloQuestion]) -> dict[str, Bools]:
    """Return which questions belong to each type of image, each type of question, and each pair of the two."""
    of = {name: np.array([name in question.parts for question in questions]) for name in PARTS}
    both = product(IMAGE_TYPES, PARTS[len(IMAGE_TYPES) :])
    return {**of, **{f"{one}/{other}": of[one] & of[other] for one, other in both}}


def _about(questions: Sequence[HaloQuestion]) -> Iterator[Iterable[Any]]:
    """Yield the values that distinguish these questions from others, such as a parallel form; not the addresses."""
    return (
        [one.id, one.file_name, one.image_type, one.type, one.question, *one.answers] for one in questions
    )
