"""How Object HalBench's results and rows are shown."""

from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.benchmarks.object_halbench.metric import METRIC
from halluscope.reporting.judged_report import unread_reply
from halluscope.reporting.report_items import (
    HALLUCINATED,
    KIND_OF,
    MISSED,
    UNREADABLE,
    Item,
    badness,
    judged_texts,
    outcomes,
    placed,
    several,
    verdicts_differ,
    word_facts,
)
from halluscope.reporting.scores_report import ScoresReport
from halluscope.reporting.tables import Values, percent


class ObjectHalBenchReport(ScoresReport):
    metric = METRIC
    columns = ("chair_s_refine", "chair_s", "chair_i", "recall", "mean_words:.1f")
    intervals = {"chair_s_refine": "chair_s_refine", "chair_i": "chair_i"}
    meaning_defined = (
        "Of 100 responses that name a COCO object, {chair_s_refine} name one that is not in the image; of 100 mentions "
        "{chair_i} do."
    )
    meaning_undefined = "The rate is undefined: no response names a COCO object."

    def sizes(self, result: Values) -> Iterator[str]:
        yield f"{result['images']:,} images; {percent(result['named'])} % of the responses name a COCO object"

    def gaps(self, result: Values) -> Iterator[str]:
        if result["unreadable"]:
            unread = percent(result["unreadable"])
            yield f"no readable list of names: {unread} % of the responses (they count in no score)"

    def items(self, rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order."""
        for row, text in zip(rows, judged_texts(rows, options), strict=True):
            reference = row["inputs"]["references"]
            classes = outcomes(row)
            words = []
            kinds = []
            for word, name in row["mentions"]:
                words.append(word)
                kinds.append((KIND_OF[classes[name]], classes[name]))
            marks, facts = placed(words, row["places"], kinds)
            facts += word_facts(row[MISSED], MISSED)
            if row.get("names"):
                facts.append(several("names by the judge", row["names"]))
            facts += unread_reply(row)
            errors = [error for error in (HALLUCINATED, MISSED) if row[error]]
            if row[UNREADABLE]:
                errors.append(UNREADABLE)
            yield Item(
                id=str(row["image_id"]),
                text=text,
                image=self.image_of(reference),
                question=reference["question"],
                marks=marks,
                facts=facts,
                errors=errors,
                classes=classes,
                disputed=verdicts_differ(row),
                badness=badness([kind for kind, _ in kinds if kind == "bad"], row[MISSED]),
            )


VIEW = ObjectHalBenchReport()
