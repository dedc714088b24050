"""The results of a metric as tables of its scores and remarks on each result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.metric import Metric
from halluscope.reporting import tables
from halluscope.reporting.tables import (
    Named,
    Report,
    Table,
    Values,
    best_first,
    filled,
    group_table,
    is_defined,
    scored,
    table,
)


class ScoresReport:
    """How a benchmark's results are shown."""

    metric: Metric
    columns: Sequence[str]  # of the table of scores
    groups: str = ""  # the score whose groups have a table; "" for none
    intervals: Mapping[str, str]  # score -> its name in the remark on intervals
    left_out: str = "images"  # what intervals leave out one at a time
    meaning_defined: str  # what the scores mean
    meaning_undefined: str

    def report(self, results: Named, **options: Any) -> Report:
        """Return tables of scores, the best result first, and remarks on each result."""
        remarks = {}
        for name, result in results:
            lines = list(self.remarks(result))
            lines.append(f"signature: {result['signature']}")
            remarks[name] = lines
        return tables.report(self.tables(results, **options), remarks)

    def tables(self, results: Named, **options: Any) -> list[Table]:
        best = best_first(self.metric, results)
        scores = [table(best, self.columns, self.metric.is_points)]
        if self.groups:
            scores.append(group_table(best, self.groups, self.metric.is_points))
        return scores

    def remarks(self, result: Values) -> Iterator[str]:
        """Yield what is said of a result below the tables."""
        yield from self.sizes(result)
        yield from self.gaps(result)
        yield from self.ends(result, "interval", f"interval over {self.left_out}")
        yield from self.ends(result, "spread", "lowest and highest of the repeats")

    def sizes(self, result: Values) -> Iterator[str]:
        """Yield what the result is about."""
        yield f"{result['questions']:,} questions about {result['images']:,} images"

    def gaps(self, result: Values) -> Iterator[str]:
        """Yield what the result says of responses that could not be read or judged."""
        yield from ()

    def ends(self, result: Values, key: str, title: str) -> Iterator[str]:
        """Yield the ends of the scores that are named below tables."""
        texts = []
        for name, label in self.intervals.items():
            ends = result.get(key, {}).get(name, ())
            interval = scored(None, self.metric.is_points(name), ends).interval
            if interval:
                texts.append(f"{label} {interval}")
        if texts:
            yield f"{title}: {', '.join(texts)}"

    def meaning(self, scores: Values) -> str:
        """Say in a sentence what the scores mean."""
        if is_defined(scores[self.metric.principal]):
            return filled(self.meaning_defined, scores)
        return self.meaning_undefined

    def image_of(self, reference: Values) -> str | None:
        """Return what identifies the image of a row of the dataset; None if it has no image."""
        image = reference[self.metric.datasets[0].image_key]
        return None if image is None else str(image)
