"""A list of synonyms of our own, for the benchmarks that read words as CHAIR does."""

from pathlib import Path
from typing import Any

import pytest

from tests.small_datasets import COCO

WORDS = {
    "person": ["man", "woman", "baby", "adult", "passenger", "people"],
    "airplane": ["plane", "jet"],
    "bear": ["panda"],
    "bicycle": ["bike"],
    "chair": ["seat"],
    "dining table": ["table", "coffee table"],
    "oven": ["stove"],
    "remote": ["remote control"],
    "skis": ["ski"],
    "tie": ["bow", "bow tie"],
    "tv": ["monitor"],
    "cell phone": ["phone", "smartphone"],
    "traffic light": ["street light"],
}
"""Words of COCO's classes, beside their names."""


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The options that name the list."""
    file: Path = tmp_path_factory.mktemp("lists") / "words.txt"
    file.write_text("\n".join(", ".join([name, *WORDS.get(name, [])]) for name in COCO))
    return {"synonyms": file, "allow_other_synonyms": True}
