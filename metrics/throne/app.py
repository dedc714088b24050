"""THRONE's page for its Space; to start it, run `python app.py`."""

from halluscope.benchmarks.throne.metric import compute
from halluscope.hub.space import Box, Choice, Page, names

page = Page(
    title="THRONE",
    about="""
Which objects does a free description of an image invent? Paste your model's answers to "Describe this image in detail."
and the classes that are in each image. Rules read the texts here; the paper's FLAN-T5 judges need the package
(`pip install 'halluscope[judge]'`). The principal figure is `f0.5_cls`.
""",
    score=compute,
    predictions=Box(
        "Descriptions, one image per line",
        "A brown dog catches a frisbee while a man watches from a bench.\n"
        "Two cats sleep on a couch beside a laptop. There is no dog.",
        responses=True,
    ),
    references=Box(
        "Objects in the image, separated by commas",
        "dog, frisbee, person\ncat, couch, remote",
        names,
        keys=("objects",),
    ),
    choices={"vocabulary": Choice("Classes", {"COCO's 80": "coco", "Objects365's 365": "objects365"})},
    options={"judges": "lexical", "bootstrap": 1000, "per_image": True, "progress": False},
    each="per_image",
)

if __name__ == "__main__":
    page.launch()
