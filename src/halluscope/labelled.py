"""Metrics of questions that have one right answer of a few: yes or no, or the letter of a choice.

A named rule reads each response; one that it cannot read counts as unreadable, never as one of the answers.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope.metric import Metric
from halluscope.responses.parsers import STRICT
from halluscope.responses.read_otherwise import LEAST_SHARE, Readings, warn_if_read_otherwise
from halluscope.stats.correlation import warn_if_shuffled

# [rows]: the number of an answer among the labels; their number for an unreadable response
Answers = NDArray[np.int8]

# Of more responses than this, a sample tells first whether it is worth reading all by `strict` too.
MANY_RESPONSES = 20_000
SAMPLED = 4_000


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
        self, texts: Sequence[str], rows: Labels, readings: Answers, result: dict[str, Any], options: Any
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

        If it read 5 % of all otherwise, it would be under half as many of the sample in one of 10^13 samples.
        """
        sample = np.random.default_rng(0).choice(len(texts), SAMPLED, replace=False)
        by_strict = self.read_strictly([texts[row] for row in sample.tolist()])
        return bool((by_strict != readings[sample]).mean() < LEAST_SHARE / 2)
