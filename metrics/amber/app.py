"""AMBER's page for its Space; to start it, run `python app.py`."""

import json

from halluscope.benchmarks.amber.metric import compute
from halluscope.hub.space import Box, Choice, Page

_IMAGE = {"file_name": "AMBER_1.jpg", "answer": None, "truth": [], "hallu": []}
_ROWS = [
    _IMAGE
    | {
        "id": 1,
        "prompt": "Describe this image.",
        "task": "generative",
        "dimension": "generation",
        "truth": ["dog", "grass", "ball"],
        "hallu": ["person", "bench"],
    },
    *(
        _IMAGE
        | {"id": id, "prompt": prompt, "task": "discriminative", "dimension": dimension, "answer": answer}
        for id, prompt, dimension, answer in (
            (1005, "Is there a bench in this image?", "existence", "no"),
            (1006, "Is the grass tall in this image?", "state", "no"),
            (1007, "Is the grass short in this image?", "state", "yes"),
            (1008, "Is there direct contact between the dog and the ball?", "relation", "yes"),
        )
    ),
]

page = Page(
    title="AMBER",
    about="""
What does a model invent when it describes, and what does it say yes to? Paste its texts and the rows of the dataset (as
JSON lines, without images). A description's nouns are compared with annotated words; replies are read by a rule. The
authors' script takes exactly "Yes" and "No": choose its convention to see what that makes of the same texts.
""",
    score=compute,
    predictions=Box(
        "Responses, one row per line",
        "A dog plays with a ball on the grass in front of a bench.\nNo.\nYes\nYes\nI am unsure.",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    choices={
        "convention": Choice(
            "How scores are computed",
            {"exact": "exact", "as the authors' script prints them": "official"},
        )
    },
    options={"per_row": True},
    each="per_row",
)

if __name__ == "__main__":
    page.launch()
