"""The page of HQM's Space. Run it with `python app.py`."""

from typing import Any

from halluscope.benchmarks.hqm.metric import compute
from halluscope.hub.space import Box, Choice, Page


def _score(predictions: list[float], references: list[float], **options: Any) -> dict[str, Any]:
    return compute(predictions, references or None, **options)


page = Page(
    title="HQM",
    about="""
Would a benchmark say the same again? Paste the scores that it gave to several models, and those of the same models in a
second test, in the same order. For content validity, paste a reviewer's marks alone: 1 valid, 0 not.
""",
    score=_score,
    predictions=Box("Scores, one model per line", "0.62\n0.71\n0.55\n0.80\n0.67", float, keys=("score",)),
    references=Box("Their scores in the second test", "0.60\n0.74\n0.52\n0.79\n0.70", float, keys=("score",)),
    choices={
        "indicator": Choice(
            "The second test is",
            {
                "a second run (test-retest)": "test_retest",
                "the same questions in other words (parallel forms)": "parallel_forms",
                "people's scores (criterion validity)": "criterion",
                "none: marks of valid rows (content validity)": "content",
            },
        )
    },
)

if __name__ == "__main__":
    page.launch()
