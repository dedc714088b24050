"""The page of HumbleBench's Space. Run it with `python app.py`."""

import json

from halluscope.benchmarks.humblebench.metric import compute
from halluscope.hub.space import Box, Choice, Page

_ROWS = [
    {"question_id": 0, "type": "Attribute", "label": "C"},
    {"question_id": 1, "type": "Relation", "label": "E"},
    {"question_id": 2, "type": "Relation", "label": "E"},
]

page = Page(
    title="HumbleBench",
    about="""
Does a model say that none of the choices is right, where none is? Paste its responses, and the rows of the dataset as
JSON lines, without images; `label` and `type` are enough.
""",
    score=compute,
    predictions=Box("Responses, one question per line", "C\nE\nThe answer is E.", responses=True),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    choices={
        "parser": Choice(
            "How a reply is read",
            {"the authors' rule": "official", "strict: a letter that the reply begins with": "strict"},
        )
    },
    options={"bootstrap": 1000, "per_question": True},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
