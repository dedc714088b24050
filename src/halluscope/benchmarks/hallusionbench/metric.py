"""HallusionBench: language hallucination and visual illusion, told apart by control pairs (Guan et al., CVPR 2024)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from halluscope.benchmark import Column, Dataset, Judges, Preset, Score
from halluscope.benchmarks.hallusionbench import asking
from halluscope.benchmarks.hallusionbench.asking import CORRECTNESS, SAME
from halluscope.benchmarks.hallusionbench.counting import adds_of, expected_by_chance, sizes_of
from halluscope.benchmarks.hallusionbench.data import QUESTIONS, Question
from halluscope.benchmarks.hallusionbench.diagnosis import FAILURES
from halluscope.benchmarks.hallusionbench.given import Given, ReadReply, given
from halluscope.benchmarks.hallusionbench.judging import Judgement, judge
from halluscope.benchmarks.hallusionbench.layout import (
    LMMS_EVAL,
    OFFICIAL,
    QUESTIONS_OF_PROTOCOL,
    Layout,
    Scored,
    is_counted,
)
from halluscope.benchmarks.hallusionbench.options import HallusionBenchOptions
from halluscope.benchmarks.hallusionbench.reading import OUR_RULE, RULES
from halluscope.judged import SPEAKS, Adds, Judged, by_cluster, mean_of, speakers
from halluscope.judging.verdicts import UNREAD_REPLY, Criterion
from halluscope.metric import Scores
from halluscope.options import takes
from halluscope.responses import lengths
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.sanitize import encodable
from halluscope.signature import data_of
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts, Range
from halluscope.stats.ratios import Floats
from halluscope.validation import paired, warn_of_a_part

HEADLINE = ("aAcc", "qAcc", "fAcc")
OVERALL = "overall"  # their mean


class HallusionBench(Judged):
    name = "hallusionbench"
    title = "HallusionBench"
    description = """\
HallusionBench asks yes/no questions about original and edited images, and asks the same questions without an image.
Judged responses become accuracies per question, control pair and figure, a yes/no bias, a consistency test, and a
diagnosis: does the model fail because it relies on what it knows (language hallucination), or because it misreads the
image (visual illusion)?
"""
    citation = """\
@inproceedings{guan2024hallusionbench,
  title={{HallusionBench}: An Advanced Diagnostic Suite for Entangled Language Hallucination
         and Visual Illusion in Large Vision-Language Models},
  author={Guan, Tianrui and Liu, Fuxiao and Wu, Xiyang and Xian, Ruiqi and Li, Zongxia and Liu, Xiaoyu and Wang, Xijun
          and Chen, Lichang and Huang, Furong and Yacoob, Yaser and Manocha, Dinesh and Zhou, Tianyi},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages={14375--14385},
  year={2024}
}
"""
    links = ("https://arxiv.org/abs/2310.14566", "https://github.com/tianyi-lab/HallusionBench")
    compared = (
        "Its scores equal those of the authors' script for the same verdicts: "
        "tests/benchmarks/test_hallusionbench.py, tests/golden/hallusionbench_official.json."
    )

    principal = "aAcc"
    presets = {
        "preference": Preset(
            4,
            (
                Column("aAcc", "aAcc"),
                Column("fAcc", "fAcc"),
                Column("qAcc", "qAcc"),
                Column(OVERALL, "Overall"),
            ),
        )
    }
    scores = {
        "aAcc": Score("higher", is_mean=True),
        "qAcc": Score("higher"),
        "fAcc": Score("higher"),
        "easy_aAcc": Score("higher"),
        "hard_aAcc": Score("higher"),
        "pct_diff": Score(is_points=True),
        "fp_ratio": Score(is_points=True),
        "correct": Score("higher"),
        "inconsistent": Score("lower"),
        "wrong": Score("lower"),
        "figure_score": Score("higher"),
        "language_hallucination": Score(),
        "visual_illusion": Score(),
        "mixed": Score(),
        "unread": Score("lower"),
    }
    extra_numbers = {
        "questions": Score(),
        "images": Score(),
        "uncertain": Score(),
        OVERALL: Score("higher"),
        "pairs": Score(),
        "figures": Score(),
        "sets": Score(),
    }
    ranges = {**Judged.ranges, "pct_diff": Range(-1.0, 1.0)}
    target = "gt_answer"
    datasets = (
        Dataset(
            "hallusionbench",
            id=("category", "subcategory", "set_id", "figure_id", "question_id"),
            columns=("visual_input", "question", "gt_answer", "figure"),
            index=("category", "subcategory", "visual_input", "set_id", "figure_id", "question_id"),
            image_key="figure",
            file="filename",
            harness={"protocol": "lmms-eval"},
        ),
    )
    judges = Judges(
        "verdicts",
        default=OUR_RULE.name,
        rules=tuple(RULES),
        published="GPT-4, in a version of 2023 that is retired and can no longer be asked, and two of them by people",
    )
    options_type = HallusionBenchOptions
    table = QUESTIONS
    criteria = (Criterion("right", bool),)  # what people may mark
    unread = "unread"

    # The dataset's rows

    def inputs(self, rows: Sequence[Question]) -> dict[str, Any]:  # type: ignore[override]
        """Return the arguments of `compute` for rows; no file of verdicts is read."""
        return {"references": rows}

    def wanted(self, row: Question, *, protocol: str = OFFICIAL) -> bool:
        """Whether a protocol counts a question."""
        return is_counted(row, protocol)

    def options_of_part(self, rows: int) -> list[str]:
        """Return the protocol that counts just the questions with a visual, if there are so many."""
        if rows == QUESTIONS_OF_PROTOCOL[LMMS_EVAL]:
            return ["--protocol", LMMS_EVAL]
        return []

    def other_answers(self, row: Question) -> tuple[str, ...]:
        """Return the right answer in a sentence, which stands beside yes or no."""
        return (row.gt_answer_details,)

    def cluster_of(self, row: Question) -> str:
        return row.set

    def identity(self, row: Question) -> tuple[Any, ...]:
        return (*row.id, row.question, row.yes, row.gt_answer_details)

    def shown(self, row: Question) -> dict[str, Any]:
        return {"question": row.title}

    def fields(self, row: Question) -> dict[str, str]:
        return {"question": row.question}

    def leaves_out(self, rows: Any) -> str:
        return "sets"

    # Scores

    def read(self, texts: Sequence[str], rows: Scored, options: HallusionBenchOptions) -> Judgement:
        warn_of_a_part(len(rows), QUESTIONS_OF_PROTOCOL[options.protocol])
        return judge(texts, rows, options)

    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        """Return what people's marks add."""
        return {"aAcc": mean_of(values["right"])}

    def count(self, rows: Scored, readings: Judgement, options: HallusionBenchOptions) -> Tables:
        """Count, for each score, the sum of what rows add to it, and how many count: [sets, repeats, 2]."""
        cluster = rows.layout.set
        every = np.ones(len(rows), dtype=bool)
        words = np.stack(lengths.tally(readings.texts, cluster), axis=-1).astype(float)
        by_repeat: dict[str, list[Floats]] = {}  # score -> counts of each repeat [sets, 2]
        for verdicts in readings.each():
            for name, adds in adds_of(rows.layout, verdicts).items():
                by_repeat.setdefault(name, []).append(by_cluster(adds, every, cluster))
            by_repeat.setdefault(MEAN_WORDS, []).append(words)
        # a result has the declared scores first, in their order
        names = [name for name in self.scores if name in by_repeat]
        names += [name for name in by_repeat if name not in self.scores]
        return Tables({name: np.stack(by_repeat[name], axis=1) for name in names})

    def by_repeat(self, sums: Counts) -> Scores:
        """Return also `overall`, the mean of the headline's scores."""
        scores = super().by_repeat(sums)
        scores[OVERALL] = np.mean([scores[name] for name in HEADLINE], axis=0)
        return scores

    # What else a result holds

    def facts(
        self, rows: Scored, readings: Judgement, total: Counts, options: HallusionBenchOptions
    ) -> dict[str, Any]:
        facts: dict[str, Any] = {"unread": readings.unread}
        facts["uncertain"] = readings.uncertain
        facts["questions"] = len(rows)
        facts["pairs"] = len({row.pair for row in rows})
        facts["figures"] = len({row.figure for row in rows} - {None})
        facts["sets"] = len({row.set for row in rows})
        facts["counts"] = sizes_of(rows.layout)
        facts[SPEAKS] = speakers(rows, readings.texts)
        if readings.by_model:
            facts["verdicts"] = digest_of(rows, readings)
        if readings.repeats > 1:
            facts["spread"] = self.spread(total)
        if options.per_question:
            facts["per_question"] = [
                self.question_of(row, number, readings) for number, row in enumerate(rows)
            ]
        return facts

    def question_of(self, row: Question, number: int, readings: Judgement) -> dict[str, Any]:
        """Return what is found in a row: the first repeat's verdict, and why the response fails."""
        failure = None
        if readings.failure is not None:
            failure = FAILURES[readings.failure[0, number]] or None
        question = {
            "question": row.title,
            "correctness": int(readings.correctness[0, number]),
            "aAcc": bool(readings.right[0, number]),
            "failure": failure,
            "unread": bool(readings.is_unread[0, number]),
        }
        if readings.unread_replies.get(number):
            question[UNREAD_REPLY] = encodable(readings.unread_replies[number])
        if readings.repeats > 1:
            question["repeats"] = {"correctness": readings.correctness[:, number].tolist()}
        return question

    def signed(self, rows: Scored, readings: Judgement, options: HallusionBenchOptions) -> dict[str, Any]:
        return dict(readings.key)


METRIC = HallusionBench()


def digest_of(rows: Scored, readings: Judgement) -> str:
    """Return a digest that tells a language model's verdicts from others."""
    codes = [readings.correctness]
    if readings.same is not None:
        codes.append(readings.same.astype(int))
    verdicts = []
    for row, codes_of_row in zip(rows, np.concatenate(codes).T.tolist(), strict=True):
        verdicts.append(list(row.id) + codes_of_row)
    return data_of("verdicts", verdicts)


def reader_of(kind: str, options: HallusionBenchOptions) -> ReadReply:
    """Return what reads the texts that a user gives, as replies to a prompt."""
    if options.reads_officially:
        return lambda reply: asking.read_officially(reply, kind)
    as_they_are = {word: word for word in asking.CODES[kind]}
    return lambda reply: asking.read(reply, as_they_are)


def counted_rows(questions: Sequence[Question], protocol: str) -> list[int]:
    """Return the rows that a protocol counts."""
    rows = [row for row, question in enumerate(questions) if is_counted(question, protocol)]
    if not rows:
        raise ValueError(
            f"No question has a visual, and the protocol {protocol!r} counts only those that have one."
        )
    return rows


def given_of(kind: str, values: Any, rows: int, options: HallusionBenchOptions) -> Given:
    """Return the verdicts of a kind that a user gives on all rows."""
    key = options.key_of(options.prompts_of_texts)
    return given(kind, values, rows, asking.CODES[kind], read=reader_of(kind, options), key=key)


def chance(references: Iterable[Any], protocol: str = OFFICIAL) -> dict[str, float]:
    """Return the expected scores of a model that tosses a coin for yes or no.

    Table 2's "Random Chance" is one such run, judged by GPT-4.
    """
    questions = QUESTIONS.read_all(references)
    return expected_by_chance(Layout([row for row in questions if is_counted(row, protocol)]))


@takes(HallusionBenchOptions)
def compute(
    predictions: Sequence[str],
    references: Sequence[Any],
    *,
    correctness: Any = None,
    same: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Score an LVLM's responses to HallusionBench's questions.

    The judge "rules", the default, and "vlmevalkit", which reads yes and no as that harness does without its judge,
    need no model; section 4.1 judges three times.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order; upstream's own rows also work.
        correctness: 0 incorrect, 1 correct, 2 uncertain, one per row, or a judge's text in every row. If given, no
            judge is asked.
        same: 1 if the response agrees with the response to the control question, else 0, one per row, or a judge's text
            in every row. If given, no judge is asked.
        options: the fields of `HallusionBenchOptions`, by name.

    Returns:
        Fractions in [0, 1]: `aAcc` (equation 3), `qAcc` (equation 5), `fAcc` (equation 4); `easy_aAcc`, the share of
        pairs whose responses about the original or no image are all right; `hard_aAcc`, the same for edited images;
        `figure_score`, the mean over figures of the share of right responses; `correct`, `inconsistent` and `wrong`,
        shares of the figures (section 4.3.2); `language_hallucination`, `visual_illusion` and `mixed`, shares of the
        failed responses (Figure 3); and `fp_ratio` (equation 7). `pct_diff` (equation 6) is in [-1, 1]. By category, as
        in the authors' script: `aAcc/VD`, `qAcc/VD`, `fAcc/VD`, `easy_aAcc/VD`, `hard_aAcc/VD`, `figure_score/VD`, and
        the same for "VS"; the script's column "Wrong" per figure is 1 - `fAcc`. By subcategory:
        `aAcc/<category>/<subcategory>`. A share of nothing is NaN: `fp_ratio` and the diagnosis for a perfect model,
        and the diagnosis without the questions that have no visual ("lmms-eval", "vlmevalkit"). `overall`, the mean of
        `aAcc`, `qAcc` and `fAcc`, is the headline of VLMEvalKit. `unread`, the share of unreadable responses or
        verdicts, which count as uncertain; `uncertain`, the share of responses that were read as uncertain (both are
        None for given verdicts); `pairs`; `figures`; `counts`, the `easy_questions`, `hard_questions` and `figures` of
        each category, as the script prints them.
        Also `questions`, `sets`; `mean_words`, the mean length of the responses; `thoughts`, how many responses held
        thoughts that were removed; `unfinished_thoughts`, how many are a thought without an end; `speaks_to_judge`, the
        ids of rows whose responses seem to speak to a judge; `signature`; `verdicts`, a digest of a language model's
        verdicts; `interval` with a bootstrap, which leaves out one set at a time, because questions about one depend on
        each other; `spread` with repeats, the least and greatest value of each score; and `per_question` if requested.

    Raises:
        ValueError: for any bad input, before a model is asked.
        JudgingFailed: if more than `max_failed` of the replies cannot be read.
    """
    responses, references = paired(predictions, references)
    chosen = METRIC.chosen(options)
    questions = QUESTIONS.read_all(references)
    rows = counted_rows(questions, chosen.protocol)
    verdicts = {}
    for kind, values in ((CORRECTNESS, correctness), (SAME, same)):
        if values is not None:
            verdicts[kind] = given_of(kind, values, len(questions), chosen).among(rows)
    scored = Scored([questions[row] for row in rows], verdicts)
    return METRIC.evaluate([responses[row] for row in rows], scored, chosen)
