"""HaloQuest: free-form questions that tempt a model to make something up (Wang et al., ECCV 2024).

A judge decides whether a response agrees with one of the answers that people wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.benchmark import Dataset, Judges, Score
from halluscope.benchmarks.haloquest.data import QUESTIONS, Question, groups_of
from halluscope.benchmarks.haloquest.reading import PROMPTS
from halluscope.judged import Adds, Judged, JudgedOptions, mean_of
from halluscope.judging.options import given_verdicts_option, judge_option
from halluscope.judging.verdicts import Criterion
from halluscope.options import option, takes
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools
from halluscope.validation import paired


@dataclass(frozen=True)
class HaloQuestOptions(JudgedOptions):
    """The options of HaloQuest's metric."""

    judge: Any = judge_option("", "you must name one; none (no verdicts yet)")
    prompts: str | None = option(
        None, "whose wording of the prompt to use (default: ours)", choices=tuple(PROMPTS)
    )
    ratings: Sequence[Any] | None = given_verdicts_option(
        "id and correct",
        "judges",
        '{"correct": bool}, or the bare bool, one per row, or a judge\'s text; None for a response that nobody could '
        "judge. If given, no judge is asked",
    )

    @property
    def given(self) -> Sequence[Any] | None:
        return self.ratings


# What the authors' notebook calls a verdict
OF_NOTEBOOK = "is_prediction_correct"


class HaloQuest(Judged):
    name = "haloquest"
    title = "HaloQuest"
    description = """\
HaloQuest asks free-form questions about generated and real images. Half of the questions are about something that is
not there, some cannot be answered from the image, and the others are about things that are hard to see. A judge decides
whether a response agrees with one of the answers that people wrote; if so, it is right.
"""
    citation = """\
@inproceedings{wang2024haloquest,
  title={{HaloQuest}: A Visual Hallucination Dataset for Advancing Multimodal Reasoning},
  author={Wang, Zhecan and Bingham, Garrett and Yu, Adams Wei and Le, Quoc V. and Luong, Thang and Ghiasi, Golnaz},
  booktitle={European Conference on Computer Vision (ECCV)},
  year={2024}
}
"""
    links = ("https://arxiv.org/abs/2407.15680", "https://github.com/google/haloquest")

    principal = "accuracy"
    scores = {
        "accuracy": Score("higher", is_mean=True),
        "accuracy/generated": Score("higher"),
        "accuracy/real": Score("higher"),
        "accuracy/false_premises": Score("higher"),
        "accuracy/visual_challenge": Score("higher"),
        "accuracy/insufficient_context": Score("higher"),
        "unreadable": Score("lower", is_mean=True),
    }
    target = "answers"
    datasets = (
        Dataset(
            "haloquest",
            id=("id",),
            columns=QUESTIONS.needed,
            own=("image_type", "answers"),
            upstream=("image_name", "image type", "hallucination type", "groundtruth responses"),
            image_key="file_name",
        ),
    )
    judges = Judges(
        "verdicts",
        default="",
        rules=("none",),
        published="people, and again by Gemini 1.0 Pro, which is retired and can no longer be asked",
    )
    options_type = HaloQuestOptions
    table = QUESTIONS
    rows_published = 608
    criteria = (Criterion("correct", bool),)
    notes = {"point": None}
    judge_prompts = PROMPTS
    counted = {"accuracy": ("judged", "correct")}

    def given_row(self, row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        """Return a row by our names; the authors' notebook has another for the verdict."""
        if OF_NOTEBOOK in row:
            return {"correct": row[OF_NOTEBOOK], **row}
        return row

    def fields(self, row: Question) -> dict[str, str]:
        return {"question": row.question, "answers": "; ".join(row.answers), "stated": row.stated}

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        return {"accuracy": mean_of(values["correct"])}

    def groups(self, rows: Sequence[Question]) -> dict[str, Bools]:
        return groups_of(rows)

    def cluster_of(self, row: Question) -> str:
        return row.file_name

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.id, "image_type": row.image_type, "type": row.type}

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (row.id, row.file_name, row.image_type, row.type, row.question, *row.answers)


METRIC = HaloQuest()


@takes(HaloQuestOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to HaloQuest's questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order; rows of haloquest-eval.csv also work.
        options: the fields of `HaloQuestOptions`, by name.

    Returns:
        `accuracy`, the share of judged responses that agree with a right answer, in [0, 1]; the same for each type of
        image (`accuracy/generated`, `accuracy/real`), each type of question (`accuracy/false_premises`,
        `accuracy/visual_challenge`, `accuracy/insufficient_context`), and each pair of the two types (such as
        `accuracy/real/false_premises`); higher is better. `unreadable`, the share of responses without a readable
        verdict, which count in no score, neither as right nor as wrong; `counts`, for "all" and each group, summed over
        the repeats: how many responses were `judged`, and how many of these are `correct` (None if none was judged).
        A mean or share of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses;
        `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how many are a thought
        without an end; `speaks_to_judge`, the ids of rows whose responses seem to speak to a judge; `signature`;
        `verdicts`, a digest of a language model's verdicts; `interval` with a bootstrap, which leaves out one image at
        a time; `spread` with repeats, the least and greatest value of each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, or without a judge, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, QUESTIONS.read_all(references), METRIC.chosen(options))
