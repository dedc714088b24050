"""POPE's page for its Space; to start it, run `python app.py`."""

from halluscope.benchmarks.pope.metric import compute
from halluscope.hub.space import Box, Choice, Page

page = Page(
    title="POPE",
    about="""
Does a model say yes when it is asked for an object that is not in the picture? Paste its replies to questions such as
"Is there a dog in the image?" and the right answers. Published numbers differ because replies are read by different
rules: try them on the same replies.
""",
    score=compute,
    predictions=Box(
        "Responses, one question per line",
        "Yes, there is a dog on the lawn.\nNo.\nI cannot tell from this picture.\nYes",
        responses=True,
    ),
    references=Box("Right answers, yes or no", "yes\nno\nyes\nno", str.strip, keys=("answer", "label")),
    choices={
        "parser": Choice(
            "How a reply is read",
            {
                "POPE's official rule": "pope",
                "strict: what cannot be read is counted": "strict",
                "as lmms-eval does": "lmms-eval",
                "as VLMEvalKit does": "vlmevalkit",
                "as RePOPE does": "repope",
            },
        )
    },
    options={"bootstrap": 1000, "per_question": True},
    each="per_question",
)

if __name__ == "__main__":
    page.launch()
