"""MMHal-Bench: are free-form responses informative and free of hallucination? (Sun et al., 2023).

A judge rates each response from 0 to 6; a rating below 3 means that it hallucinates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.benchmark import Column, Dataset, Judges, Preset, Score
from halluscope.benchmarks.mmhal import reading
from halluscope.benchmarks.mmhal.data import QUESTIONS, TYPES, Question
from halluscope.benchmarks.mmhal.reading import PROMPTS
from halluscope.judged import OURS, Adds, Judged, JudgedOptions, mean_of, share_below
from halluscope.judging.options import given_verdicts_option, judge_option, max_tokens_option
from halluscope.judging.verdict_prompts import VerdictPrompt
from halluscope.judging.verdicts import Criterion
from halluscope.options import option, takes
from halluscope.stats.intervals import Range
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, rows_by
from halluscope.validation import paired

STRICT = "strict"
OFFICIAL = "official"

FIRST_WITHOUT_HALLUCINATION = 3  # the lowest rating of a response that does not hallucinate

# How a command says that a judge's replies are read as the authors' script reads them
HOW_READ = "--ratings {file} --reading official"

are_replies = reading.are_replies


@dataclass(frozen=True)
class MMHalOptions(JudgedOptions):
    """The options of MMHal-Bench's metric."""

    judge: Any = judge_option("", "you must name one; none (no ratings yet)")
    max_tokens: int = max_tokens_option(1024)  # a judge explains before it rates
    prompts: str | None = option(
        None,
        "whose wording of the prompt to use (default: ours, or authors with --reading official)",
        choices=tuple(PROMPTS),
    )
    reading: str | None = option(
        None,
        "how a reply is read: strict (default), or as the authors' script does, where an unreadable reply is 0",
        choices=(STRICT, OFFICIAL),
    )
    ratings: Sequence[Any] | None = given_verdicts_option(
        "id and rating",
        "rates",
        'a whole number from 0 to 6 per row, bare or as {"rating": number}, or a judge\'s text; None for a response '
        "that nobody could rate. If given, no judge is asked",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reading == OFFICIAL and self.prompts == OURS:
            raise ValueError(
                "reading is 'official', which reads only replies to the authors' prompts, but prompts is 'ours'; "
                "expected prompts='authors', or reading='strict'."
            )

    @property
    def given(self) -> Sequence[Any] | None:
        return self.ratings


class MMHal(Judged):
    name = "mmhal"
    title = "MMHal-Bench"
    description = """\
MMHal-Bench asks 96 free-form questions of eight types about images of OpenImages. A language model reads a person's
answer and the objects in the image, and rates each response: 6 is very informative with good reasoning and no
hallucination, 3 is uninformative without hallucination, and 0 is uninformative with hallucination. The scores are the
mean rating and the share of ratings below 3, which mean hallucination, over all questions and by type.
"""
    citation = """\
@article{sun2023aligning,
  title={Aligning Large Multimodal Models with Factually Augmented {RLHF}},
  author={Sun, Zhiqing and Shen, Sheng and Cao, Shengcao and Liu, Haotian and Li, Chunyuan and Shen, Yikang
          and Gan, Chuang and Gui, Liang-Yan and Wang, Yu-Xiong and Yang, Yiming and Keutzer, Kurt and Darrell, Trevor},
  journal={arXiv preprint arXiv:2309.14525},
  year={2023}
}
"""
    links = ("https://arxiv.org/abs/2309.14525", "https://huggingface.co/datasets/Shengcao1006/MMHal-Bench")
    licence = "The authors' prompt: Apache-2.0."

    principal = "rating"
    presets = {
        "preference": Preset(
            2, (Column("rating", "Score", ".2f"), Column("hallucination_rate", "Hall. rate"))
        )
    }
    scores = {
        "rating": Score("higher", is_mean=True, is_points=True),
        "hallucination_rate": Score("lower", is_mean=True),
        "unreadable": Score("lower", is_mean=True),
    }
    ranges = {**Judged.ranges, "rating": Range(reading.LOWEST, reading.HIGHEST)}
    max_new_tokens = 1024
    datasets = (
        Dataset(
            "mmhal",
            id=("id",),
            columns=QUESTIONS.needed,
            own=("answer", "contents"),
            upstream=("gt_answer", "question_type", "question_topic", "image_content", "image_src"),
        ),
    )
    judges = Judges(
        "verdicts",
        default="",
        rules=("none",),
        published="GPT-4 (gpt-4-0314 in the authors' script), which is retired and can no longer be asked",
    )
    options_type = MMHalOptions
    table = QUESTIONS
    rows_published = 96
    criteria = (Criterion("rating", int, reading.HIGHEST),)
    flags = ("readable",)
    notes = {"analysis": ""}
    judge_prompts = PROMPTS
    counted = {"rating": ("rated", "points"), "hallucination_rate": ("rated", "hallucinated")}

    def judge_prompt(self, options: MMHalOptions, of_given_texts: bool = False) -> VerdictPrompt:
        if options.reading == OFFICIAL:
            return reading.OFFICIAL
        return super().judge_prompt(options, of_given_texts)

    def fields(self, row: Question) -> dict[str, str]:
        return {"question": row.question, "reference": row.answer, "contents": ", ".join(row.contents)}

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        rating = values["rating"]
        return {
            "rating": mean_of(rating),
            "hallucination_rate": share_below(rating, FIRST_WITHOUT_HALLUCINATION),
        }

    def groups(self, rows: Sequence[Question]) -> dict[str, Bools]:
        return rows_by([row.type for row in rows], TYPES)

    def unreadable(self, values: Mapping[str, Floats]) -> Bools:
        """Return which responses have no readable rating, though the authors' script may give them one."""
        unreadable = np.isnan(values["rating"])
        if "readable" in values:
            unreadable = unreadable | (values["readable"] == 0)
        return unreadable

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.id, "type": row.type}

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (row.id, row.image_id, row.question, row.answer, row.type, row.topic, *row.contents)


METRIC = MMHal()


@takes(MMHalOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to MMHal-Bench's questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order; rows of response_template.json also work.
        options: the fields of `MMHalOptions`, by name.

    Returns:
        `rating`, the mean rating, from 0 to 6, higher is better; `hallucination_rate`, the share of ratings below 3, in
        [0, 1], lower is better. The same for each type, such as `rating/counting`. `unreadable`, the share of responses
        without a readable rating: with reading="strict" they count in no score, with "official" they count as 0, except
        those without a reply. `counts`, for "all" and each type, summed over the repeats: how many responses were
        `rated`, the sum of their `points`, and how many `hallucinated`.
        A mean or share of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how many are a thought
        without an end; `speaks_to_judge`, the ids of rows whose responses seem to speak to a judge; `by_length`, by how
        much `rating` rises per 100 words of a response, with `low` and `high` if there are intervals; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap, which leaves out one image at
        a time; `spread` with repeats, the least and greatest value of each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, or without a judge, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, QUESTIONS.read_all(references), METRIC.chosen(options))
