"""DASH-B: yes/no questions about images that make models see an object that is not there (Augustin et al., 2025).

A named rule reads each response as yes, no or neither. Half of the images show the object.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.benchmark import Dataset, Part, Score
from halluscope.benchmarks.dash_b.data import QUESTIONS, Question
from halluscope.labelled import LabelledRows, LabelledRowsOptions, Questions
from halluscope.metric import Scores
from halluscope.options import option, takes
from halluscope.responses import parsers
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import ratio
from halluscope.validation import paired

OFFICIAL = "official"

# How a question begins; others may ask for an answer in other words
ASKED = re.compile(r"Can you see an? .+ in this image\b")

RULES = {OFFICIAL: parsers.contained, parsers.STRICT: parsers.strict}


@dataclass(frozen=True)
class DashBOptions(LabelledRowsOptions):
    """The options of DASH-B's metric."""

    parser: str = option(
        OFFICIAL,
        "how a response is read (default: official, yes or no anywhere in it); all shows a row per parser",
        about='how a response is read: "official" reads "yes" anywhere in the lowercased response as yes, else "no" '
        'anywhere as no; "strict" reads a clear yes or no',
        choices=tuple(RULES),
        every=True,
    )


class DashB(LabelledRows):
    name = "dash_b"
    title = "DASH-B"
    description = """\
DASH-B asks whether each of 70 objects is in an image. In half of the 2,682 images it is; the others do not show it, and
were found because models take them to show it. A response is read as yes or no by a rule.
"""
    citation = """\
@inproceedings{augustin2025dash,
  title={{DASH}: Detection and Assessment of Systematic Hallucinations of {VLMs}},
  author={Augustin, Maximilian and Neuhaus, Yannic and Hein, Matthias},
  booktitle={Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year={2025}
}
"""
    links = ("https://arxiv.org/abs/2503.23573", "https://github.com/YanNeu/DASH-B")
    compared = (
        "With the official parser, the answers that the authors published give the same reading in all 2,682 rows: "
        "tests/benchmarks/test_labelled.py."
    )

    principal = "accuracy"
    scores = {
        "accuracy": Score("higher", is_mean=True),
        "tpr": Score("higher"),
        "tnr": Score("higher"),
        "harmonic_mean": Score("higher"),
        "unreadable": Score("lower", is_mean=True),
    }
    max_new_tokens = 64
    datasets = (
        Dataset(
            "dash_b",
            id=("question_id",),
            columns=QUESTIONS.needed,
            own=("source",),
            upstream=("img_id", "object_name", "gt"),
            # the authors' file of answers has no other id
            also_by={
                "img_id": "file_name",
                "image": "file_name",
                "image_path": "file_name",
                "object_name": "object",
                "gt": "answer",
            },
            image_key="question_id",  # file names repeat, and no two rows share an image
        ),
    )
    options_type = DashBOptions
    table = QUESTIONS
    rows_published = 2682
    labels = ("no", "yes")  # in the order of the parsers' numbers
    rules = RULES
    recalls = ("tnr", "tpr")

    def cluster_of(self, row: Question) -> int:
        return row.question_id

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (row.file_name, row.object, row.question, row.answer)

    def shown(self, row: Question) -> dict[str, Any]:
        return {"id": row.question_id, "object": row.object, "source": row.source}

    def known(self, questions: Sequence[str]) -> Part | None:
        """Say of which dataset some questions are, and whether it has more; None if they are not DASH-B's."""
        if not questions or not all(map(ASKED.match, questions)):
            return None
        return Part(self.name, lacks_rows=len(questions) < self.rows_published)

    def stated_row(self, row: Mapping[str, Any], where: str, number: int) -> Question | None:
        """Read the row that a response states itself, as the authors' answers do; None if it states none."""
        if not QUESTIONS.is_upstream(row):
            return None
        return QUESTIONS.read(row, where, number)

    def score(self, rows: Questions, sums: Counts, options: DashBOptions) -> Scores:
        scores = super().score(rows, sums, options)
        tpr = scores["tpr"]
        tnr = scores["tnr"]
        # NaN if one is undefined or both are 0
        scores["harmonic_mean"] = ratio(2 * tpr * tnr, tpr + tnr)
        return scores


METRIC = DashB()


@takes(DashBOptions)
def compute(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score an LVLM's responses to DASH-B's questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order; rows of the authors' answers also work.
        options: the fields of `DashBOptions`, by name.

    Returns:
        `accuracy`; `tpr`, the share of right answers where the object is in the image, `tnr`, where it is not, and
        their `harmonic_mean`. `unreadable` is the share of responses that the parser cannot read, which are wrong.
        Scores are fractions in [0, 1], NaN where undefined. Also `questions`, `images`; `mean_words`, the mean length
        of the responses; `thoughts`, how many responses held thoughts that were removed; `unfinished_thoughts`, how
        many are a thought without an end; `signature`; `interval` with a bootstrap, which leaves out one image at a
        time; and `per_question` if requested.

    Raises:
        ValueError: for any bad input.
    """
    responses, references = paired(predictions, references)
    return METRIC.evaluate(responses, METRIC.questions(references), METRIC.chosen(options))
