"""CHAIR's page for its Space; to start it, run `python app.py`."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from halluscope import vocabularies
from halluscope.benchmarks.chair.metric import compute
from halluscope.hub.space import Box, Choice, Page, names


@cache
def _class_names() -> Path:
    """Write a synonym list of COCO's class names alone."""
    file = Path(mkdtemp()) / "synonyms.txt"
    file.write_text("\n".join(vocabularies.load("coco").classes), encoding="utf-8")
    return file


def _score(predictions: list[str], references: list[list[str]], words: str, **options: Any) -> dict[str, Any]:
    own = {"synonyms": _class_names(), "allow_other_synonyms": True} if words == "names" else {}
    return compute(predictions, references, **own, **options)


page = Page(
    title="CHAIR",
    about="""
How often does a caption speak of things that are not in the picture? Words are looked up in a list of COCO's 80
classes; no model is asked. Comparable scores need CHAIR's own synonym list, which the page fetches once from its
authors.
""",
    score=_score,
    predictions=Box(
        "Captions, one image per line",
        "A brown dog catches a frisbee beside a bench.\nTwo cats sleep on a couch.",
        responses=True,
    ),
    references=Box(
        "Objects in the image, separated by commas",
        "dog, frisbee\ncat, couch, remote",
        names,
        keys=("objects",),
    ),
    choices={
        "words": Choice(
            "Word list",
            {
                "COCO's class names alone (nothing is fetched)": "names",
                "CHAIR's synonyms (fetched)": "official",
            },
        )
    },
    options={"bootstrap": 1000, "per_image": True},
    each="per_image",
)

if __name__ == "__main__":
    page.launch()
