"""LLaVA-Bench (In-the-Wild): how good are responses about images from everywhere, beside GPT-4's (Liu et al., 2023)?

A judge reads what people wrote about the image, and rates GPT-4's answer and the response from 1 to 10. The score is
the sum of the responses' ratings in percent of the sum of GPT-4's.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import Column, Dataset, Judges, Part, Preset, Score
from halluscope.benchmarks.llava_bench import reading
from halluscope.benchmarks.llava_bench.data import CATEGORIES, QUESTIONS, Question, are_all_questions
from halluscope.benchmarks.llava_bench.orders import (
    MODEL_GAIN,
    REFERENCE_GAIN,
    gain_of,
    of_each_row,
    scores_by_order,
    turned_prompt,
)
from halluscope.benchmarks.llava_bench.reading import HIGHEST, LOWEST, MODEL, PROMPTS, REFERENCE
from halluscope.benchmarks.llava_bench.reviews import check_reviewed, plain_rating, row_of_review
from halluscope.judged import AUTHORS, OURS, PART, Adds, Judged, JudgedOptions, Readings, name_of
from halluscope.judging.options import ASKING, given_verdicts_option, judge_option, max_tokens_option
from halluscope.judging.prompts import Collected
from halluscope.judging.verdict_prompts import Verdict, VerdictPrompt
from halluscope.judging.verdicts import Criterion
from halluscope.metric import Scores
from halluscope.options import check_effect, option, takes
from halluscope.paths import path_of
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.stats.intervals import AMOUNT, Counts, Range
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, rows_by
from halluscope.validation import paired

SCORE = "score"
MODEL_MEAN = "model_mean"
REFERENCE_MEAN = "reference_mean"
ORDER = "order"  # in a result: what the order of the answers moves


@dataclass(frozen=True)
class LLaVABenchOptions(JudgedOptions):
    """The options of LLaVA-Bench's metric."""

    judge: Any = judge_option("", "you must name one; none (no ratings yet)")
    max_tokens: int = max_tokens_option(1024)  # a judge explains its ratings
    prompts: str | None = option(
        None,
        "whose wording of the prompt to use: ours (default), authors (with --rule); or which of OPERA's aspects the "
        "replies in --ratings rate",
        about='whose wording of the prompt to use: "ours", or "authors", which needs `rule`. The others say which of '
        "two aspects is scored, where `ratings` are replies of GPT-4V to OPERA's prompt",
        choices=tuple(PROMPTS),
    )
    rule: str | Path | None = option(
        None,
        "LLaVA's rule.json, which holds the authors' words for --prompts authors",
        about="LLaVA's rule.json, with the authors' words: prompts=\"authors\" asks in them, and they are checked",
        kinds=str | Path | None,
        what="the path of LLaVA's rule.json, or None",
        metavar="FILE",
    )
    both_orders: bool = option(
        False,
        "ask a second time with the response before GPT-4's answer, score the means of both ratings, and say how much "
        "the first place brings",
        about="ask about each response twice, with GPT-4's answer first and with the response first; scores are of the "
        "means of both ratings, and `order` says what the first place brings",
    )
    ratings: Sequence[Any] | None = given_verdicts_option(
        "question_id and tuple or content, as LLaVA's script writes it; or id, reference and model",
        "rates",
        "two numbers from 0 to 10 per row, the rating of GPT-4's answer and that of the response, as a pair or as "
        '{"reference": number, "model": number}; or a row of a review file of LLaVA\'s script, or a judge\'s text; '
        "None for a response that nobody could rate. If given, no judge is asked",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prompts != AUTHORS or self.ratings is not None:
            why = "no judge is asked in the authors' words, which takes prompts='authors' and no ratings"
            check_effect({"rule": self.rule}, ["rule"], why)

    @property
    def given(self) -> Sequence[Any] | None:
        if not isinstance(self.ratings, list | tuple):
            return self.ratings
        return [plain_rating(rating) for rating in self.ratings]


class LLaVABench(Judged):
    name = "llava_bench"
    title = "LLaVA-Bench (In-the-Wild)"
    description = """\
LLaVA-Bench (In-the-Wild) asks 60 questions about 24 images: indoor and outdoor scenes, memes, paintings, sketches. They
ask for a short answer, for a description in detail, or for reasoning. A language model reads what people wrote about
the image, and rates GPT-4's answer, which was made from the same text, and the response, each from 1 to 10. The score
is the sum of the responses' ratings in percent of the sum of GPT-4's.
"""
    citation = """\
@inproceedings{liu2023visual,
  title={Visual Instruction Tuning},
  author={Liu, Haotian and Li, Chunyuan and Wu, Qingyang and Lee, Yong Jae},
  booktitle={Advances in Neural Information Processing Systems (NeurIPS)},
  year={2023}
}
"""
    links = (
        "https://arxiv.org/abs/2304.08485",
        "https://huggingface.co/datasets/liuhaotian/llava-bench-in-the-wild",
        "https://github.com/haotian-liu/LLaVA",
    )
    licence = "The authors' prompt stands in their rule.json, which is read from the user's copy."

    principal = SCORE
    presets = {"decoding": Preset(4, (Column(SCORE, "Score", ".1f"),))}
    scores = {
        SCORE: Score("higher", is_points=True),
        MODEL_MEAN: Score("higher", is_mean=True, is_points=True),
        REFERENCE_MEAN: Score("", is_mean=True, is_points=True),
        "unreadable": Score("lower", is_mean=True),
    }
    ranges = {
        MEAN_WORDS: AMOUNT,
        # a response may be rated above GPT-4's answer; a point more adds at least 10 to the score of its question
        SCORE: Range(0, math.inf, event=100 / HIGHEST),
        MODEL_MEAN: Range(0, HIGHEST),
        REFERENCE_MEAN: Range(0, HIGHEST),
    }
    max_new_tokens = 1024
    datasets = (
        Dataset(
            "llava_bench",
            id=("id",),
            columns=QUESTIONS.needed,
            own=("context", "answer", "category"),
            image_key="file_name",
        ),
    )
    judges = Judges(
        "verdicts",
        default="",
        rules=("none",),
        published="GPT-4 (gpt-4-0314, later gpt-4-0613), which is retired and can no longer be asked",
    )
    options_type = LLaVABenchOptions
    table = QUESTIONS
    rows_published = 60
    criteria = (Criterion(REFERENCE, float, HIGHEST), Criterion(MODEL, float, HIGHEST))
    notes = {"reason": ""}
    judge_prompts = PROMPTS
    asking = (*ASKING, "both_orders")
    counted = {MODEL_MEAN: ("rated", "model_points"), REFERENCE_MEAN: ("rated", "reference_points")}

    # The dataset's rows

    def inputs(
        self,
        rows: Sequence[Any],
        *,
        ratings: Any = None,
        responses: str = "",
        response_texts: Sequence[str] = (),
        answer_ids: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return the arguments of `compute` for rows; a file or run with ratings is read for them.

        Args:
            responses: the name of the responses, for errors.
            response_texts: the responses; () if they are not known.
            answer_ids: what each response is called in its file; () if that is not known.
        """
        metric_inputs = super().inputs(
            rows, ratings=ratings, responses=responses, response_texts=response_texts
        )
        if responses and isinstance(ratings, str | Path) and path_of(ratings).is_file():
            answers = {}
            if answer_ids:
                answers = {row.id: answer for row, answer in zip(rows, answer_ids, strict=True)}
            check_reviewed(path_of(ratings), responses, answers)
        return metric_inputs

    # What a judge is asked

    def judge_prompt(self, options: LLaVABenchOptions, of_given_texts: bool = False) -> VerdictPrompt:
        prompt = super().judge_prompt(options, of_given_texts)
        if of_given_texts or options.prompts in (None, OURS):
            return prompt
        if options.prompts != AUTHORS:
            raise ValueError(
                f"prompts is {options.prompts!r}, whose judge sees the image, but judges see no image here; expected "
                "replies to OPERA's prompt as ratings (--ratings FILE)."
            )
        if options.rule is None:
            raise ValueError(
                "prompts is 'authors', and no rule is named; expected the path of LLaVA's rule.json as rule (--rule "
                f"FILE), which holds the authors' words: {reading.RULE_URL}."
            )
        return reading.with_rule(options.rule)

    def also_measured(self, options: LLaVABenchOptions) -> list[Criterion]:
        if not options.both_orders:
            return []
        return [Criterion(REFERENCE_GAIN, float, HIGHEST), Criterion(MODEL_GAIN, float, HIGHEST)]

    def _replies(
        self,
        prompt: VerdictPrompt,
        texts: Sequence[str],
        rows: Sequence[Question],
        options: LLaVABenchOptions,
    ) -> Collected[Verdict]:
        """Ask about each row, in both orders if the options say so."""
        if not options.both_orders:
            return super()._replies(prompt, texts, rows, options)
        specs = []
        for prompt_in_order in (prompt, turned_prompt(prompt)):
            for row, text in zip(rows, texts, strict=True):
                specs.append(prompt_in_order.ask(self.fields(row), text))
        collected = options.collect(specs)
        return of_each_row(collected, len(rows))

    def check_rows(self, rows: Sequence[Question]) -> None:
        for number, row in enumerate(rows):
            if row.context is None or row.answer is None:
                raise ValueError(
                    f"references[{number}] has no context or no answer, which a judge compares the response with. "
                    "Build the dataset from all three files of the authors (halluscope build llava_bench --source "
                    "FOLDER), or give ratings."
                )

    def fields(self, row: Question) -> dict[str, Any]:
        return {"context": row.context, "question": row.question, "reference": row.answer}

    def given_row(self, row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        return row_of_review(row, where)

    def known(self, questions: Sequence[str]) -> Part | None:
        """Say of which dataset some questions are; None if they are not LLaVA-Bench's, or not all of them."""
        if not are_all_questions(questions):
            return None
        return Part("llava_bench")

    # Scores

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        is_rated = ~np.isnan(values[REFERENCE]) & ~np.isnan(values[MODEL])
        return {
            MODEL_MEAN: Adds(np.nan_to_num(values[MODEL]), is_rated),
            REFERENCE_MEAN: Adds(np.nan_to_num(values[REFERENCE]), is_rated),
        }

    def groups(self, rows: Sequence[Question]) -> dict[str, Bools]:
        return rows_by([row.category for row in rows], CATEGORIES)

    def by_repeat(self, sums: Counts) -> Scores:
        scores = {}
        groups = [""]
        groups += CATEGORIES
        for group in groups:
            model = name_of(MODEL_MEAN, group)
            if model in sums:
                reference = sums[name_of(REFERENCE_MEAN, group)]
                scores[name_of(SCORE, group)] = 100 * ratio(sums[model][..., PART], reference[..., PART])
        scores.update(super().by_repeat(sums))
        return scores

    # What else a result holds

    def facts(
        self, rows: Sequence[Question], readings: Readings, total: Counts, options: LLaVABenchOptions
    ) -> dict[str, Any]:
        facts = super().facts(rows, readings, total, options)
        if options.both_orders:
            values = readings.verdicts.values
            level = options.level if options.bootstrap else None
            facts[ORDER] = gain_of(values, level) | scores_by_order(values)
        return facts

    def warn(
        self, texts: Sequence[str], rows: Any, readings: Readings, result: dict[str, Any], options: Any
    ) -> None:
        super().warn(texts, rows, readings, result, options)
        warn_of_low(readings.verdicts.values)

    def signed(self, rows: Any, readings: Readings, options: LLaVABenchOptions) -> dict[str, Any]:
        signed = super().signed(rows, readings, options)
        if options.both_orders:
            signed["orders"] = "both"
        return signed

    # What a result says of its rows

    def cluster_of(self, row: Question) -> int:
        return row.id

    def leaves_out(self, rows: Any) -> str:
        return "questions"

    def sizes(self, rows: Any) -> dict[str, int]:
        return {"questions": len(rows), "images": len({row.file_name for row in rows})}

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.id, "category": row.category}

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (row.id, row.file_name, row.question, row.category, row.context or "", row.answer or "")


def warn_of_low(values: Mapping[str, Floats]) -> None:
    """Warn of given ratings below the scale, such as the 0 that scripts write where they could not read a reply."""
    low = (values[REFERENCE] < LOWEST) | (values[MODEL] < LOWEST)
    count = int(low.sum())
    if count:
        warnings.warn(
            f"{count:,} of the {low.size:,} pairs of ratings have one below {LOWEST}, though the scale is {LOWEST} to "
            f"{HIGHEST}; they count as they stand, as in the authors' summary. For a response that could not be rated, "
            "write -1 and -1.",
            stacklevel=4,
        )


METRIC = LLaVABench()


@takes(LLaVABenchOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to LLaVA-Bench's questions (Liu et al., NeurIPS 2023).

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order. A judge is shown their `context` and
            `answer`; if ratings are given, rows of questions.jsonl also work.
        options: the fields of `LLaVABenchOptions`, by name.

    Returns:
        `score`, the sum of the responses' ratings in percent of the sum of the ratings of GPT-4's answers, from 0,
        higher is better; it exceeds 100 where responses are rated above GPT-4's. `model_mean` and `reference_mean`,
        the mean ratings of the responses and of GPT-4's answers, from 1 to 10. The same for each category, such as
        `score/conv`. `unreadable`, the share of responses without a readable pair of ratings; they count in no score.
        `counts`, for "all" and each category, summed over the repeats: how many were `rated`, and the sums
        `model_points` and `reference_points`.
        A score of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how many are a thought
        without an end; `speaks_to_judge`, the ids of rows whose responses seem to speak to a judge; `by_length`, by how
        much `model_mean` rises per 100 words of a response, with `low` and `high` if there are intervals; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap, which leaves out one question
        at a time; `order` with `both_orders`: `gain`, the points that an answer gains from coming first, with `low` and
        `high`, and the scores in the `usual` order and `turned`; `spread` with repeats, the least and greatest value of
        each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, or without a judge, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, QUESTIONS.read_all(references), METRIC.chosen(options))
