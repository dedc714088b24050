"""HumbleBench: questions with five choices, of which the last is "none of the above" (2025).

A named rule reads each response as a letter.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.benchmark import Dataset, Score
from halluscope.benchmarks.humblebench import letters
from halluscope.benchmarks.humblebench.data import LETTERS, QUESTIONS, TYPES, Question
from halluscope.labelled import LabelledRows, LabelledRowsOptions, Questions, ReadResponses
from halluscope.metric import Scores
from halluscope.options import option, takes
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import defined_mean, ratio
from halluscope.stats.tallies import Bools, rows_by
from halluscope.validation import paired

NONE_OF_THEM = "E"  # the letter of "none of the above"

COMMON = "common"
NOISE = "noise"
E_ONLY = "e-only"

EXACT = "exact"  # the counts of responses that are exactly "E", among the questions whose right answer it is


@dataclass(frozen=True)
class HumbleBenchOptions(LabelledRowsOptions):
    """The options of HumbleBench's metric."""

    parser: str = option(
        letters.OFFICIAL,
        "how a response is read (default: official, the only letter of A to E among its words); all shows a row per "
        "parser",
        about='how a response is read: "official" reads the only letter of A to E among the response\'s words, in '
        'upper or lower case, so "A dog" is A; "strict" reads a letter that the response marks as its answer, begins '
        'with, or has on a line of its own, and "none of the above" as E',
        choices=tuple(letters.RULES),
        every=True,
    )
    setting: str = option(
        COMMON,
        "what the model was shown: common (default), noise (images of noise), or e-only (without the right choice, so "
        "that E is right); published scores are those of this setting",
        about='what the model was shown: "common", the questions and their images; "noise", the same questions about '
        'images of noise; "e-only", the questions without their right choice, so that E is right in each, whatever '
        "`label` says. It is named in the signature",
        choices=(COMMON, NOISE, E_ONLY),
    )


class HumbleBench(LabelledRows):
    name = "humblebench"
    title = "HumbleBench"
    description = """\
HumbleBench asks 22,831 questions about objects, their attributes and relations, places and weather, each with five
choices. The last, E, is "none of the above": where it is right, a model has to turn down four wrong choices. A response
is read as a letter by a rule.
"""
    citation = """\
@article{tong2025measuring,
  title={Measuring Epistemic Humility in Multimodal Large Language Models},
  author={Tong, Bingkui and Xia, Jiaer and Shang, Sifeng and Zhou, Kaiyang},
  journal={arXiv preprint arXiv:2509.09658},
  year={2025}
}
"""
    links = ("https://arxiv.org/abs/2509.09658", "https://github.com/maifoundations/HumbleBench")
    compared = (
        "The official parser gives the figures of the authors' metric on 1,500 simulated replies: "
        "tests/benchmarks/test_labelled.py, which reads golden/humblebench_official.json beside HALLUSCOPE_UPSTREAM."
    )

    principal = "accuracy"
    scores = {
        "accuracy": Score("higher", is_mean=True),
        "balanced_accuracy": Score("higher"),
        "e_accuracy": Score("higher"),
        "accuracy/relation": Score("higher"),
        "accuracy/attribute": Score("higher"),
        "accuracy/category": Score("higher"),
        "accuracy/location": Score("higher"),
        "accuracy/weather": Score("higher"),
        "accuracy/object": Score("higher"),
        "recall/A": Score("higher"),
        "recall/B": Score("higher"),
        "recall/C": Score("higher"),
        "recall/D": Score("higher"),
        "recall/E": Score("higher"),
        "unreadable": Score("lower", is_mean=True),
    }
    extra_numbers = {"questions": Score(), "images": Score(), "chance": Score()}
    max_new_tokens = 64
    target = "label"
    datasets = (
        Dataset(
            "humblebench",
            id=("question_id",),
            columns=QUESTIONS.needed,
            own=("type", "label"),
            image_key="file_name",
        ),
    )
    options_type = HumbleBenchOptions
    table = QUESTIONS
    rows_published = 22831
    labels = LETTERS
    rules = letters.RULES
    recalls = ("recall/A", "recall/B", "recall/C", "recall/D", "recall/E")

    def groups(self, rows: Sequence[Question]) -> dict[str, Bools]:
        types = rows_by([row.type for row in rows], TYPES)
        return {name.lower(): is_in for name, is_in in types.items()}

    def cluster_of(self, row: Question) -> str | int:
        if row.file_name is None:
            return row.question_id
        return row.file_name

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (row.question_id, row.file_name, row.type, row.question, row.label)

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.question_id, "type": row.type}

    def count(self, rows: Questions, readings: ReadResponses, options: HumbleBenchOptions) -> Tables:
        """Also count, among the questions whose right answer is E, the responses that are exactly that."""
        cluster = self.clusters(rows.rows)
        is_asked = rows.right == LETTERS.index(NONE_OF_THEM)
        is_exact = is_asked & np.array([text == NONE_OF_THEM for text in readings.texts])
        counts = dict(super().count(rows, readings, options).counts)
        counts[EXACT] = np.stack(
            [np.bincount(cluster, weights=is_exact), np.bincount(cluster, weights=is_asked)], axis=-1
        )
        return Tables(counts)

    def score(self, rows: Questions, sums: Counts, options: HumbleBenchOptions) -> Scores:
        """Also return the share of exact E, the mean recall of the letters that are right answers, and a guess's."""
        scores = super().score(rows, sums, options)
        exact = sums[EXACT]
        scores["e_accuracy"] = ratio(exact[:, 0], exact[:, 1])
        recalls = np.stack([scores[name] for name in self.recalls], axis=-1)
        balanced = defined_mean(recalls)
        scores["balanced_accuracy"] = balanced
        chance = 1 / len(LETTERS)
        if options.setting == E_ONLY:  # four choices are left, but five where E was right before
            chance = math.nan
        scores["chance"] = np.full_like(balanced, chance)
        return scores

    def refusals(self, rows: Questions, total: Counts, options: HumbleBenchOptions) -> dict[str, str]:
        return {"chance": "It depends on no response."}

    def warn(
        self,
        texts: Sequence[str],
        rows: Questions,  # type: ignore[override]
        readings: ReadResponses,
        result: dict[str, Any],
        options: HumbleBenchOptions,
    ) -> None:
        super().warn(texts, rows, readings, result, options)
        without_image = sum(row.file_name is None for row in rows)
        if options.bootstrap and without_image:
            warnings.warn(
                f"{without_image:,} of the {len(rows):,} questions do not say which image they are about (file_name): "
                "intervals take each for an image of its own, so they are too narrow.",
                stacklevel=3,
            )

    def signed(self, rows: Questions, readings: ReadResponses, options: HumbleBenchOptions) -> dict[str, Any]:
        signed = {}
        if options.setting != COMMON:
            signed["setting"] = options.setting
        signed["parser"] = options.parser
        return signed


METRIC = HumbleBench()


def without_right_choice(questions: Questions) -> Questions:
    """Return questions whose right choice was taken away, as the authors' script does: E is right in each."""
    return Questions(questions.rows, np.full_like(questions.right, LETTERS.index(NONE_OF_THEM)))


@takes(HumbleBenchOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to HumbleBench's questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order; `label` and `type` are enough.
        options: the fields of `HumbleBenchOptions`, by name.

    Returns:
        `accuracy` and `accuracy/<type>`; `balanced_accuracy`, the mean of the letters' recalls (`recall/<letter>`);
        `e_accuracy`, among the questions whose right answer is E the share of responses that are exactly "E"; `chance`,
        the accuracy of a guess (NaN with "e-only"). `unreadable` is the share of responses that the parser cannot read,
        which are wrong. Scores are fractions in [0, 1], NaN where undefined. Also `questions`, `images`; `mean_words`,
        the mean length of the responses; `thoughts`, how many responses held thoughts that were removed;
        `unfinished_thoughts`, how many are a thought without an end; `signature`; `interval` with a bootstrap, which
        leaves out one image at a time; and `per_question` if requested.

    Raises:
        ValueError: for any bad input.
    """
    responses, references = paired(predictions, references)
    chosen = METRIC.chosen(options)
    questions = METRIC.questions(references)
    if chosen.setting == E_ONLY:
        questions = without_right_choice(questions)
    return METRIC.evaluate(responses, questions, chosen)
