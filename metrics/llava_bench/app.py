"""The page of LLaVA-Bench's Space. Run it with `python app.py`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.llava_bench.metric import compute
from halluscope.hub.space import Box, Page

_IMAGE = {"file_name": "001.jpg", "context": "Two dogs play with a red ball on a lawn."}
_ROWS = [
    _IMAGE
    | {"id": 0, "question": "What do the dogs play with?", "category": "conv"}
    | {"answer": "They play with a red ball.", "rating": [9, 8]},
    _IMAGE
    | {"id": 1, "question": "Describe the image in detail.", "category": "detail"}
    | {"answer": "Two dogs run after a red ball on a lawn.", "rating": [8, 4]},
    _IMAGE
    | {"id": 2, "question": "What may happen next?", "category": "complex"}
    | {"answer": "One of the dogs may catch the ball.", "rating": [8, 9]},
]


def _score(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score by the ratings in the rows; a page asks no judge."""
    ratings = [row.get("rating") if isinstance(row, Mapping) else None for row in references]
    return compute(predictions, references, ratings=ratings, **options)


page = Page(
    title="LLaVA-Bench (In-the-Wild)",
    about="""
How good are a model's responses, beside GPT-4's answers? Paste them and the rows of the dataset (as JSON lines, without
images), each with the `rating` that a judge or a person gave: a pair of numbers from 1 to 10, for GPT-4's answer and
for the response; null is for nobody's. The package asks a judge (`judge="openai:MODEL"`); this page only adds up.
""",
    score=_score,
    predictions=Box(
        "Responses, one question per line",
        "A red ball, which one of them has just dropped.\nTwo dogs and a cat sit on a couch.\nOne catches the ball.",
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
