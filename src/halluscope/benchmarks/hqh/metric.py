"""HQH: wrong main answers and extra claims in free-form responses (Yan et al., Measuring the Measurers)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import Dataset, Judges, Score
from halluscope.benchmarks.hqh import authors, contains
from halluscope.benchmarks.hqh.data import QUESTIONS, Question, groups_of
from halluscope.benchmarks.hqh.reading import (
    CLAIMS,
    PROMPT,
    QUOTED,
    prompt_of,
    warn_of_dropped,
)
from halluscope.judged import AUTHORS, OURS, Adds, Judged, JudgedOptions, Readings, mean_of, share_below
from halluscope.judging.options import given_verdicts_option, judge_option, max_tokens_option
from halluscope.judging.verdict_prompts import Verdict, VerdictPrompt
from halluscope.judging.verdicts import Criterion, Verdicts
from halluscope.options import check_effect, option, takes
from halluscope.stats.intervals import AMOUNT
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools
from halluscope.validation import paired

# The judge that asks no model, and only checks whether a response contains the right answer
REFERENCE_ONLY = "reference-only"

MOST_CLAIMS = 1_000_000  # more extra claims in a response are a mistake

# The values of the option `reading`: how a reply to the authors' prompt is read
STRICT = "strict"
OFFICIAL = "official"


@dataclass(frozen=True)
class HQHOptions(JudgedOptions):
    """The options of HQH's metric."""

    judge: Any = judge_option(
        REFERENCE_ONLY,
        "reference-only (default: checks for the right answer, but cannot see extra claims)",
    )
    max_tokens: int = max_tokens_option(512)  # a judge quotes the claims that it counts
    claims: str | None = option(
        None,
        "which claims of the judge count: quoted, those that stand in the response word for word (default), or all",
        choices=CLAIMS,
    )
    prompts: str | None = option(
        None,
        "whose wording of the prompt to use: ours (default), or authors (with --template)",
        about='whose wording of the prompt to use: "ours" (default), or "authors", which needs `template`',
        choices=(OURS, AUTHORS),
    )
    template: str | Path | None = option(
        None,
        "the authors' utils.py, which holds their words for --prompts authors",
        about='the authors\' utils.py, which holds their words: prompts="authors" asks in them, and they are checked',
        kinds=str | Path | None,
        what="the path of the authors' utils.py, or None",
        metavar="FILE",
    )
    reading: str | None = option(
        None,
        "how a reply to the authors' prompt is read: strict (default), or official, as the authors' script does",
        choices=(STRICT, OFFICIAL),
    )
    ratings: Sequence[Any] | None = given_verdicts_option(
        "id, correct and extra_claims",
        "judges",
        '{"correct": bool, "extra_claims": int}, one per row, or None for a response that nobody could judge. '
        "extra_claims may also be None, if nobody looked for extra claims. If given, no judge is asked",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        values = vars(self)
        if self.prompts == AUTHORS:
            check_effect(
                values, ["claims"], "a reply to the authors' prompt states a number, and all of it counts"
            )
        else:
            check_effect(
                values, ["reading"], "only replies to the authors' prompt (prompts='authors') are read so"
            )
        if self.prompts != AUTHORS or self.ratings is not None:
            why = "no judge is asked in the authors' words, which takes prompts='authors' and no ratings"
            check_effect(values, ["template"], why)

    @property
    def given(self) -> Sequence[Any] | None:
        return self.ratings


class HQH(Judged):
    name = "hqh"
    title = "HQH"
    description = """\
HQH asks free-form questions about images. Each response is judged in two steps: is its main answer right, and how many
extra claims contradict the image? Both become rates, over all questions, by type (existence, count, color, action,
relation, comparison, environment, OCR) and by level (object, attribute, scene).
"""
    citation = """\
@article{yan2024measuring,
  title={Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks for Large Vision-Language Models},
  author={Yan, Bei and Zhang, Jie and Yuan, Zheng and Shan, Shiguang and Chen, Xilin},
  year={2024}
}
"""
    links = ("https://github.com/HQHBench/HQHBench",)

    principal = "overall_hal"
    scores = {
        "main_hal": Score("lower", is_mean=True),
        "main_hal/object": Score("lower"),
        "main_hal/attribute": Score("lower"),
        "main_hal/scene": Score("lower"),
        "extra_hal": Score("lower", is_mean=True, is_points=True),
        "overall_hal": Score("lower", is_mean=True),
        "unjudged": Score("lower", is_mean=True),
    }
    ranges = {**Judged.ranges, "extra_hal": AMOUNT}
    datasets = (
        Dataset(
            "hqh",
            id=("id",),
            columns=("image_id", "question", "answer", "type", "level"),
            own=("answer", "level"),
            upstream=("instruction", "ground_truth"),
        ),
    )
    judges = Judges(
        "verdicts",
        default=REFERENCE_ONLY,
        rules=(REFERENCE_ONLY,),
        published="GPT-4o, in a version that the paper does not name",
    )
    options_type = HQHOptions
    table = QUESTIONS
    rows_published = 4000
    criteria = (Criterion("correct", bool), Criterion("extra_claims", int, MOST_CLAIMS))
    notes = {"evidence": []}
    judge_prompts = {OURS: PROMPT, AUTHORS: authors.STRICT}
    unread = "unjudged"
    counted = {
        "main_hal": ("judged", "wrong"),
        "extra_hal": ("searched", "extra_claims"),
        "overall_hal": ("judged_in_full", "hallucinated"),
    }

    def judge_prompt(self, options: HQHOptions, of_given_texts: bool = False) -> VerdictPrompt:
        if options.prompts != AUTHORS:
            return prompt_of(options.claims or QUOTED)
        prompt = authors.STRICT
        if options.reading == OFFICIAL:
            prompt = authors.OFFICIAL
        if of_given_texts:
            return prompt
        if options.template is None:
            raise ValueError(
                "prompts is 'authors', and no template is named; expected the path of the authors' utils.py as "
                f"template (--template FILE), which holds their words: {authors.URL}."
            )
        return replace(prompt, template=authors.load_template(options.template))

    def warn_of_verdicts(self, verdicts: Sequence[Verdict | None]) -> None:
        warn_of_dropped(verdicts)

    def fields(self, row: Question) -> dict[str, str]:
        return {
            "question": row.question,
            "reference": row.answer,
            "caption": row.caption or "",
            "details": row.details or "",
        }

    def by_rule(self, rule: str, rows: Sequence[Question], texts: Sequence[str]) -> Verdicts:
        correct = np.empty((1, len(rows)))
        for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
            is_right = contains.contains(text, row.answer, row.question)
            correct[0, number] = np.nan if is_right is None else is_right
        values = {"correct": correct, "extra_claims": np.full_like(correct, np.nan)}
        return Verdicts(self.criteria, values, [REFERENCE_ONLY, contains.KEY])

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        """Return equation 5: its overall rate counts responses with either fault, where both are known."""
        correct = values["correct"]
        claims = values["extra_claims"]
        is_known = ~np.isnan(correct + claims)
        return {
            "main_hal": share_below(correct, 1),
            "extra_hal": mean_of(claims),
            "overall_hal": Adds((correct == 0) | (claims > 0), is_known),
        }

    def unreadable(self, values: Mapping[str, Floats]) -> Bools:
        return np.isnan(values["correct"])

    def groups(self, rows: Sequence[Question]) -> dict[str, Bools]:
        return groups_of(rows)

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.id, "type": row.type}

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (
            row.id,
            row.image_id,
            row.question,
            row.answer,
            row.type,
            row.level,
            row.caption,
            row.details,
        )

    def signed(self, rows: Sequence[Question], readings: Readings, options: HQHOptions) -> dict[str, Any]:
        """Return also for which rows a judge is shown upstream's image data."""
        verdicts = readings.verdicts
        image_data = "no"
        if verdicts.by_model:
            image_data = image_data_of(rows)
        return {
            "judge": verdicts.key,
            "image_data": image_data,
            "repeats": verdicts.repeats,
            **verdicts.drawn,
        }


def image_data_of(rows: Sequence[Question]) -> str:
    """Return for which rows it is known what their image shows, as in a signature."""
    known = sum(row.has_image_data for row in rows)
    if known == len(rows):
        return "all"
    if known:
        return "part"
    return "none"


METRIC = HQH()


@takes(HQHOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to HQH's questions.

    The default judge, "reference-only", asks no model: it checks whether a response contains the right answer, and
    cannot see extra claims.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order; upstream's own rows also work. A judge is
            shown their `caption` and `details` if they have them, and never sees an image (section IV.B).
        options: the fields of `HQHOptions`, by name.

    Returns:
        Equation 5: `main_hal`, the share of wrong main answers, in [0, 1]; `extra_hal`, the mean number of extra claims
        per response that contradict the image, 0 or more; `overall_hal`, the share of responses with either fault, in
        [0, 1], among the responses for which both are known (if these are not all judged responses, it may be below
        `main_hal`). Lower is better. The same for each type and level, such as `main_hal/count` and
        `main_hal/object`; `main_hal/attribute` is the level (colours and actions), and the type "attribute" is
        `main_hal/color`. With "reference-only", `extra_hal` and `overall_hal` are NaN. A claim counts once, and only if
        the judge quotes it from the response (a warning counts the other quotes); with `claims="all"`, each one that
        the judge names counts, as in equation 5, and so does each with `prompts="authors"`. `unjudged`, the share of
        responses without a judgement, which count in no score, neither as right nor as wrong. `counts`, the counts
        behind the scores, for "all", each type and each level, summed over the repeats: how many main answers were
        `judged`, and how many of these are `wrong`; how many responses were `searched` for extra claims, and how many
        `extra_claims` they hold; and how many were `judged_in_full`, and how many of these `hallucinated` in either way
        (None if nobody looked).
        A mean or share of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how many are a thought
        without an end; `speaks_to_judge`, the ids of rows whose responses seem to speak to a judge; `by_length`, by how
        much `extra_hal` rises per 100 words of a response, with `low` and `high` if there are intervals; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap, which leaves out one image at
        a time; `spread` with repeats, the least and greatest value of each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, QUESTIONS.read_all(references), METRIC.chosen(options))
