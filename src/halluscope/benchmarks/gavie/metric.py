"""GAVIE: do responses follow instructions, and are they true of the image (Liu et al., ICLR 2024)?

A judge reads descriptions of the image's regions, and rates each response from 0 to 10, for relevancy and for accuracy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.benchmark import Dataset, Judges, Score
from halluscope.benchmarks.gavie.data import QUESTIONS, Question
from halluscope.benchmarks.gavie.reading import MOST, PROMPTS, warn_of_several_answers
from halluscope.judged import Adds, Judged, JudgedOptions, Readings, mean_of
from halluscope.judging.options import given_verdicts_option, judge_option, max_tokens_option
from halluscope.judging.verdict_prompts import Verdict
from halluscope.judging.verdicts import Criterion
from halluscope.options import option, takes
from halluscope.stats.intervals import Counts, Range
from halluscope.stats.ratios import Floats
from halluscope.validation import paired


@dataclass(frozen=True)
class GAVIEOptions(JudgedOptions):
    """The options of GAVIE's metric."""

    judge: Any = judge_option("", "you must name one; none (no ratings yet)")
    max_tokens: int = max_tokens_option(1024)  # a judge gives reasons
    prompts: str | None = option(
        None,
        "whose wording of the prompt to use (default: ours)",
        about='whose wording of a language model\'s prompt to use: "ours", or "authors" for that of the authors\' '
        "script, for one response; it prints a region's width also as its height",
        choices=tuple(PROMPTS),
    )
    ratings: Sequence[Any] | None = given_verdicts_option(
        "id, relevancy and accuracy",
        "rates",
        '{"relevancy": number, "accuracy": number} per row, each from 0 to 10, or a judge\'s text, or None if nobody '
        "could rate the response. If given, no judge is asked",
    )

    @property
    def given(self) -> Sequence[Any] | None:
        return self.ratings


class GAVIE(Judged):
    name = "gavie"
    title = "GAVIE"
    description = """\
GAVIE (GPT4-Assisted Visual Instruction Evaluation) gives 1,000 instructions about 120 images of Visual Genome. Some
instructions assume something that is not in the image. A language model reads Visual Genome's descriptions of the
image's regions, and rates each response from 0 to 10 for relevancy (does it do what the instruction asks?) and for
accuracy (is it true of the image?).
"""
    citation = """\
@inproceedings{liu2024mitigating,
  title={Mitigating Hallucination in Large Multi-Modal Models via Robust Instruction Tuning},
  author={Liu, Fuxiao and Lin, Kevin and Li, Linjie and Wang, Jianfeng and Yacoob, Yaser and Wang, Lijuan},
  booktitle={International Conference on Learning Representations (ICLR)},
  year={2024}
}
"""
    links = ("https://arxiv.org/abs/2306.14565", "https://github.com/FuxiaoLiu/LRV-Instruction")
    licence = "The authors' prompt: BSD-3-Clause."

    principal = "accuracy"
    scores = {
        "accuracy": Score("higher", is_mean=True, is_points=True),
        "relevancy": Score("higher", is_mean=True, is_points=True),
        "unreadable": Score("lower", is_mean=True),
    }
    extra_numbers = {"questions": Score(), "images": Score(), "rated": Score()}
    ranges = {**Judged.ranges, "accuracy": Range(0, MOST), "relevancy": Range(0, MOST)}
    target = "regions"
    datasets = (
        Dataset(
            "gavie",
            id=("id",),
            columns=QUESTIONS.needed,
            own=("regions",),
        ),
    )
    judges = Judges(
        "verdicts",
        default="",
        rules=("none",),
        published="GPT-4 (GPT4-32k-0314, according to the authors), which is retired and can no longer be asked",
    )
    options_type = GAVIEOptions
    table = QUESTIONS
    rows_published = 1000
    criteria = (Criterion("relevancy", float, MOST), Criterion("accuracy", float, MOST))
    notes = {"reason": ""}
    judge_prompts = PROMPTS

    def check_rows(self, rows: Sequence[Question]) -> None:
        without = [number for number, row in enumerate(rows) if not row.regions]
        if without:
            raise ValueError(
                f"references[{without[0]}] has no regions (rows without any: {len(without):,} of {len(rows):,}); a "
                "language model needs them to know what the image shows. Build the dataset with --regions, or give "
                "ratings."
            )

    def warn_of_verdicts(self, verdicts: Sequence[Verdict | None]) -> None:
        warn_of_several_answers(verdicts)

    def fields(self, row: Question) -> dict[str, Any]:
        return {"regions": row.regions or (), "question": row.question}

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        return {"relevancy": mean_of(values["relevancy"]), "accuracy": mean_of(values["accuracy"])}

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.id, "image_id": row.image_id}

    def identity(self, row: Question) -> tuple[Any, ...]:
        identity: list[Any] = [row.id, row.image_id, row.question]
        for region in row.regions or ():
            identity += [region.phrase, region.x, region.y, region.width, region.height]
        return tuple(identity)

    def facts(
        self, rows: Sequence[Question], readings: Readings, total: Counts, options: GAVIEOptions
    ) -> dict[str, Any]:
        facts = super().facts(rows, readings, total, options)
        is_rated = ~self.unreadable(readings.verdicts.values)
        facts["rated"] = int(np.sum(is_rated))
        return facts


METRIC = GAVIE()


@takes(GAVIEOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to GAVIE's questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order. A judge is shown their `regions`; if ratings
            are given, rows of evaluation_set.json also work.
        options: the fields of `GAVIEOptions`, by name.

    Returns:
        `relevancy` and `accuracy`, the mean scores, from 0 to 10, each over the responses that have that score; higher
        is better. `unreadable`, the share of responses that lack either score; a response is left out of the mean of a
        score that it lacks. `rated`, how many responses have both scores, summed over the repeats.
        A mean or share of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how many are a thought
        without an end; `speaks_to_judge`, the ids of rows whose responses seem to speak to a judge; `by_length`, by how
        much `accuracy` and `relevancy` rise per 100 words of a response, with `low` and `high` if there are intervals;
        `signature`; `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap, which leaves out
        one image at a time; `spread` with repeats, the least and greatest value of each score; and `per_question` if
        requested.

    Raises:
        ValueError: for any bad input, or without a judge, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, QUESTIONS.read_all(references), METRIC.chosen(options))
