"""HaloQuest's page, as its Space shows it: `python app.py`."""

import json

from halluscope.benchmarks.haloquest.metric import compute
from halluscope.hub.space import Box, Page
from halluscope.judging.graders.judged import NOBODY

_ROWS = [
    {
        "id": 0,
        "file_name": "kitchen.png",
        "image_type": "generated",
        "type": "false premises",
        "question": "What colour is the dog's bowl?",
        "answers": ["There is no dog.", "I see neither a dog nor a bowl."],
    },
    {
        "id": 1,
        "file_name": "kitchen.png",
        "image_type": "generated",
        "type": "visual challenge",
        "question": "How many cups are on the shelf?",
        "answers": ["Six", "There are six cups."],
    },
    {
        "id": 2,
        "file_name": "street.jpg",
        "image_type": "real",
        "type": "insufficient context",
        "question": "What time is it?",
        "answers": ["The image does not tell."],
    },
]

page = Page(
    title="HaloQuest",
    about="""
Does a model answer what the image cannot answer? Paste its responses and the rows of the dataset (as JSON lines,
without images). Right answers are free sentences, so that only a language model or a person can say whether a response
agrees with one: this page checks that rows and responses are in order, and gives no accuracy. The package does
(`judge="openai:MODEL"`, or your own `judgements`).
""",
    score=compute,
    predictions=Box(
        "Responses, a question a line",
        "The bowl is red.\nI count six cups.\nThat cannot be told from the image.",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, a JSON object a line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    options={"judge": NOBODY, "per_question": True, "progress": False},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
