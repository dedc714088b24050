"""The page of MME's Space. Run it with `python app.py`."""

import json

from halluscope.benchmarks.mme.data import HALLUCINATION
from halluscope.benchmarks.mme.metric import compute
from halluscope.hub.space import Box, Choice, Page

_ROWS = []
for _subtask in HALLUCINATION:
    for _answer in ("yes", "no"):
        _ROWS.append(
            {
                "subtask": _subtask,
                "file_name": f"{_subtask}/1.jpg",
                "question": f"Is the answer {_answer}?",
                "answer": _answer,
            }
        )

page = Page(
    title="MME",
    about="""
Two yes/no questions about each image, in up to 14 subtasks. Paste a model's responses, and the rows of the dataset as
JSON lines, without images.
""",
    score=compute,
    predictions=Box(
        "Responses, one question per line",
        "Yes\nNo\nYes, two\nYes\nNo\nNo.\nyes\nno",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    choices={
        "parser": Choice(
            "How a reply is read",
            {"the authors' rule": "official", "strict: what cannot be read is counted": "strict"},
        )
    },
    options={"bootstrap": 1000, "per_question": True},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
