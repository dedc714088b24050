"""The page of HaloQuest's Space. Run it with `python app.py`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.benchmarks.haloquest.metric import compute
from halluscope.hub.space import Box, Page
from halluscope.judging.verdicts import NOBODY

_ROWS = [
    {
        "id": 0,
        "file_name": "kitchen.png",
        "image_type": "generated",
        "type": "false premises",
        "question": "What colour is the dog's bowl?",
        "answers": ["There is no dog.", "I see neither a dog nor a bowl."],
        "correct": False,
    },
    {
        "id": 1,
        "file_name": "kitchen.png",
        "image_type": "generated",
        "type": "visual challenge",
        "question": "How many cups are on the shelf?",
        "answers": ["Six", "There are six cups."],
        "correct": True,
    },
    {
        "id": 2,
        "file_name": "street.jpg",
        "image_type": "real",
        "type": "insufficient context",
        "question": "What time is it?",
        "answers": ["The image does not tell."],
        "correct": True,
    },
]


def _score(predictions: Sequence[str], references: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Score by the verdicts in the rows; a page asks no judge."""
    verdicts = [row.get("correct") if isinstance(row, Mapping) else None for row in references]
    return compute(predictions, references, ratings=verdicts, **options)


page = Page(
    title="HaloQuest",
    about="""
Does a model answer what the image cannot answer? Paste its responses and the rows of the dataset (as JSON lines,
without images), each with `correct`, what a judge or a person said: true, false, or null for nobody's. The package asks
a judge (`judge="openai:MODEL"`); this page only counts.
""",
    score=_score,
    predictions=Box(
        "Responses, one question per line",
        "The bowl is red.\nI count six cups.\nThat cannot be told from the image.",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    options={"judge": NOBODY, "per_question": True, "progress": False},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
