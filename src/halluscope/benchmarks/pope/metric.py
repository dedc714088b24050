"""POPE: yes/no questions about single objects (Li et al., EMNLP 2023), sampled, or complete (THRONE, section 5.4).

A named rule reads each response as yes, no or neither. Yes is the positive class.
"""

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmark import Column, Dataset, Preset, Score
from halluscope.benchmarks.pope.counting import (
    CONVENTIONS,
    Convention,
    class_refusals,
    own_convention,
    precision_recall,
    scores_of,
)
from halluscope.benchmarks.pope.rows import SAMPLINGS
from halluscope.labelled import Answers, Labelled
from halluscope.metric import Options, Scores
from halluscope.options import Option, check_effect, option, takes
from halluscope.reading.yes_no_labels import as_words
from halluscope.responses import parsers
from halluscope.signature import BETWEEN_VALUES, data_of_lines, data_of_texts
from halluscope.stats.counts import Cells
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import numbers, rows_of
from halluscope.validation import Id, ids, listed, paired, texts, word, words

LABELS = ("no", "yes")  # in the order of their numbers, NO and YES

PARSERS = (*parsers.PARSERS, parsers.VCD)

READ_ALL = ("pope", parsers.VCD)  # the parsers that leave no response unreadable

COUNTS = "answers"  # the name of the counts


@dataclass(frozen=True)
class PopeOptions(Options):
    """The options of POPE's metric."""

    parser: str = option(
        "pope",
        "how a response is read (default: pope, the official rule); all shows a row per parser but vcd",
        about='how a response is read: "pope" (official), "strict", "lmms-eval", "vlmevalkit", "repope", '
        '"first-word", or "vcd", which reads by the right answer; see `halluscope.responses.parsers`',
        choices=PARSERS,
        every=True,
        apart=(parsers.VCD,),
    )
    convention: str | None = option(
        None,
        "how unreadable responses are counted (default: as in the project whose parser is used)",
        choices=tuple(CONVENTIONS),
    )
    per_class: bool = option(
        False,
        "also print a table of the classes",
        about="also give the table `classes`; needs `objects`",
    )
    per_question: bool = option(
        False,
        about="also give, for each question, how the response was read, and its own value of `accuracy`, "
        "`yes_ratio` and `unparsed`",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_convention()

    def _check_convention(self) -> None:
        """Refuse another convention where it cannot matter: a parser that reads every response leaves none to count."""
        own = own_convention(self.parser)
        if self.parser not in READ_ALL or self.convention_name == own:
            return
        moves_yes_ratio = self.counting.yes_of_labels != CONVENTIONS[own].yes_of_labels
        if not moves_yes_ratio:
            why = f"the parser {self.parser!r} reads every response as yes or no, so none is counted by a convention"
            check_effect({"convention": self.convention}, ["convention"], why)

    @property
    def convention_name(self) -> str:
        """The name of the convention that is used."""
        return self.convention or own_convention(self.parser)

    @property
    def counting(self) -> Convention:
        """The convention that is used."""
        return CONVENTIONS[self.convention_name]


@dataclass(frozen=True)
class Groups:
    """The rows in groups, such as classes."""

    names: list[Any]
    number: NDArray[np.int64]  # of each row's group: [rows]

    @classmethod
    def of(cls, values: Sequence[Any] | None, rows: int, order: Sequence[Any] = ()) -> "Groups":
        """Group rows by a value, in this order of the values; without values, all rows are one group."""
        if values is None:
            return cls([None], np.zeros(rows, dtype=np.int64))
        names = list(dict.fromkeys(values))
        if order:
            names = [name for name in order if name in names]
        numbers = {name: number for number, name in enumerate(names)}
        return cls(names, np.fromiter((numbers[value] for value in values), np.int64, rows))


@dataclass(frozen=True)
class Questions:
    """The questions that were answered: columns with an entry per question."""

    answers: list[str]
    objects: list[Id] | None = None
    sampling: list[str] | None = None
    image_ids: list[Id] | None = None
    questions: list[str] | None = None
    forms: list[str] | None = None

    @cached_property
    def right(self) -> Answers:
        """The right answers' numbers."""
        return np.array([answer == "yes" for answer in self.answers], dtype=np.int8)

    @cached_property
    def samplings(self) -> Groups:
        return Groups.of(self.sampling, len(self.answers), SAMPLINGS)

    @cached_property
    def classes(self) -> Groups:
        return Groups.of(self.objects, len(self.answers))

    def only(self, is_scored: Sequence[bool], answers: Sequence[str]) -> "Questions":
        """Return some of the questions, with other answers."""

        def some(values: list[Any] | None) -> list[Any] | None:
            if values is None:
                return None
            return [value for value, is_kept in zip(values, is_scored, strict=True) if is_kept]

        return Questions(
            answers=list(answers),
            objects=some(self.objects),
            sampling=some(self.sampling),
            image_ids=some(self.image_ids),
            questions=some(self.questions),
            forms=some(self.forms),
        )


class Pope(Labelled):
    name = "pope"
    title = "POPE"
    description = """\
POPE measures object hallucination in the responses of large vision-language models to questions such as "Is there a dog
in the image?". A named rule reads each response as yes, no or neither; yes is the positive class.
"""
    citation = """\
@inproceedings{li2023pope,
  title={Evaluating Object Hallucination in Large Vision-Language Models},
  author={Li, Yifan and Du, Yifan and Zhou, Kun and Wang, Jinpeng and Zhao, Wayne Xin and Wen, Ji-Rong},
  booktitle={Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing},
  pages={292--305},
  year={2023}
}
"""
    links = ("https://arxiv.org/abs/2305.10355",)
    compared = (
        "The metric gives the scores of the authors' script for the same responses: tests/benchmarks/test_pope.py, "
        "tests/golden/pope_official.json."
    )

    principal = "accuracy"
    presets = {
        "decoding": Preset(1, (Column("accuracy", "Acc."), Column("f1_mean", "F1"))),
        "preference": Preset(5, (Column("f1_mean", "F1"),)),
    }
    scores = {
        "accuracy": Score("higher", is_mean=True),
        "precision": Score("higher"),
        "recall": Score("higher"),
        "f1": Score("higher"),
        "f0.5": Score("higher"),
        "precision_cls": Score("higher"),
        "recall_cls": Score("higher"),
        "f1_cls": Score("higher"),
        "f0.5_cls": Score("higher"),
        "yes_ratio": Score(is_mean=True),
        "unparsed": Score("lower", is_mean=True),
    }
    extra_numbers = {
        "accuracy_mean": Score("higher"),
        "f1_mean": Score("higher"),
        "undefined_classes": Score(),
        "rows": Score(),
    }
    items = "per_question"
    max_new_tokens = 64
    prompts = {"short": "{question}\nAnswer the question using a single word or phrase."}
    datasets = (
        Dataset(
            "pope",
            id=("question_id",),
            columns=("image_id", "object", "question", "answer"),
            also={"sampling": SAMPLINGS},
            config="coco",
            builder="build:QUESTIONS",
            harness_task={"lmms_eval": "halluscope_pope"},
        ),
        Dataset(
            "repope",
            id=("question_id",),
            columns=("image_id", "object", "question", "answer", "labels"),
            also={"sampling": SAMPLINGS},
            own=("question_id", "image_id", "object", "question", "answer"),
            builder="build:CORRECTED",
        ),
        Dataset(
            "pope_c",
            id=("question_id",),
            columns=("image_id", "object", "question", "answer"),
            config="questions",
            images="images",
            builder="complete:COMPLETE",
        ),
        Dataset(
            "pope_c_objects365",
            id=("question_id",),
            columns=("image_id", "object", "question", "answer"),
            config="questions",
            images="images",
            builder="complete:COMPLETE_OBJECTS365",
        ),
    )
    options_type = PopeOptions
    row_options = (
        Option("sampling", "score only the questions of this sampling", choices=SAMPLINGS),
        Option(
            "corrected",
            "also score by these corrected right answers: RePOPE's dataset or files",
            many=True,
            metavar="DATASET",
        ),
    )
    labels = LABELS

    def read(self, texts: Sequence[str], rows: Questions, options: PopeOptions) -> Answers:
        if options.parser == parsers.VCD:
            return parsers.by_label(texts, rows.right.view(bool))
        return parsers.read(texts, options.parser)

    def read_strictly(self, texts: Sequence[str]) -> Answers:
        return parsers.read(texts, parsers.STRICT)

    def is_read_by_strict(self, rows: Questions, options: PopeOptions) -> bool:
        # `strict` cannot read answers to negated questions
        is_for_forms = options.parser == parsers.FIRST_WORD and rows.forms is not None
        return is_for_forms or super().is_read_by_strict(rows, options)

    def reads_empty_as(self, options: PopeOptions) -> str:
        return parsers.of_empty(options.parser)

    def count(self, rows: Questions, readings: Answers, options: PopeOptions) -> Cells:
        """Count answers: [samplings, classes, 2 labels, 3 readings]."""
        shape = (len(rows.samplings.names), len(rows.classes.names), len(LABELS), len(LABELS) + 1)
        place = (rows.samplings.number, rows.classes.number, rows.right, readings)
        images = None
        if rows.image_ids is not None:
            images = numbers(rows.image_ids)
        return Cells(COUNTS, shape, np.ravel_multi_index(place, shape), images)

    def score(self, rows: Questions, sums: Counts, options: PopeOptions) -> Scores:
        answers = sums[COUNTS]
        has_classes = rows.objects is not None
        scores = scores_of(answers.sum(axis=1), options.counting, has_classes)
        if rows.sampling is None:
            return scores
        accuracy = []
        f1 = []
        for number, sampling in enumerate(rows.samplings.names):
            part = scores_of(answers[:, number], options.counting, has_classes)
            accuracy.append(part["accuracy"])
            f1.append(part["f1"])
            for name, values in part.items():
                scores[f"{name}/{sampling}"] = values
        scores["accuracy_mean"] = np.mean(accuracy, axis=0)
        scores["f1_mean"] = np.mean(f1, axis=0)
        return scores

    def facts(
        self, rows: Questions, readings: Answers, total: Counts, options: PopeOptions
    ) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for part, answers in self._tables(rows, total).items():
            facts[f"rows{part}"] = int(answers.sum())
            if rows.objects is not None:
                precision, recall = precision_recall(answers, options.counting)
                facts[f"undefined_classes{part}"] = int(np.isnan(precision + recall).sum())
        if options.per_class:
            facts["classes"] = self._classes(rows, total, options)
        if options.per_question:
            facts["per_question"] = self._questions(rows, readings, options)
        return facts

    def refusals(self, rows: Questions, total: Counts, options: PopeOptions) -> dict[str, str]:
        refused = {}
        if rows.objects is not None:
            for part, answers in self._tables(rows, total).items():
                for name, reason in class_refusals(answers, options.counting).items():
                    refused[f"{name}{part}"] = reason
        return refused

    def data(self, rows: Questions) -> str:
        known = (rows.image_ids, rows.objects, rows.sampling, rows.questions)
        if all(values is None for values in known):  # each row is one of two lines
            line_of = {answer: BETWEEN_VALUES.join(["", "", "", "", answer]) for answer in set(rows.answers)}
            return data_of_lines(self.name, [line_of[answer] for answer in rows.answers])
        columns: list[Iterable[str]] = []
        for values in known:
            if values is None:
                columns.append([""] * len(rows.answers))
            else:
                columns.append(map(str, values))
        return data_of_texts(self.name, zip(*columns, rows.answers, strict=True))

    def signed(self, rows: Questions, readings: Answers, options: PopeOptions) -> dict[str, Any]:
        signed: dict[str, Any] = {"parser": options.parser}
        if options.convention_name != own_convention(options.parser):
            signed["convention"] = options.convention_name
        signed["objects"] = "no"
        if rows.objects is not None:
            signed["objects"] = len(rows.classes.names)
        signed["sampling"] = "no"
        if rows.sampling is not None:
            signed["sampling"] = rows.samplings.names
        return signed

    def forms(self, rows: Questions) -> Sequence[str]:
        return rows.forms or ()

    def leaves_out(self, rows: Questions) -> str:
        return "rows" if rows.image_ids is None else "images"

    def _tables(self, rows: Questions, total: Counts) -> dict[str, Floats]:
        """Return the counts [classes, labels, readings] of all rows and each sampling, by the ends of their names.

        The classes are those that the questions of the sampling are about.
        """
        answers = total[COUNTS][0]
        tables = {"": answers.sum(axis=0)}
        if rows.sampling is not None:
            for number, sampling in enumerate(rows.samplings.names):
                is_asked = answers[number].any(axis=(1, 2))
                tables[f"/{sampling}"] = answers[number, is_asked]
        return tables

    def _classes(self, rows: Questions, total: Counts, options: PopeOptions) -> dict[Any, dict[str, Any]]:
        """Return the scores of each class."""
        answers = total[COUNTS][0].sum(axis=0)[:, np.newaxis]
        table: dict[str, Any] = {"rows": answers.sum(axis=(1, 2, 3)).astype(int)}
        table.update(scores_of(answers, options.counting))
        del table["unparsed"]
        return dict(zip(rows.classes.names, rows_of(table), strict=True))

    def _questions(self, rows: Questions, readings: Answers, options: PopeOptions) -> list[dict[str, Any]]:
        """Return how each response was read, and what it adds to the scores that are means."""
        # of up to a million rows only a few differ, so each of these is made once
        question_of: dict[tuple[str, int], dict[str, Any]] = {}
        for label in LABELS:
            for answer in set(readings.tolist()):
                question_of[label, answer] = self._question(label, self.word_of(answer), options)
        pairs = zip(rows.answers, readings.tolist(), strict=True)
        return [dict(question_of[pair]) for pair in pairs]

    def _question(self, label: str, reading: str | None, options: PopeOptions) -> dict[str, Any]:
        """Return how a response was read, and what it adds to the scores that are means."""
        question = {
            "answer": label,
            "said": reading,
            "accuracy": None,
            "yes_ratio": None,
            "unparsed": reading is None,
        }
        if options.counting.unread_wrong or reading is not None:
            counted_as = label if options.counting.yes_of_labels else reading
            question["accuracy"] = reading == label
            question["yes_ratio"] = counted_as == "yes"
        return question


METRIC = Pope()


@takes(PopeOptions)
def compute(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    objects: Sequence[Id] | None = None,
    sampling: Sequence[str] | None = None,
    image_ids: Sequence[Hashable] | None = None,
    questions: Sequence[str] | None = None,
    forms: Sequence[str] | None = None,
    corrected: Sequence[str | None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score an LVLM's responses to yes/no questions about objects. Yes is the positive class.

    An unreadable response is wrong in accuracy and does not count as yes. So it does not enter precision, and a present
    object without a readable response is missed. With the convention "lmms-eval" an unreadable response does not
    enter recall either, and the yes ratio is that of the ground truth, as in the harness lmms-eval. With "repope" an
    unreadable response is left out of every score but `unparsed`, as in RePOPE's script.

    Args:
        predictions: the LVLM's raw responses, one per question.
        references: the right answers, "yes" or "no", one per question: a list, an array, a column of a table, or a
            tensor. On both sides True and 1 are taken for "yes", False and 0 for "no", and right answers may have
            capitals ("Yes").
        objects: the class that each question asks about; adds averages over classes.
        sampling: "random", "popular" or "adversarial" for each question; adds the scores of each sampling.
        image_ids: the image of each question; intervals then leave out one image at a time, because the responses about
            one image depend on each other. Without images they leave out questions.
        questions: the text of each question, for the digest of the data in the signature; it changes no score.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        corrected: corrected right answers to the same questions, such as RePOPE's (Neuhaus and Hein, 2025): "yes",
            "no", or None for a question to leave out; the same responses are also scored by them.
        options: the fields of `PopeOptions`, by name.

    Returns:
        `accuracy precision recall f1 f0.5`, `yes_ratio`, the share of responses read as yes, and `unparsed`,
        the share of unreadable responses, fractions in [0, 1], NaN where undefined; `rows`; `thoughts`, the number of
        responses from which a thought was removed, and `unfinished_thoughts`, of those that are a thought without an
        end; `signature`; and on request `interval`, `classes` and `per_question`.
        With `objects` also `precision_cls recall_cls f1_cls f0.5_cls`, where F is that of the two averages, and
        `undefined_classes`, the number of classes without a precision or a recall.
        With `sampling` also the same scores of each sampling, such as `accuracy/random`, and `accuracy_mean` and
        `f1_mean`, the means of the samplings' accuracies and F1 (with samplings of unequal sizes, `accuracy` is another
        number).
        With `corrected` also `corrected`, the result by the corrected answers (without `per_question`), with a
        signature of its own, and `difference`, for each of the first seven scores its value by the corrected answers
        minus its value by `references`.

    Raises:
        ValueError: for any bad input.
    """
    responses, references = paired(as_words(predictions), as_words(references, any_case=True))
    answers = words("references", references, ("yes", "no"))
    columns: dict[str, Any] = {}
    if objects is not None:
        columns["objects"] = ids("objects", objects, len(answers))
    if sampling is not None:
        columns["sampling"] = words("sampling", sampling, SAMPLINGS, len(answers))
    if image_ids is not None:
        columns["image_ids"] = ids("image_ids", image_ids, len(answers))
    if questions is not None:
        columns["questions"] = texts("questions", questions, len(answers))
    if forms is not None:
        columns["forms"] = texts("forms", forms, len(answers))
    rows = Questions(answers, **columns)
    corrections = None
    if corrected is not None:
        corrections = corrected_answers(corrected, len(answers))
    chosen = METRIC.chosen(options)
    if chosen.per_class and objects is None:
        raise ValueError("per_class needs objects: the class that each question asks about.")
    result = METRIC.evaluate(responses, rows, chosen)
    if corrections is not None:
        result.update(compared_with(corrections, responses, rows, options, result))
    return result


def corrected_answers(corrected: Any, rows: int) -> list[str | None]:
    """Return corrected answers, checked."""
    answers = listed(
        "corrected", as_words(corrected, any_case=True), "a list, 'yes', 'no' or None per row", rows
    )
    for row, answer in enumerate(answers):
        if answer is not None:
            word(f"corrected[{row}]", answer, ("yes", "no"))
    if not any(answers):
        raise ValueError(
            "corrected has no answer to any of the questions; expected 'yes', 'no' or None per row."
        )
    return answers


def compared_with(
    corrected: Sequence[str | None],
    responses: Sequence[str],
    rows: Questions,
    options: Mapping[str, Any],
    result: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the result by corrected answers, and how far it is from the one by the questions' own."""
    is_scored = [answer is not None for answer in corrected]
    scored = rows.only(is_scored, [answer for answer in corrected if answer is not None])
    scored_responses = [text for text, is_kept in zip(responses, is_scored, strict=True) if is_kept]
    chosen = METRIC.chosen({name: value for name, value in options.items() if name != "per_question"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about the same responses
        by_corrected = METRIC.evaluate(scored_responses, scored, chosen)
    difference = {}
    for name in ("accuracy", "precision", "recall", "f1", "f0.5", "yes_ratio", "unparsed"):
        difference[name] = by_corrected[name] - result[name]
    return {"corrected": by_corrected, "difference": difference}
