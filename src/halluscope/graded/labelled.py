"""Scores responses that name one of a few labels, such as yes or a letter: rows, readings, counts per image, intervals.

A benchmark is a data file, and a parser per named rule. A response that a rule cannot read is wrong, and counted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from halluscope.graded.metric import Declared
from halluscope.graded.report import View
from halluscope.inputs import flags, paired, warn_of_a_part
from halluscope.registry import benchmark
from halluscope.reporting.report_items import UNREADABLE, Fact
from halluscope.responses import lengths
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of, form_of, signature
from halluscope.stats import tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Tally, grouped, numbers

# Reads a response as a label; None if it names none
Parser = Callable[[str], str | None]

ACCURACY, UNREAD = "accuracy", "unreadable"

SHARED = {
    "bootstrap": "how many times to resample the images for an interval; 0 for no interval.",
    "seed": "the seed of the bootstrap.",
    "level": "the confidence level of the interval, in (0, 1).",
    "per_question": "also return, for each question, how its response was read.",
    "thoughts": '"removed" takes out what the LVLM thought, "kept" reads it too.',
}
"""The help of the options that all such benchmarks share."""

RETURNED = (
    "`unreadable` is the share of responses that the parser cannot read, which are wrong. Scores are fractions in "
    "[0, 1], NaN where undefined. Also `questions`, `images`; `mean_words`, the mean length of the responses; "
    "`thoughts`, how many responses held thoughts that were removed; `signature`; `interval` with a bootstrap; and "
    "`per_question` if requested."
)


class Labelled(Declared):
    """A benchmark whose rows have a label each; a subclass holds the parsers, and scores beside the accuracy."""

    parsers: ClassVar[Mapping[str, Parser]] = {}

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.target: str = self.data["benchmark"]["target"]
        official = self.choices["parser"][0]

        def compute(
            predictions: Sequence[str],
            references: Sequence[Any],
            *,
            parser: str = official,
            bootstrap: int = 0,
            seed: int = 0,
            level: float = 0.95,
            per_question: bool = False,
            thoughts: str = REMOVED,
        ) -> dict[str, Any]:
            resampling = Bootstrap(bootstrap, seed, level)
            return self._compute(predictions, references, parser, resampling, per_question, thoughts)

        compute.__module__ = type(self).__module__
        compute.__doc__ = self.document(
            {**self.option_docs, **SHARED}, RETURNED, "ValueError: for any bad input."
        )
        self.compute = compute

    def parts(
        self, labels: Sequence[str], texts: Sequence[str], right: Bools
    ) -> dict[str, tuple[Bools, Bools]]:
        """Return what each row adds to further scores, and whether it counts for them."""
        return {}

    def derived(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return scores that follow from others, each [resamples]."""
        return {}

    def inputs(self, rows: Sequence[Any]) -> dict[str, Any]:
        """Return the metric's inputs from rows."""
        return {"references": rows}

    def stated(self, row: Mapping[str, Any], where: str, number: int) -> Any:
        """Read the row that a response states itself, as the authors' answers do; None if it states none."""
        return self.read(row, where, number) if self.schema.marker in row else None

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Any],
        parser: str,
        resampling: Bootstrap,
        per_question: bool,
        thoughts: str,
    ) -> dict[str, Any]:
        flags(per_question=per_question)
        benchmark(self.name).check_choices(parser=parser)
        predictions, references = paired(predictions, references)
        texts, thought = take_out(predictions, thoughts)
        rows = self.read_all(references)
        warn_of_a_part(len(rows), self.data["dataset"]["rows"])
        rule = self.parsers[parser]
        reading = {text: rule(text) for text in dict.fromkeys(texts)}
        read = [reading[text] for text in texts]
        labels = [getattr(row, self.target) for row in rows]
        right = np.array([one == label for one, label in zip(read, labels, strict=True)], dtype=bool)
        every = np.ones(len(rows), dtype=bool)
        unread = np.array([one is None for one in read], dtype=bool)
        image = numbers([getattr(row, self.data["dataset"]["image_key"]) or row.id for row in rows])
        groups = {name.lower(): of for name, of in self.groups(rows).items()}
        whole = {UNREAD: (unread, every), **self.parts(labels, texts, right)}
        tally: Tally = {
            **grouped({ACCURACY: (right, every)}, image, groups),
            **grouped(whole, image, {}),
            MEAN_WORDS: lengths.tally(texts, image),
        }
        result: dict[str, Any] = {name: float(value[0]) for name, value in self._resampled(tally).items()}
        result |= {"questions": len(rows), "images": int(image.max()) + 1, "thoughts": thought}
        result["signature"] = signature(
            self.name,
            data=data_of(self.name, map(self.schema.identity, rows)),
            parser=parser,
            **form_of(row.form for row in rows),
            **choice(thoughts),
            interval=resampling,
        )
        if resampling.resamples:
            drawn = resampling.weights(int(image.max()) + 1)
            result["interval"] = resampling.intervals(map(partial(self._resampled, tally), drawn))
        if per_question:
            shown = self.data["dataset"].get("shown", ())
            result["per_question"] = [
                {
                    "id": row.id,
                    **{column: getattr(row, column) for column in shown},
                    "label": labels[place],
                    "read": read[place],
                    ACCURACY: float(right[place]),
                    UNREAD: float(unread[place]),
                }
                for place, row in enumerate(rows)
            ]
        return result

    def _resampled(self, tally: Tally, weights: Floats | None = None) -> dict[str, Floats]:
        scores = tallies.resampled([tally], weights)
        return scores | self.derived(scores)


class LabelledView(View):
    """How the results and the rows of such a benchmark are shown."""

    def counts_as(self, result: Mapping[str, Any]) -> str:
        """Return how unreadable responses count."""
        return " (they are wrong)"

    def verdict(self, row: Mapping[str, Any], text: str) -> Iterator[Fact]:
        """Yield the label, and how the response was read."""
        yield Fact("label", [(str(row["label"]), "plain")])
        kind: Any = "open" if row["read"] is None else "good" if row[ACCURACY] else "bad"
        yield Fact("read as", [(UNREADABLE if row["read"] is None else str(row["read"]), kind)])

    def errors(self, row: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with a response."""
        return [] if row[ACCURACY] else [UNREADABLE if row["read"] is None else "wrong"]

    def badness(self, row: Mapping[str, Any]) -> float:
        """Return 1 for a wrong response, and a half for an unreadable one."""
        return 0.0 if row[ACCURACY] else 0.5 if row["read"] is None else 1.0
