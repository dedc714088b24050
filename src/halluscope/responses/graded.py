"""Makes the result of responses that graders judged, in the same way for every such benchmark."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halluscope.judging.graders.judged import Judged
from halluscope.responses import lengths
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.thoughts import choice
from halluscope.signature import data_of, form_of, signature
from halluscope.stats import tallies as tallying
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally


@dataclass(frozen=True)
class Graded:
    """Graded responses, and how they are counted.

    Attributes:
        of: the benchmark's name.
        questions: the questions that were answered, each with `id` and `form`.
        about: the values that identify each question, as rows of `signature.data_of`.
        texts: the responses, without thoughts.
        image: [questions], the number of each question's image.
        tally: counts verdicts; it takes criterion -> [questions], and [questions], the numbers of the questions' images
            or of other clusters.
        resampling: the bootstrap, which resamples images.
        thoughts: what was done with thoughts, and how many texts held one that was removed.
        unread: the name of the share of responses without a readable verdict; and [repeats, questions], which they are.
        counts: score -> the names of its whole and of its part; {} reports no counts.
        groups: name -> [questions], which questions belong to the group.
    """

    of: str
    questions: Sequence[Any]
    about: Iterable[Iterable[Any]]
    texts: Sequence[str]
    image: Ints
    tally: Callable[[Mapping[str, Floats], Ints], Tally]
    resampling: Bootstrap
    thoughts: tuple[str, int]
    unread: tuple[str, Bools]
    counts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    groups: Mapping[str, Bools] = field(default_factory=dict)

    def result(
        self, verdicts: Judged, facts: Mapping[str, Any], each: Sequence[str] | None = None, **signed: Any
    ) -> dict[str, Any]:
        """Return the metric's result.

        Args:
            verdicts: the verdicts on the responses.
            facts: further keys of the result.
            each: the fields of a question that the table `per_question` shows, along with its value of each score and
                its verdict; None for no table.
            signed: further keys of the signature.
        """
        words = {MEAN_WORDS: lengths.tally(self.texts, self.image)}
        tallies = [{**self.tally(one, self.image), **words} for one in verdicts.each()]
        name, unread = self.unread
        found: dict[str, Any] = tallying.scores(tallies) | {
            name: float(unread.mean()),
            **facts,
            "questions": len(self.questions),
            "images": int(self.image.max()) + 1,
        }
        if self.counts:
            found["counts"] = tallying.counted(tallies, self.counts, self.groups)
        found |= {"thoughts": self.thoughts[1], "signature": self._signature(verdicts, signed)}
        found |= verdicts.digest([one.id for one in self.questions])
        found |= tallying.uncertainty(tallies, self.resampling)
        if each is not None:
            found["per_question"] = self._rows(verdicts, each)
        return found

    def _rows(self, verdicts: Judged, each: Sequence[str]) -> list[dict[str, Any]]:
        """Return the table of questions, with each one's values of the scores in the first repeat."""
        alone = self.tally(next(verdicts.each()), np.arange(len(self.questions)))
        added = tallying.added({name: of for name, of in alone.items() if "/" not in name})
        name, unread = self.unread
        return [
            {
                "id": one.id,
                **{column: getattr(one, column) for column in each},
                **added[row],
                name: bool(unread[0, row]),
                **verdicts.of(row),
            }
            for row, one in enumerate(self.questions)
        ]

    def _signature(self, verdicts: Judged, signed: Mapping[str, Any]) -> str:
        return signature(
            self.of,
            data=data_of(self.of, self.about),
            judge=verdicts.key,
            **signed,
            repeats=verdicts.repeats,
            **verdicts.drawn,
            **form_of(one.form for one in self.questions),
            **choice(self.thoughts[0]),
            interval=self.resampling,
        )
