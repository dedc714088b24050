"""MME: yes/no questions in 14 subtasks, two about each image (Fu et al., 2023).

A named rule reads each response as yes, no or neither. An image counts twice: for each right answer, and if both are
right.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.benchmark import QUESTION, Column, Dataset, Part, Preset, Score
from halluscope.benchmarks.mme.data import (
    COGNITION,
    HALLUCINATION,
    INSTRUCTION,
    LLAVA_INSTRUCTION,
    PERCEPTION,
    QUESTIONS,
    SUBTASKS,
    Question,
    known_questions,
    questions_by_subtask,
)
from halluscope.benchmarks.mme.reading import OFFICIAL, RULES
from halluscope.labelled import ACCURACY, LabelledRows, LabelledRowsOptions, Questions, ReadResponses
from halluscope.metric import Scores
from halluscope.options import option, takes
from halluscope.rows_metric import RowsMetric
from halluscope.sanitize import short_repr
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts, Range
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, numbers, rows_by
from halluscope.validation import paired

# The sums of subtasks' scores
SUMS = {"hallucination": HALLUCINATION, "perception": PERCEPTION, "cognition": COGNITION}

SCORE = "score"  # "score/SUBTASK": 100 x accuracy + 100 x accuracy plus
MOST = 200.0  # the highest score of a subtask
ACCURACY_PLUS = "accuracy_plus"
PAIRS = "pairs"  # "pairs/SUBTASK": the counts of images with two right answers, and of all images

QUESTIONS_OF_IMAGE = 2

MOST_NAMED = 4  # how many subtasks of a file are named; of more, only the number


def declared_scores() -> dict[str, Score]:
    """Return all scores, in the order in which they are shown."""
    scores = {}
    for name in SUMS:
        scores[name] = Score("higher", is_points=True)
    for subtask in SUBTASKS:
        scores[f"{SCORE}/{subtask}"] = Score("higher", is_points=True)
    scores[ACCURACY] = Score("higher", is_mean=True)
    for name in (ACCURACY, ACCURACY_PLUS):
        for subtask in SUBTASKS:
            scores[f"{name}/{subtask}"] = Score("higher")
    scores["unreadable"] = Score("lower", is_mean=True)
    return scores


def declared_ranges() -> dict[str, Range]:
    """Return the ranges of the scores that are not shares."""
    ranges = dict(RowsMetric.ranges)
    for name, subtasks in SUMS.items():
        ranges[name] = Range(0.0, MOST * len(subtasks))
    for subtask in SUBTASKS:
        ranges[f"{SCORE}/{subtask}"] = Range(0.0, MOST)
    return ranges


@dataclass(frozen=True)
class MmeOptions(LabelledRowsOptions):
    """The options of MME's metric."""

    parser: str = option(
        OFFICIAL,
        "how a response is read (default: official, yes or no in its first four characters); all shows a row per "
        "parser",
        about='how a response is read: "official" reads "yes" in the first four characters of the lowercased response '
        'as yes, else "no" in them as no; "strict" reads a clear yes or no; "lmms-eval" and "vlmevalkit" are the rules '
        "of these harnesses",
        choices=tuple(RULES),
        every=True,
    )


class Mme(LabelledRows):
    name = "mme"
    title = "MME"
    description = """\
MME asks 2,374 yes/no questions in 14 subtasks, two about each of 1,187 images: one whose right answer is yes, and one
whose right answer is no. A subtask's score is its accuracy plus the share of images with two right answers, in percent,
so at most 200. Ten subtasks are of perception, four of cognition. Papers on hallucination print four of the ten:
existence, count, position and color.
"""
    citation = """\
@article{fu2023mme,
  title={{MME}: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models},
  author={Fu, Chaoyou and Chen, Peixian and Shen, Yunhang and Qin, Yulei and Zhang, Mengdan and Lin, Xu and
          Yang, Jinrui and Zheng, Xiawu and Li, Ke and Sun, Xing and Wu, Yunsheng and Ji, Rongrong},
  journal={arXiv preprint arXiv:2306.13394},
  year={2023}
}
"""
    links = (
        "https://arxiv.org/abs/2306.13394",
        "https://github.com/BradyFU/Awesome-Multimodal-Large-Language-Models/tree/Evaluation",
    )
    compared = (
        "The authors' sample of LaVIN's responses to the hallucination part gives the scores that they print, 185.00, "
        "88.33, 63.33 and 75.00, together 411.67: tests/benchmarks/test_mme.py."
    )

    principal = "hallucination"
    presets = {
        "decoding": Preset(
            3,
            (
                Column("score/existence", "Existence", ".2f"),
                Column("score/count", "Count", ".2f"),
                Column("score/position", "Position", ".2f"),
                Column("score/color", "Color", ".2f"),
                Column("hallucination", "Total", ".2f"),
            ),
        )
    }
    scores = declared_scores()
    ranges = declared_ranges()
    prompt = f"{QUESTION} {INSTRUCTION}"
    prompts = {"llava": f"{QUESTION}\n{LLAVA_INSTRUCTION}"}
    max_new_tokens = 64
    datasets = (
        Dataset(
            "mme",
            id=("id",),
            columns=QUESTIONS.needed,
            own=("subtask", "answer"),
            upstream=("type",),
            # LLaVA's and lmms-eval's ids are the images', which two questions share
            also_by={"question_id": "file_name"},
            by_question=True,
            image_key="file_name",
            harness_task={"lmms_eval": "halluscope_mme"},
        ),
    )
    options_type = MmeOptions
    table = QUESTIONS
    rows_published = sum(SUBTASKS.values())
    labels = ("no", "yes")  # in the order of the parsers' numbers
    rules = RULES
    recalls = ()
    whole = "both questions about an image"  # what is scored only together

    # The dataset's rows

    def rows_expected(self, rows: Questions) -> int:
        """Return how many rows the subtasks have that were answered: each may be scored alone."""
        answered = {row.subtask for row in rows}
        return sum(SUBTASKS[subtask] for subtask in answered)

    def set_of(self, row: Question) -> str:
        """Return a question's set, which is answered whole or not at all."""
        return row.subtask

    def cluster_of(self, row: Question) -> str:
        if row.subtask in HALLUCINATION:  # their images are COCO's, and some are in two subtasks
            return row.file_name.rpartition("/")[2]
        return row.file_name

    def sizes(self, rows: Iterable[Question]) -> dict[str, int]:
        """Return how many questions are scored, and how many images they are about, as the authors count them.

        An image of COCO that is in two subtasks is two images, though intervals leave it out as one.
        """
        files = [row.file_name for row in rows]
        return {"questions": len(files), "images": len(set(files))}

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (row.subtask, row.file_name, row.question, row.answer)

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.id, "subtask": row.subtask}

    def groups(self, rows: Sequence[Question]) -> dict[str, Bools]:
        return rows_by([row.subtask for row in rows], SUBTASKS)

    def known(self, questions: Sequence[str]) -> Part | None:
        """Say which subtasks some questions are of, and of which dataset, as a whole; None if they are not MME's."""
        subtasks = known_questions(questions)
        if subtasks is None:
            return None
        return Part("mme", subtasks)

    def known_answers(self, questions: Sequence[str]) -> list[str]:
        """Return the right answers to some questions in the authors' order, where yes and no take turns; [] if they
        are not MME's.
        """
        if known_questions(questions) is None:
            return []
        return [self.labels[place % 2 == 0] for place in range(len(questions))]

    def known_ids(self, ids: Sequence[str]) -> Part | None:
        """Say which subtasks some images are of, of which dataset, and whether a subtask has more questions.

        Return None if they do not all stand in a subtask's folder, once for each question.
        """
        rows = questions_by_subtask(ids)
        if not rows:
            return None
        subtasks = ", ".join(rows)
        if len(rows) > MOST_NAMED:
            subtasks = f"{len(rows)} of {len(SUBTASKS)} subtasks"
        if len(rows) == len(SUBTASKS):
            subtasks = "all subtasks"
        lacks_rows = any(rows[subtask] < SUBTASKS[subtask] for subtask in rows)
        if lacks_rows:
            subtasks += ", in part"
        return Part("mme", subtasks, lacks_rows)

    def questions(self, references: Sequence[Any]) -> Questions:
        """Return the rows, checked, with their right answers: of each image both questions.

        One row alone, as harnesses score each, has an accuracy, but no accuracy plus.
        """
        rows = super().questions(references)
        if len(rows) > 1:
            check_pairs(rows.rows)
        return rows

    # From responses to scores

    def count(self, rows: Questions, readings: ReadResponses, options: MmeOptions) -> Tables:
        """Also count, by subtask, the images with two right answers."""
        image = numbers([row.file_name for row in rows])
        is_right = readings.answers == rows.right
        both_right = np.bincount(image, weights=is_right) == QUESTIONS_OF_IMAGE
        both_asked = np.bincount(image) == QUESTIONS_OF_IMAGE
        _, first_row = np.unique(image, return_index=True)  # of each image
        cluster = self.clusters(rows)
        clusters = int(cluster.max()) + 1
        counts = dict(super().count(rows, readings, options).counts)
        for subtask, is_in in self.groups(rows.rows).items():
            chosen = is_in[first_row]
            cluster_of_image = cluster[first_row[chosen]]
            right = np.bincount(cluster_of_image, weights=both_right[chosen], minlength=clusters)
            images = np.bincount(cluster_of_image, weights=both_asked[chosen], minlength=clusters)
            counts[f"{PAIRS}/{subtask}"] = np.stack([right, images], axis=-1)
        return Tables(counts)

    def score(self, rows: Questions, sums: Counts, options: MmeOptions) -> Scores:
        shares = super().score(rows, sums, options)
        points: Scores = {}
        plus: Scores = {}
        for subtask in SUBTASKS:
            if f"{PAIRS}/{subtask}" not in sums:
                continue
            pairs = sums[f"{PAIRS}/{subtask}"]
            plus[subtask] = ratio(pairs[:, 0], pairs[:, 1])
            points[subtask] = 100 * shares[f"{ACCURACY}/{subtask}"] + 100 * plus[subtask]
        scores: Scores = {}
        for name, subtasks in SUMS.items():
            scores[name] = sum_of(points, subtasks, len(shares[ACCURACY]))
        for subtask, value in points.items():
            scores[f"{SCORE}/{subtask}"] = value
        for subtask, value in plus.items():
            scores[f"{ACCURACY_PLUS}/{subtask}"] = value
        scores.update(shares)
        return scores


METRIC = Mme()


def sum_of(points: Scores, subtasks: Sequence[str], count: int) -> Floats:
    """Return the sum of subtasks' scores [sums]; NaN if one of them is not there."""
    total = np.zeros(count)
    for subtask in subtasks:
        if subtask not in points:
            return np.full(count, np.nan)
        total = total + points[subtask]
    return total


def check_pairs(rows: Sequence[Question]) -> None:
    """Check that each image has its two questions."""
    by_image: dict[str, list[str]] = {}
    for row in rows:
        by_image.setdefault(row.file_name, []).append(row.question)
    wrong = [image for image, questions in by_image.items() if len(questions) != QUESTIONS_OF_IMAGE]
    if not wrong:
        return
    image = wrong[0]
    questions = ", ".join(short_repr(question, 120) for question in by_image[image])
    raise ValueError(
        f"{len(wrong):,} of {len(by_image):,} images have not two questions, such as {image}: {questions}; accuracy "
        "plus needs the responses to both questions about an image. Add the other, or leave out all of the image."
    )


@takes(MmeOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to MME's questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order, both rows of each image; rows of
            mme_benchmark.jsonl also work.
        options: the fields of `MmeOptions`, by name.

    Returns:
        In points: `score/<subtask>`, 100 x accuracy + 100 x accuracy plus, in [0, 200]; `perception`, the sum over ten
        subtasks, in [0, 2000], `cognition`, over four, in [0, 800], and `hallucination`, over existence, count,
        position and color, in [0, 800], each NaN unless all of its subtasks are there.
        Fractions in [0, 1]: `accuracy` and `accuracy/<subtask>`; `accuracy_plus/<subtask>`, the share of images with
        two right answers; `unreadable`, the share of responses that the parser cannot read, which are wrong.
        Also `questions`, `images`; `mean_words`, the mean length of the responses; `thoughts`, how many responses held
        thoughts that were removed; `unfinished_thoughts`, how many are a thought without an end; `signature`;
        `interval` with a bootstrap, which leaves out one image at a time; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, and if an image has not two rows.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, METRIC.questions(references), METRIC.chosen(options))
