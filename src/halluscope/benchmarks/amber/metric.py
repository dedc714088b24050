"""AMBER: hallucination in descriptions, and in responses to yes/no questions (Wang et al., 2023).

No model is asked: a description's nouns are compared with annotated words, and each response to a question is read by
a named rule.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import Column, Dataset, Part, Preset, Score
from halluscope.benchmarks.amber import conventions, counting, data
from halluscope.benchmarks.amber.data import ROWS, TASKS, AmberRow
from halluscope.benchmarks.amber.reading import (
    OFFICIAL,
    RULES,
    Description,
    Readings,
    describe,
    nouns_in,
)
from halluscope.benchmarks.amber.words import synonyms_of
from halluscope.judging.votes import OTHER, YES
from halluscope.mentions.nothing_named import warn_if_nothing_is_named
from halluscope.metric import Options, Scores
from halluscope.naming import named
from halluscope.options import check_effect, option, takes
from halluscope.reading.words import readers
from halluscope.responses import parsers, read_otherwise
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.rows_metric import RowsMetric
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.counts import ClusterCounts, Tables
from halluscope.stats.intervals import Counts, LeftOut, leave_out, shifted
from halluscope.stats.row_order import warn_if_shuffled
from halluscope.validation import paired

# The columns of the table of rows that one of the two tasks fills; None in rows of the other
COLUMNS_OF_DESCRIPTIONS = ("mentions", "places", "hallucinated", "missed", "imagined", "hal")
COLUMNS_OF_ANSWERS = ("answer", "said", "accuracy", "unreadable")

# Why a score has no interval where the exact one is undefined
OF_NOTHING = "It is, or rests on, a share of nothing, which is 0 by this convention."


def check_reader(reader: Any) -> str:
    """Check the name of a reader of nouns."""
    return readers.check(reader, readers.NOUNS)


@dataclass(frozen=True)
class AmberOptions(Options):
    """The options of AMBER's metric."""

    convention: str = option(
        conventions.EXACT,
        "exact scores (exact, default); scores rounded as by the authors' script (official), whose nouns need --reader "
        "nltk too; or with 0.001 in each total per description, as in lmms-eval (lmms-eval)",
        about='"exact"; "lmms-eval", which adds 0.001 to each total once per description; or "official", scores '
        'rounded as the authors\' script prints them, with F from rounded scores; its nouns need reader="nltk" too',
        choices=conventions.CONVENTIONS,
    )
    parser: str | None = option(
        None,
        "how a response is read (default: strict, or official with --convention official); all shows a row per parser",
        about='how a response to a question is read: "strict" (default), "official" (exactly "Yes" or "No"; the '
        'default with convention="official"), "lmms-eval", "vlmevalkit" or "first-word"; see '
        "`halluscope.responses.parsers`",
        choices=tuple(RULES),
        every=True,
    )
    reader: str = option(
        readers.LEMMINFLECT,
        "what finds nouns: lemminflect (default), or nltk, as in the authors' script (extra nltk)",
        about='what finds a description\'s nouns: "lemminflect", a dictionary and a few rules, or "nltk", which tags '
        "words as the authors' script does, with nltk's data",
        check=check_reader,
    )
    similar: str | Path | Sequence[Sequence[str]] | None = option(
        None,
        "pairs of words that count as synonyms: JSON, or amber:similar if it was built (default: none)",
        about="pairs of words that count as synonyms, a file of pairs (JSON), or a dataset of them, such as "
        '"amber:similar"; by default none. The script has pairs whose vectors in spaCy\'s en_core_web_lg have a cosine '
        "above 0.8; `halluscope build amber --vectors en_core_web_lg` finds them",
        metavar="FILE-OR-DATASET",
    )
    per_row: bool = option(
        False,
        about="also give, for each row, what was found, with its places in the text as it was read, and its part in "
        "`hal`, `accuracy` and `unreadable`",
    )

    @property
    def rule(self) -> str:
        """The parser that reads the responses to questions."""
        if self.parser is not None:
            return self.parser
        if self.convention == OFFICIAL:
            return OFFICIAL
        return parsers.STRICT


@dataclass(frozen=True)
class Answered:
    """The rows that were answered, of both tasks. Iteration goes over the rows."""

    rows: list[AmberRow]
    nouns: Sequence[Sequence[str]] | None  # given ones, of each description
    similar: list[tuple[str, str]]  # pairs of words that count as synonyms

    def __iter__(self) -> Iterator[AmberRow]:
        return iter(self.rows)

    @cached_property
    def description_numbers(self) -> list[int]:
        """The numbers of the rows that ask for a description."""
        return [number for number, row in enumerate(self.rows) if row.is_described]

    @cached_property
    def question_numbers(self) -> list[int]:
        """The numbers of the rows that ask a question."""
        return [number for number, row in enumerate(self.rows) if not row.is_described]

    @cached_property
    def descriptions(self) -> list[AmberRow]:
        """The rows that ask for a description."""
        return [self.rows[number] for number in self.description_numbers]

    @cached_property
    def questions(self) -> list[AmberRow]:
        """The rows that ask a question."""
        return [self.rows[number] for number in self.question_numbers]


class Amber(RowsMetric):
    name = "amber"
    title = "AMBER"
    description = """\
AMBER measures hallucination in two tasks over 1,004 images. In descriptions, nouns are compared with annotated words to
find which nouns are hallucinated, which words are covered, and which hallucinations people are apt to imagine too. In
responses to yes/no questions about existence, attributes (state, number, action) and relations, "no" is the positive
class.
"""
    citation = """\
@article{wang2023llm,
  title={An LLM-free Multi-dimensional Benchmark for MLLMs Hallucination Evaluation},
  author={Wang, Junyang and Wang, Yuhang and Xu, Guohai and Zhang, Jing and Gu, Yukai and Jia, Haitao and Yan, Ming
          and Zhang, Ji and Sang, Jitao},
  journal={arXiv preprint arXiv:2311.07397},
  year={2023}
}
"""
    links = ("https://arxiv.org/abs/2311.07397", "https://github.com/junyangwang0410/AMBER")
    compared = (
        "With convention=official, and the nouns and synonyms that the authors' script found, the metric gives the "
        "scores that the script prints: tests/benchmarks/test_amber.py, tests/golden/amber_official.json."
    )

    principal = "amber"
    presets = {
        "preference": Preset(
            3,
            (
                Column("chair", "CHAIR"),
                Column("cover", "Cover"),
                Column("hal", "Hal"),
                Column("cog", "Cog"),
                Column("f1", "F1"),
            ),
        )
    }
    scores = {
        "amber": Score("higher"),
        "chair": Score("lower"),
        "cover": Score("higher"),
        "hal": Score("lower", is_mean=True),
        "cog": Score("lower"),
        "accuracy": Score("higher", is_mean=True),
        "precision": Score("higher"),
        "recall": Score("higher"),
        "f1": Score("higher"),
        "f1/existence": Score("higher"),
        "f1/attribute": Score("higher"),
        "f1/state": Score("higher"),
        "f1/number": Score("higher"),
        "f1/action": Score("higher"),
        "f1/relation": Score("higher"),
        "unreadable": Score("lower", is_mean=True),
    }
    extra_numbers = {
        "accuracy_mean": Score("higher"),
        "yes_ratio": Score(),
        "rows": Score(),
        "descriptions": Score(),
        "questions": Score(),
        "images": Score(),
    }
    items = "per_row"
    prompt = "Describe this image."
    max_new_tokens = 512
    datasets = (
        Dataset(
            "amber",
            id=("id",),
            columns=ROWS.needed,
            own=("task", "dimension", "truth", "hallu"),
            image_key="file_name",
        ),
    )
    options_type = AmberOptions
    table = ROWS

    # The dataset's rows

    def cluster_of(self, row: AmberRow) -> str:
        return row.file_name

    def identity(self, row: AmberRow) -> tuple[Any, ...]:
        return (
            row.id,
            row.file_name,
            row.prompt,
            row.task,
            row.dimension,
            row.answer,
            list(row.truth),
            list(row.hallu),
        )

    def shown(self, row: AmberRow) -> dict[str, Any]:
        return {"id": row.id, "dimension": row.dimension}

    def set_of(self, row: AmberRow) -> str | None:
        """Return a question's set, which is answered whole or not at all; None for a description, which has none."""
        return row.aspect

    def is_image(self, name: str) -> bool:
        """Whether an image file is named as AMBER's are."""
        return data.is_image(name)

    def known_ids(self, ids: Sequence[str]) -> Part | None:
        """Say which rows some ids are, and of which dataset, as a whole; None if they are not all rows or questions."""
        part = data.part_with_ids(ids)
        if part is None:
            return None
        return Part("amber", part)

    def subject(self, row: Mapping[str, Any]) -> str:
        """Return the subject of a row's question, for its negation; "" where it is not known."""
        return data.subject_of(row)

    # From responses to scores

    def read(self, texts: Sequence[str], rows: Answered, options: AmberOptions) -> Readings:
        descriptions = [texts[number] for number in rows.description_numbers]
        replies = [texts[number] for number in rows.question_numbers]
        nouns, nouns_by = nouns_in(descriptions, rows.nouns, options.reader)
        synonyms = synonyms_of(rows.similar)
        mentioned = []
        for words, row in zip(nouns, rows.descriptions, strict=True):
            mentioned.append(describe(words, row, synonyms))
        return Readings(
            texts,
            descriptions=mentioned,
            nouns_by=nouns_by,
            answers=parsers.read(replies, options.rule, RULES),
        )

    def count(self, rows: Answered, readings: Readings, options: AmberOptions) -> Tables:
        image = self.clusters(rows)
        images = int(image.max()) + 1
        counts = counting.count_descriptions(
            rows.descriptions, readings.descriptions, image[rows.description_numbers], images
        )
        counts[counting.ANSWERS] = counting.count_answers(
            rows.questions, readings.answers, image[rows.question_numbers], images
        )
        return Tables(counts)

    def score(self, rows: Answered, sums: Counts, options: AmberOptions) -> Scores:
        return conventions.score(options.convention, counting.shares_of(sums))

    def leave_out(
        self, rows: Answered, counts: ClusterCounts, total: Counts, options: AmberOptions
    ) -> dict[str, LeftOut]:
        """Return the scores without each image.

        They are taken from exact scores: rounding would hide what one image adds, and with the script's denominators,
        which are never 0, each image would seem to count.
        """

        def score_exactly(sums: Counts) -> Scores:
            return conventions.score_exactly(counting.shares_of(sums))

        left_out = leave_out(score_exactly, total, counts.blocks())
        scores = {}
        for name, values in self.score(rows, total, options).items():
            exact = left_out[name]
            scores[name] = shifted(exact, float(values[0]))
            if math.isnan(exact.value):
                scores[name] = replace(scores[name], refused=OF_NOTHING)
        return scores

    # What else a result holds

    def facts(
        self, rows: Answered, readings: Readings, total: Counts, options: AmberOptions
    ) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "rows": len(rows.rows),
            "descriptions": len(rows.descriptions),
            "questions": len(rows.questions),
            "images": int(self.clusters(rows).max()) + 1,
            MEAN_WORDS: mean_words(readings.texts),
        }
        if options.per_row:
            facts["per_row"] = self._rows(rows, readings)
        return facts

    def warn(
        self,
        texts: Sequence[str],
        rows: Answered,
        readings: Readings,
        result: dict[str, Any],
        options: AmberOptions,
    ) -> None:
        descriptions = [texts[number] for number in rows.description_numbers]
        if descriptions:
            warn_if_shuffled(*counting.mentioned_and_there(rows.descriptions, readings.descriptions))
        warn_of_answers(descriptions)
        warn_if_nothing_is_named(descriptions, [bool(read.mentions) for read in readings.descriptions])
        if not rows.question_numbers:
            return
        right = counting.right_answers(rows.questions)
        warn_if_shuffled((readings.answers == YES)[:, np.newaxis], (right == YES)[:, np.newaxis])
        if options.rule == parsers.STRICT:
            return
        replies = [texts[number] for number in rows.question_numbers]
        read_otherwise.warn_if_read_otherwise(
            read_otherwise.Readings(
                replies,
                rule=options.rule,
                by_rule=readings.answers,
                by_strict=parsers.read(replies, parsers.STRICT),
                right=right,
                word_of=parsers.word_of,
            )
        )

    def signed(self, rows: Answered, readings: Readings, options: AmberOptions) -> dict[str, Any]:
        tasks = {row.task for row in rows}
        parser = "no"
        if rows.question_numbers:
            parser = options.rule
        similar = "no"
        if rows.similar:
            similar = data_of("similar", rows.similar)
        return {
            "tasks": [task for task in TASKS if task in tasks],
            "convention": options.convention,
            "parser": parser,
            "nouns": readings.nouns_by,
            "similar": similar,
        }

    def _rows(self, rows: Answered, readings: Readings) -> list[dict[str, Any]]:
        """Return what each response says, and what it adds to the scores that are means."""
        table = []
        for row in rows:
            shown = self.shown(row)
            shown.update(dict.fromkeys(COLUMNS_OF_DESCRIPTIONS + COLUMNS_OF_ANSWERS))
            table.append(shown)
        for number, description in zip(rows.description_numbers, readings.descriptions, strict=True):
            table[number].update(shown_description(rows.rows[number], description))
        for number, answer in zip(rows.question_numbers, readings.answers.tolist(), strict=True):
            table[number].update(shown_answer(rows.rows[number], parsers.word_of(answer)))
        return table


def shown_description(row: AmberRow, description: Description) -> dict[str, Any]:
    """Return what a description mentions, word by word."""
    missed = []
    for index, word in enumerate(row.truth):
        if index not in description.covered:
            missed.append(word)
    return {
        "mentions": description.mentions,
        "places": description.places,
        "hallucinated": description.hallucinated,
        "missed": missed,
        "imagined": [row.hallu[index] for index in sorted(description.imagined)],
        "hal": bool(description.hallucinated),
    }


def shown_answer(row: AmberRow, said: str | None) -> dict[str, Any]:
    """Return how a response to a question was read."""
    return {
        "answer": row.answer,
        "said": said,
        "accuracy": said == row.answer,
        "unreadable": said is None,
    }


METRIC = Amber()


def warn_of_answers(descriptions: Sequence[str]) -> None:
    """Warn if most descriptions are answers to questions, as where the questions' ids count from 1."""
    answers = [text for text in descriptions if parsers.first_word(text) != OTHER]
    if 2 * len(answers) > len(descriptions):
        warnings.warn(
            named(
                f"{len(answers):,} of {len(descriptions):,} descriptions begin with yes or no, such as "
                f"{short_repr(answers[0], 60)}; expected texts that describe an image. Are these responses to the "
                "questions, which have the ids 1,005 to 15,220? Give each AMBER's id, or its image and question."
            ),
            stacklevel=4,
        )


@takes(AmberOptions)
def compute(
    predictions: Sequence[str],
    references: Sequence[Any],
    *,
    nouns: Sequence[Sequence[str]] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score an LVLM's descriptions of images, or its responses to yes/no questions, or both.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order.
        nouns: the nouns of each description in their dictionary form, one list per generative row, if another program
            has found them.
        options: the fields of `AmberOptions`, by name.

    Returns:
        Scores of descriptions, fractions in [0, 1]: `chair`, the share of mentions (nouns among AMBER's 418 words,
        repeats included) that are hallucinated; `cover`, the share of annotated words that are mentioned; `hal`, the
        share of descriptions with a hallucination; `cog`, the share of words for easily imagined things that are
        mentioned. Lower is better, except for `cover`.
        Scores of responses to questions, where "no" is the positive class: `accuracy precision recall f1`, NaN unless
        questions of all three dimensions were answered; the same scores for each dimension (`f1/existence`,
        `f1/attribute`, `f1/relation`) and for each kind of attribute (`f1/state`, `f1/number`, `f1/action`);
        `accuracy_mean`, the mean of the three dimensions' accuracies, which VLMEvalKit reports as the average;
        `yes_ratio`, the share of responses read as yes; `unreadable`, the share of responses that are neither yes nor
        no: these are wrong in accuracy and never count as "no".
        `amber`, the AMBER score: the mean of 1 - `chair` and `f1`. A score is NaN without rows or with a denominator
        of 0.
        `rows`, `descriptions`, `questions`, `images`; `mean_words`, the responses' mean length in words; `thoughts`,
        the number of responses from which a thought was removed, and `unfinished_thoughts`, of those that are a thought
        without an end; `signature`; and on request `interval`, which leaves out one image at a time, and `per_row`.

    Raises:
        ValueError: for any bad input.
        MissingExtra: without nltk, if it reads (pip install 'halluscope[nltk]').
        FileNotFoundError: without the data that nltk needs.
    """
    chosen = METRIC.chosen(options)
    if nouns is not None:
        why = "nouns are given, so no description is read"
        check_effect(options, ["reader"], why, {"reader": readers.LEMMINFLECT})
    responses, references = paired(predictions, references)
    rows = Answered(METRIC.read_all(references), nouns, data.read_pairs(chosen.similar))
    return METRIC.evaluate(responses, rows, chosen)
