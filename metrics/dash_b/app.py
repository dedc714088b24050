"""The page of DASH-B's Space. Run it with `python app.py`."""

import json

from halluscope.benchmarks.dash_b.metric import compute
from halluscope.hub.space import Box, Choice, Page

_ROWS = [
    {"img_id": "1.png", "object_name": "beehive", "gt": "no"},
    {"img_id": "2.png", "object_name": "beehive", "gt": "yes"},
    {"img_id": "3.png", "object_name": "kite", "gt": "no"},
]

page = Page(
    title="DASH-B",
    about="""
Does a model see an object that is not there? Paste its responses, and the rows of the dataset as JSON lines, without
images, or rows with `img_id`, `object_name` and `gt`, as in the authors' answers.
""",
    score=compute,
    predictions=Box("Responses, one question per line", "No.\nYes, there is one.\nYes", responses=True),
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
