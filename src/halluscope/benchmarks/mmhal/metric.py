"""MMHal-Bench: how informative and how free of hallucination free-form answers are (Sun et al., 2023).

Each response is rated from 0 to 6 by a language model that sees no image, only a person's answer and the objects that
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
"""Of how many responses a score is, and what is counted of them."""

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
    """Score an LVLM's answers to MMHal-Bench's questions.

    Args:
        predictions: the LVLM's raw texts, one per question.
        references: the dataset's rows without images, in the same order; those of response_template.json serve as well.
        ratings: a whole number from 0 to 6 per row, or {"rating": one}; None for a response that nobody could rate.
            When given, no judge is asked.
        prompts: the words in which a language model is asked: "ours" (default), or "authors", as the authors' script
            asks (the default with reading="official").
        reading: how its reply is read: "strict", where one that cannot be read is no rating; or "official", as the
            authors' script reads a reply to its words, where that is a 0.
        bootstrap: how many resamples of the images an interval is made of; 0 for none.
        seed: of the bootstrap; and of a language model's replies, unless `judge_seed` says otherwise.
        level: of the interval, in (0, 1).
        per_question: also give, for each question, its rating and why (first repeat; `repeats` has all).
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.
        judging: who rates, and how it is asked: judge (there is no default; "none" rates nothing), repeats (the scores
            are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens (1,024: a judge
            explains before it rates), device, store, progress; see `halluscope.judging.graders.grading.Grading`.

    Returns:
        `rating`, the mean rating, from 0 to 6, higher is better; `hallucination_rate`, the share of ratings below 3, in
        [0, 1], lower is better. The same of each type, such as `rating/counting`. `unreadable`, the share of responses
        without a rating that could be read: read strictly they count in no score, officially they count as 0. A mean or
        share of nothing is NaN. `questions`, `images`; `counts`, for "all" and each type how many responses were
        `rated`, their `points` together, and how many are `hallucinated`, summed over the repeats; `mean_words`, how
        long the texts are; `thoughts`, how many texts held one that was removed; `signature`; `verdicts`, where a
        language model judged, which tells its verdicts from others; `interval` with a bootstrap, `spread` with repeats
        (each score's least and greatest value), and `per_question` when asked for.

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
    """The words in which a judge is asked, with how its reply is read.

    Raises:
        ValueError: for unknown ones, or a reply to our words that the authors' script is to read.
    """
    word("reading", reading, (STRICT, OFFICIAL))
    if words is None:
        words = AUTHORS if reading == OFFICIAL else OURS
    word("prompts", words, (OURS, AUTHORS))
    if words == OURS and reading == OFFICIAL:
        raise ValueError(
            f"reading is {OFFICIAL!r}, as the authors' script reads replies to its own words, but prompts is {OURS!r}; "
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
    """What tells a question from others; where its photograph was published does not."""
    yield from (question.id, question.image_id, question.question, question.answer)
    yield from (question.type, question.topic, *question.contents)


def _numbers(verdict: Verdict) -> tuple[float, float]:
    return verdict.rating, verdict.readable


def _notes(verdict: Verdict | None) -> dict[str, str]:
    return {"analysis": verdict.analysis if verdict else ""}


def _unreadable(verdicts: Judged) -> Bools:
    """Which responses have no rating that could be read: [repeats, questions]."""
    rating = verdicts.values["rating"]
    readable = verdicts.values.get("readable", np.ones_like(rating))
    return np.asarray(np.isnan(rating) | (readable == 0))
