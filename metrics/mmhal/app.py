"""The page of MMHal-Bench's Space. Run it with `python app.py`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.mmhal.metric import compute
from halluscope.hub.space import Box, Page

_ROWS = [
    {
        "id": 0,
        "image_id": "0a1b",
        "question": "How many dogs are on the lawn?",
        "answer": "There are two dogs.",
        "type": "counting",
        "topic": "animal",
        "contents": ["Dog", "Grass"],
        "rating": 4,
    },
    {
        "id": 1,
        "image_id": "2c3d",
        "question": "What is the cat looking at?",
        "answer": "There is no cat in the image.",
        "type": "adversarial",
        "topic": "animal",
        "contents": ["Dog", "Grass"],
        "rating": 0,
    },
]


def _score(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score by the ratings in the rows; a page asks no judge."""
    ratings = [row.get("rating") if isinstance(row, Mapping) else None for row in references]
    return compute(predictions, references, ratings=ratings, **options)


page = Page(
    title="MMHal-Bench",
    about="""
How informative are a model's answers, and do they invent things? Paste its answers and the rows of the dataset (as JSON
lines, without images), each with the `rating` that a judge or a person gave, 0 to 6; null is for nobody's. The package
asks a judge (`judge="openai:MODEL"`); this page only adds up.
""",
    score=_score,
    predictions=Box(
        "Responses, one question per line",
        "There are 2 dogs, one of them running.\nThe cat is looking at a bird.",
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
