"""What DASH-B's data file cannot say: its parsers, and its scores beside the accuracy."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from halluscope.benchmarks.dash_b import lists
from halluscope.graded.labelled import Labelled, LabelledView
from halluscope.reading.datasets import Source
from halluscope.responses import parsers
from halluscope.responses.thoughts import REMOVED
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools

LIST = "dash_benchmark_"


class DashB(Labelled):
    """DASH-B's metric."""

    parsers: ClassVar = {
        "official": lambda text: parsers.said_of(parsers.contained(text)),
        "strict": lambda text: parsers.said_of(parsers.strict(text)),
    }

    def load(self, sources: Sequence[str]) -> list[Any]:
        """Read the dataset: built folders, Hub ids, the authors' two lists, or their answers."""
        files = [Path(Source.of(source).name) for source in sources]
        halves = [file.stem.removeprefix(LIST) if file.suffix == ".json" else "" for file in files]
        if not {*halves} <= {*lists.HALVES}:
            return super().load(sources)
        found: list[Any] = []
        for half, file in zip(halves, files, strict=True):
            found += self.read_all(lists.rows(file, lists.HALVES[half], len(found)), str(file))
        return found

    def rename(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of the authors' answers, which state no question."""
        asked = {"question": lists.QUESTION.format(row["object_name"])} if "object_name" in row else {}
        return {"source": "answers", **asked, **super().rename(row)}

    def parts(
        self, labels: Sequence[str], texts: Sequence[str], right: Bools
    ) -> dict[str, tuple[Bools, Bools]]:
        """Return what each row adds to the rates of right answers where the object is there, and where it is not."""
        present = np.array([label == "yes" for label in labels], dtype=bool)
        return {"tpr": (right & present, present), "tnr": (right & ~present, ~present)}

    def derived(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the harmonic mean of the two rates; NaN if one is undefined or both are 0."""
        tpr, tnr = scores["tpr"], scores["tnr"]
        return {"harmonic_mean": ratio(2 * tpr * tnr, tpr + tnr)}


LABELLED = DashB(__package__)
VIEW = LabelledView(LABELLED)


def compute(
    predictions: Sequence[str],
    references: Sequence[Any],
    *,
    parser: str = "official",
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_question: bool = False,
    thoughts: str = REMOVED,
) -> dict[str, Any]:
    """Score an LVLM's responses to DASH-B's yes/no questions.

    Args:
        predictions: the LVLM's raw responses, one per row.
        references: the dataset's rows without images, in the same order.
        parser: "official" reads "yes" anywhere in the lowercased response as yes, else "no" anywhere as no; "strict"
            reads a clear yes or no. A response that is neither is wrong.
        bootstrap: how many times to resample the images for an interval; 0 for no interval.
        seed: the seed of the bootstrap.
        level: the confidence level of the interval, in (0, 1).
        per_question: also return, for each question, how its response was read.
        thoughts: "removed" takes out what the LVLM thought, "kept" reads it too.

    Returns:
        `accuracy`; `tpr`, the share of right answers where the object is in the image, `tnr` where it is not, and their
        `harmonic_mean`; `unreadable`, the share of responses that are neither yes nor no: fractions in [0, 1], NaN
        where undefined. Also `questions`, `images`, `mean_words`, `thoughts`, `signature`, `interval` with a bootstrap,
        and `per_question` if requested.

    Raises:
        ValueError: for any bad input.
    """
    return LABELLED.score(
        predictions,
        references,
        parser=parser,
        bootstrap=bootstrap,
        seed=seed,
        level=level,
        per_question=per_question,
        thoughts=thoughts,
    )
