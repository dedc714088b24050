"""MMHal-Bench: are free-form responses informative and free of hallucination? (Sun et al., 2023).

A language model rates each response from 0 to 6. It sees no image, only a person's answer and the objects that
OpenImages' labels name.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from halluscope import options
from halluscope.benchmarks.mmhal import MAX_TOKENS, scoring
from halluscope.benchmarks.mmhal import prompts as wordings
from halluscope.benchmarks.mmhal.prompts import AUTHORS, OFFICIAL, OURS, STRICT, Verdict, Wording
from halluscope.benchmarks.mmhal.rows import RATING, TYPES, RatedQuestion, read_all
from halluscope.inputs import flags, paired, warn_of_a_part, word
from halluscope.judging.graders import judged
from halluscope.judging.graders.grading import Grading
from halluscope.judging.graders.judged import NOBODY, Criterion, Judged
from halluscope.responses.graded import Graded
from halluscope.responses.thoughts import REMOVED, take_out
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Bools, numbers

QUESTIONS = 96

COUNTS = {"rating": ("rated", "points"), "hallucination_rate": ("rated", "hallucinated")}
"""Score -> the names of its denominator and its numerator in `counts`."""

READABLE = Criterion("readable", bool)
"""Whether a language model's reply could be read."""


def compute(
    predictions: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    ratings: Sequence[Any] | None = None,
    prompts: str | None = None,
    reading: str = STRICT,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_question: bool = False,
    thoughts: str = REMOVED,
    **judging: Any,
) -> dict[str, Any]:
    """Score an LVLM's responses to MMHal-Bench's questions.

    Args:
        predictions: the LVLM's raw responses, one per question.
        references: the dataset's rows without images, in the same order; rows of response_template.json also work.
        ratings: a whole number from 0 to 6 per row, bare or as {"rating": number}; None for a response that nobody
            could rate. If given, no judge is asked.
        prompts: the wording of a language model's prompt: "ours" (default), or "authors" for that of the authors'
            script (the default with reading="official").
        reading: how a reply is read: "strict", where an unreadable reply gives no rating; or "official", as the
            authors' script reads a reply to its own prompt, where an unreadable reply counts as 0.
        bootstrap: how many times to resample the images for an interval; 0 for no interval.
        seed: the seed of the bootstrap, and of a language model's replies unless `judge_seed` says otherwise.
        level: the confidence level of the interval, in (0, 1).
        per_question: also return, for each question, its rating and the judge's analysis (first repeat; `repeats` has
            all).
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.
        judging: which judge rates, and how it is asked: judge (no default; "none" rates nothing), repeats (the scores
            are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens (1,024: a judge
            explains before it rates), device, store, progress; see `halluscope.judging.graders.grading.Grading`.

    Returns:
        `rating`, the mean rating, from 0 to 6, higher is better; `hallucination_rate`, the share of ratings below 3, in
        [0, 1], lower is better. The same for each type, such as `rating/counting`. `unreadable`, the share of responses
        without a readable rating: with "strict" they count in no score, with "official" they count as 0. A mean or
        share of nothing is NaN. `questions`; `images`; `counts`, for "all" and each type, summed over the repeats: how
        many responses were `rated`, the sum of their `points`, and how many `hallucinated`; `mean_words`, the mean
        length of the responses; `thoughts`, how many responses held thoughts that were removed; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap; `spread` with repeats, the
        least and greatest value of each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, or without a judge, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    flags(per_question=per_question)
    predictions, references = paired(predictions, references)
    predictions, thought = take_out(predictions, thoughts)
    questions = read_all(references)
    resampling = Bootstrap(bootstrap, seed, level)
    grading = options.build(Grading, judging, "mmhal", judge="", max_tokens=MAX_TOKENS, judge_seed=seed)
    wording = _wording(prompts, reading)
    warn_of_a_part(len(questions), QUESTIONS)
    verdicts = judged.judge(
        grading,
        [RATING],
        len(questions),
        ("ratings", ratings),
        {NOBODY: partial(judged.nobody, [RATING], len(questions))},
        partial(_asked, grading, wording, questions, predictions),
    )
    image = numbers([question.image_id for question in questions])
    types = np.array([question.type for question in questions])
    groups = {name: types == name for name in TYPES if name in types}
    graded = Graded(
        of="mmhal",
        questions=questions,
        about=map(_about, questions),
        texts=predictions,
        image=image,
        tally=lambda one, by: scoring.tally(one["rating"], by, groups),
        resampling=resampling,
        thoughts=(thoughts, thought),
        unread=("unreadable", _unreadable(verdicts)),
        counts=COUNTS,
        groups=groups,
    )
    return graded.result(verdicts, {}, ("type",) if per_question else None)


def _wording(words: str | None, reading: str) -> Wording:
    """Return the wording of a judge's prompt, with the reader of its reply.

    Raises:
        ValueError: for an unknown name, or for our prompt with the authors' reading.
    """
    word("reading", reading, (STRICT, OFFICIAL))
    if words is None:
        words = AUTHORS if reading == OFFICIAL else OURS
    word("prompts", words, (OURS, AUTHORS))
    if words == OURS and reading == OFFICIAL:
        raise ValueError(
            f"reading is {OFFICIAL!r}, which reads only replies to the authors' own prompt, but prompts is {OURS!r}; "
            f"expected prompts={AUTHORS!r}, or reading={STRICT!r}."
        )
    return wordings.wording(words, reading)


def _asked(
    grading: Grading, wording: Wording, questions: Sequence[RatedQuestion], texts: Sequence[str]
) -> Judged:
    asked = [
        wording.asked(
            {
                "question": question.question,
                "reference": question.answer,
                "contents": ", ".join(question.contents),
                "answer": text,
            }
        )
        for question, text in zip(questions, texts, strict=True)
    ]
    return judged.from_model(
        grading, wording.key, [RATING, READABLE], grading.verdicts(asked), _numbers, _notes
    )


def _about(question: RatedQuestion) -> Iterator[Any]:
    """Yield the values that distinguish a question from others; not the photograph's address."""
    yield from (question.id, question.image_id, question.question, question.answer)
    yield from (question.type, question.topic, *question.contents)


def _numbers(verdict: Verdict) -> tuple[float, float]:
    return verdict.rating, verdict.readable


def _notes(verdict: Verdict | None) -> dict[str, str]:
    return {"analysis": verdict.analysis if verdict else ""}


def _unreadable(verdicts: Judged) -> Bools:
    """Return which responses have no readable rating: [repeats, questions]."""
    rating = verdicts.values["rating"]
    readable = verdicts.values.get("readable", np.ones_like(rating))
    return np.asarray(np.isnan(rating) | (readable == 0))
