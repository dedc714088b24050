"""The page of HQH's Space. Run it with `python app.py`."""

import json

from halluscope.benchmarks.hqh.metric import compute
from halluscope.hub.space import Box, Page

_ROWS = [
    {"id": 0, "image_id": 1, "question": "How many dogs are on the lawn?", "answer": "two", "type": "count"},
    {
        "id": 1,
        "image_id": 1,
        "question": "What do they play with?",
        "answer": "a red ball",
        "type": "relation",
    },
]

page = Page(
    title="HQH",
    about="""
What does a model get wrong when it answers freely? Paste its answers and the rows of the dataset (as JSON lines,
without images). Here a rule looks whether the right answer stands in the answer; it cannot see extra claims. Published
scores were judged by GPT-4o, which needs the package (`judge="openai:MODEL"`).
""",
    score=compute,
    predictions=Box(
        "Responses, one question per line",
        "There are 2 dogs.\nThey play with a stick.",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    options={"judge": "reference-only", "per_question": True, "progress": False},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
