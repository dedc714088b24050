"""Metrics of questions that have one right answer of a few: yes or no, or the letter of a choice.

A named rule reads each response; one that it cannot read counts as unreadable, never as one of the answers.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope.metric import Metric, Options, Scores
from halluscope.options import option
from halluscope.responses import lengths, parsers
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.parsers import STRICT, Parser
from halluscope.responses.read_otherwise import LEAST_SHARE, Readings, warn_if_read_otherwise
from halluscope.rows_metric import RowsMetric
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.row_order import warn_if_shuffled
from halluscope.stats.tallies import table_of
from halluscope.validation import warn_of_a_part

# [rows]: the number of an answer among the labels; their number for an unreadable response
Answers = NDArray[np.int8]

# Of more responses than this, a sample tells first whether it is worth reading all by `strict` too. A sample of this
# size is read as a column, which takes less time than half as many responses one by one.
MANY_RESPONSES = 20_000
SAMPLED = parsers.MANY


class Labels(Protocol):
    """What `Labelled` needs to know of rows."""

    @property
    def right(self) -> Answers:
        """The right answers."""


class Labelled(Metric):
    """A metric of questions that have one right answer each. Its readings are `Answers`."""

    labels: ClassVar[tuple[str, ...]]  # the answers that there are

    @abstractmethod
    def read_strictly(self, texts: Sequence[str]) -> Answers:
        """Return the answers that the rule `strict` reads."""

    def is_read_by_strict(self, rows: Any, options: Any) -> bool:
        """Whether responses are read by `strict`, or by a rule for which it is no measure."""
        return bool(options.parser == STRICT)

    def word_of(self, answer: int) -> str | None:
        """Return an answer's word; None for an unreadable response."""
        if answer >= len(self.labels):
            return None
        return self.labels[answer]

    def warn(
        self,
        texts: Sequence[str],
        rows: Labels,
        readings: Any,
        result: dict[str, Any],
        options: Any,
    ) -> None:
        if len(self.labels) == 2:  # with more labels, every order has rows that fit
            warn_if_shuffled(readings[:, np.newaxis] == 1, rows.right[:, np.newaxis] == 1)
        if self.is_read_by_strict(rows, options):
            return
        if len(texts) > MANY_RESPONSES and self._is_read_alike(texts, readings):
            return
        by_strict = self.read_strictly(texts)
        warn_if_read_otherwise(
            Readings(
                texts,
                rule=options.parser,
                by_rule=readings,
                by_strict=by_strict,
                right=rows.right,
                word_of=self.word_of,
                accuracy=result["accuracy"],
            )
        )

    def _is_read_alike(self, texts: Sequence[str], readings: Answers) -> bool:
        """Whether `strict` reads so few of a random sample otherwise that it reads few of all responses otherwise.

        If it read 5 % of all otherwise, it would be under half as many in fewer than one of 10^30 samples.
        """
        sample = np.random.default_rng(0).choice(len(texts), SAMPLED, replace=False)
        by_strict = self.read_strictly([texts[row] for row in sample.tolist()])
        return bool((by_strict != readings[sample]).mean() < LEAST_SHARE / 2)


# Metrics of a dataset's rows, whose counts are those of the answers

ACCURACY = "accuracy"
UNREADABLE = "unreadable"
ANSWERS = "answers"  # the counts of answers, of all rows; of a group they are "answers/GROUP"


@dataclass(frozen=True)
class LabelledRowsOptions(Options):
    """The options of metrics of a dataset's rows; a benchmark adds `parser`, whose values are its `rules`."""

    per_question: bool = option(
        False,
        about="also return, for each question, how its response was read, and its own value of `accuracy` and "
        "`unreadable`",
    )


@dataclass(frozen=True)
class Questions:
    """The rows that were answered, and their right answers. Iteration goes over the rows."""

    rows: Sequence[Any]
    right: Answers

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class ReadResponses:
    """The responses, without thoughts, and how they were read."""

    texts: Sequence[str]
    answers: Answers


class LabelledRows(RowsMetric, Labelled):
    """A metric of a dataset's rows, which have their right answer in the column `target`.

    An unreadable response is wrong. The scores are the accuracy, also of groups of rows ("accuracy/GROUP"); the recall
    of each label, which is the accuracy among the rows where it is right; and the share of unreadable responses.
    """

    options_type: ClassVar[type[LabelledRowsOptions]] = LabelledRowsOptions
    # the values of the option `parser`, of which "strict" has to be one; each rule reads a response as the number of a
    # label, or as their number
    rules: ClassVar[Mapping[str, Parser]]
    # the names of the scores that are the labels' recalls, one per label; () if they are no scores
    recalls: ClassVar[tuple[str, ...]] = ()

    # In what benchmarks differ

    def rows_expected(self, rows: Questions) -> int:
        """Return how many rows published scores are about."""
        return self.rows_published

    # The dataset's rows

    def questions(self, references: Sequence[Any]) -> Questions:
        """Return the rows, checked, with their right answers."""
        rows = self.read_all(references)
        right = [self.labels.index(getattr(row, self.target)) for row in rows]
        return Questions(rows, np.array(right, dtype=np.int8))

    # From responses to scores

    def read(self, texts: Sequence[str], rows: Questions, options: Any) -> ReadResponses:
        return ReadResponses(texts, parsers.read(texts, options.parser, self.rules))

    def read_strictly(self, texts: Sequence[str]) -> Answers:
        return parsers.read(texts, STRICT, self.rules)

    def reads_empty_as(self, options: Any) -> str:
        answer = self.rules[options.parser]("")
        return parsers.as_read(options.parser, self.word_of(answer))

    def count(self, rows: Questions, readings: ReadResponses, options: Any) -> Tables:
        """Count answers [clusters, labels, readings] and words [clusters, 2]."""
        cluster = self.clusters(rows)
        shape = (int(cluster.max()) + 1, len(self.labels), len(self.labels) + 1)
        cell = np.ravel_multi_index((cluster, rows.right, readings.answers), shape)
        counts: dict[str, NDArray[Any]] = {ANSWERS: table_of(cell, shape)}
        for group, is_in in self.groups(rows.rows).items():
            counts[f"{ANSWERS}/{group}"] = table_of(cell[is_in], shape)
        counts[MEAN_WORDS] = np.stack(lengths.tally(readings.texts, cluster), axis=-1)
        return Tables(counts)

    def score(self, rows: Questions, sums: Counts, options: Any) -> Scores:
        scores = {}
        for name, answers in sums.items():
            if name.startswith(ANSWERS):
                scores[ACCURACY + name.removeprefix(ANSWERS)] = accuracy(answers)
        answers = sums[ANSWERS]
        scores[UNREADABLE] = ratio(answers[..., -1].sum(axis=-1), answers.sum(axis=(-2, -1)))
        for label, recall in enumerate(self.recalls):
            scores[recall] = ratio(answers[:, label, label], answers[:, label].sum(axis=-1))
        words = sums[MEAN_WORDS]
        scores[MEAN_WORDS] = ratio(words[:, 0], words[:, 1])
        return scores

    # What else a result holds

    def warn(
        self,
        texts: Sequence[str],
        rows: Questions,  # type: ignore[override]
        readings: ReadResponses,
        result: dict[str, Any],
        options: Any,
    ) -> None:
        warn_of_a_part(len(rows), self.rows_expected(rows))
        super().warn(texts, rows, readings.answers, result, options)

    def facts(
        self,
        rows: Questions,
        readings: ReadResponses,
        total: Counts,
        options: Any,
    ) -> dict[str, Any]:
        facts: dict[str, Any] = dict(self.sizes(rows))
        if options.per_question:
            facts["per_question"] = self._questions(rows, readings.answers)
        return facts

    def _questions(self, rows: Questions, answers: Answers) -> list[dict[str, Any]]:
        """Return how each response was read, and what it adds to the scores that are means."""
        questions = []
        for row, right, answer in zip(rows, rows.right.tolist(), answers.tolist(), strict=True):
            read = self.word_of(answer)
            question = self.shown(row)
            question[ACCURACY] = float(answer == right)
            question[UNREADABLE] = float(read is None)
            question["label"] = self.labels[right]
            question["read"] = read
            questions.append(question)
        return questions

    def signed(self, rows: Questions, readings: ReadResponses, options: Any) -> dict[str, Any]:
        return {"parser": options.parser}


def accuracy(answers: Floats) -> Floats:
    """Return the share of right answers in counts [sums, labels, readings]."""
    right = np.trace(answers, axis1=-2, axis2=-1)
    return ratio(right, answers.sum(axis=(-2, -1)))
