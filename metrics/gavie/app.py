"""The page of GAVIE's Space. Run it with `python app.py`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.gavie.metric import compute
from halluscope.hub.space import Box, Page

_IMAGE = {
    "image_id": 1,
    "regions": [
        {"phrase": "two dogs on the lawn", "x": 10, "y": 40, "width": 120, "height": 80},
        {"phrase": "a red ball", "x": 90, "y": 95, "width": 14, "height": 14},
    ],
}
_ROWS = [
    _IMAGE | {"id": 0, "question": "What do the dogs play with?", "rating": {"relevancy": 10, "accuracy": 9}},
    _IMAGE | {"id": 1, "question": "Describe the cat.", "rating": {"relevancy": 8, "accuracy": 1}},
]


def _score(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score by the ratings in the rows; a page asks no judge."""
    ratings = [row.get("rating") if isinstance(row, Mapping) else None for row in references]
    return compute(predictions, references, ratings=ratings, **options)


page = Page(
    title="GAVIE",
    about="""
Does a model do what it is told, and is what it says true of the image? Paste its responses and the rows of the dataset
(as JSON lines, without images), each with the `rating` that a judge or a person gave: relevancy and accuracy, 0 to 10;
null is for nobody's. The package asks a judge (`judge="openai:MODEL"`); this page only adds up.
""",
    score=_score,
    predictions=Box(
        "Responses, one instruction per line",
        "They play with a red ball.\nThe cat is black and sits on a chair.",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    options={"judge": "none", "per_question": True, "progress": False},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
