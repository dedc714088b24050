"""The page of HallusionBench's Space. Run it with `python app.py`."""

import json

from halluscope.benchmarks.hallusionbench.metric import compute
from halluscope.hub.space import Box, Choice, Page

# One control pair: the same question without an image, about an original image, and about an edited image.
_ROWS = [
    {
        "category": "VS",
        "subcategory": "chart",
        "set_id": 0,
        "figure_id": figure,
        "question_id": 0,
        "visual_input": figure,
        "question": "Are there more red than blue bars?",
        "gt_answer": answer,
        "gt_answer_details": details,
    }
    for figure, answer, details in (
        (0, "yes", "There are more red bars."),
        (1, "yes", "There are three red bars and one blue bar."),
        (2, "no", "There are one red bar and three blue bars."),
    )
]

page = Page(
    title="HallusionBench",
    about="""
Does a model look, or recite? Paste its answers and the rows of the dataset (as JSON lines, without images). Rules read
yes, no and uncertain here; published scores were judged by GPT-4, which needs the package (`judge="openai:MODEL"`).
""",
    score=compute,
    predictions=Box(
        "Responses, one question per line",
        "I cannot tell without seeing the chart.\nYes, there are more red bars.\nYes, there are more red bars.",
        responses=True,
    ),
    references=Box(
        "Rows of the dataset, one JSON object per line", "\n".join(map(json.dumps, _ROWS)), json.loads
    ),
    choices={
        "protocol": Choice(
            "Which questions count",
            {
                "all (official)": "official",
                "with a visual, as in lmms-eval": "lmms-eval",
                "as in VLMEvalKit": "vlmevalkit",
            },
        )
    },
    options={"judge": "rules", "per_question": True, "progress": False},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
