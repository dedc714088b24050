"""OpenCHAIR's page for its Space; to start it, run `python app.py`."""

from halluscope.benchmarks.openchair.metric import compute
from halluscope.hub.space import Box, Choice, Page

page = Page(
    title="OpenCHAIR",
    about="""
Which nouns of a caption are invented? Paste your model's captions, and the captions from which the images were made.
Rules say here whether the right caption names each noun, and know no synonyms; the paper's kind of judge, a language
model, needs the package (`pip install 'halluscope[judge,words]'`).
""",
    score=compute,
    predictions=Box(
        "Captions, one image per line",
        "a brown dog and a cat on a bench\na photo of a woman holding an umbrella",
        responses=True,
    ),
    references=Box(
        "The captions that are right",
        "A dog sleeps on a wooden bench in a park.\nA woman holds a red umbrella in the rain.",
        keys=("true_caption", "text"),
    ),
    choices={
        "convention": Choice(
            "Which nouns count",
            {"each as often as it comes (released)": "released", "each once per caption (first)": "first"},
        )
    },
    options={
        "judges": "lexical",
        "questions": "plain",
        "bootstrap": 1000,
        "per_image": True,
        "progress": False,
    },
    each="per_image",
)

if __name__ == "__main__":
    page.launch()
