"""Asks a judge in both orders of the answers, and says what the order moves."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from halluscope.benchmarks.llava_bench.reading import MODEL, REFERENCE
from halluscope.judging.prompts import Collected
from halluscope.judging.verdict_prompts import JsonPrompt, Verdict, VerdictPrompt, WordPrompt
from halluscope.stats.beta import student_quantile
from halluscope.stats.ratios import Floats, ratio

# How many points each answer gains from coming first, where a judge is asked in both orders
REFERENCE_GAIN = "reference_gain"
MODEL_GAIN = "model_gain"


def turned_prompt(prompt: VerdictPrompt) -> VerdictPrompt:
    """Return a prompt with the response as the first answer, and GPT-4's as the second."""
    if isinstance(prompt, JsonPrompt):
        read = prompt.verdict
        return replace(
            prompt,
            template=with_answers_turned(prompt.template),
            verdict=lambda parts: with_ratings_turned(read(parts)),
        )
    assert isinstance(prompt, WordPrompt)
    read_reply = prompt.reader

    def reader(reply: str, response: str) -> Verdict | None:
        verdict = read_reply(reply, response)
        return verdict and with_ratings_turned(verdict)

    return replace(prompt, template=with_answers_turned(prompt.template), reader=reader)


def with_answers_turned(template: str) -> str:
    """Exchange the places of both answers.

    >>> with_answers_turned("1: {reference} 2: {answer}")
    '1: {answer} 2: {reference}'
    """
    parts = [part.replace("{answer}", "{reference}") for part in template.split("{reference}")]
    return "{answer}".join(parts)


def with_ratings_turned(verdict: Verdict) -> Verdict:
    """Return a verdict whose first rating was that of the response."""
    numbers = {REFERENCE: verdict.numbers[MODEL], MODEL: verdict.numbers[REFERENCE]}
    return Verdict(numbers, verdict.notes)


def of_each_row(collected: Collected[Verdict], rows: int) -> Collected[Verdict]:
    """Put together what came of the prompts about each row, first all in the usual order, then all in the other."""
    verdicts = []
    unread = []
    for replies in collected.verdicts:
        in_both = zip(replies[:rows], replies[rows:], strict=True)
        verdicts.append([of_both_orders(usual, turned) for usual, turned in in_both])
    for texts in collected.unread:
        in_both_texts = zip(texts[:rows], texts[rows:], strict=True)
        unread.append([usual or turned for usual, turned in in_both_texts])
    return Collected(verdicts, unread)


def of_both_orders(usual: Verdict | None, turned: Verdict | None) -> Verdict | None:
    """Return the means of both orders' ratings, and what each answer gains from coming first; None without both."""
    if usual is None or turned is None:
        return None
    numbers = {}
    for name in (REFERENCE, MODEL):
        numbers[name] = (usual.numbers[name] + turned.numbers[name]) / 2
    numbers[REFERENCE_GAIN] = usual.numbers[REFERENCE] - turned.numbers[REFERENCE]
    numbers[MODEL_GAIN] = turned.numbers[MODEL] - usual.numbers[MODEL]
    return Verdict(numbers, usual.notes)


def gain_of(values: Mapping[str, Floats], level: float | None) -> dict[str, float]:
    """Return how many points an answer gains from coming first, by ratings in both orders [repeats, rows].

    Returns:
        `gain`, and with a level its interval, `low` and `high`, if not all questions have the same gain.
    """
    gains = (values[REFERENCE_GAIN] + values[MODEL_GAIN]) / 2
    is_rated = ~np.isnan(gains)
    rows = is_rated.any(axis=0)
    of_rows = ratio(np.where(is_rated, gains, 0)[:, rows].sum(axis=0), is_rated[:, rows].sum(axis=0))
    count = len(of_rows)
    gain = float(ratio(of_rows.sum(), count))
    if level is None or count < 2 or np.ptp(of_rows) == 0:
        return {"gain": gain}
    reach = student_quantile(level, count - 1) * float(of_rows.std(ddof=1)) / math.sqrt(count)
    return {"gain": gain, "low": gain - reach, "high": gain + reach}


def scores_by_order(values: Mapping[str, Floats]) -> dict[str, float]:
    """Return the score with GPT-4's answer first, `usual`, and with the response first, `turned`.

    Each is the mean of the repeats' scores, as the score itself is.
    """
    half_of_model = values[MODEL_GAIN] / 2
    half_of_reference = values[REFERENCE_GAIN] / 2
    return {
        "usual": score_of(values[MODEL] - half_of_model, values[REFERENCE] + half_of_reference),
        "turned": score_of(values[MODEL] + half_of_model, values[REFERENCE] - half_of_reference),
    }


def score_of(model: Floats, reference: Floats) -> float:
    """Return the score of ratings [repeats, rows]."""
    by_repeat = 100 * ratio(np.nansum(model, axis=1), np.nansum(reference, axis=1))
    return float(by_repeat.mean())
