"""Which text of other projects' files belongs to which row of POPE and CHAIR: digests, frozen when issue 46 began.

A digest tells of each row its id, its sampling, and its text, so that no upstream text stands here.
"""

import hashlib
import json
from pathlib import Path

import pytest

from halluscope.scoring import prepare_call

FROZEN = json.loads((Path(__file__).parent / "wild_maps.json").read_text(encoding="utf-8"))
POPE = ("adversarial", "popular", "random")


def dataset(upstream: Path, name: str) -> list[str]:
    """The files of a dataset: "coco" and "aokvqa" are POPE's."""
    if name == "chair":
        return [str(upstream / "chair" / "coco2014_chair_objects.json.gz")]
    begin = {"coco": "coco/coco_pope", "aokvqa": "aokvqa/aokvqa_pope_seem"}[name]
    return [str(upstream / "pope" / f"{begin}_{sampling}.json") for sampling in POPE]


def digest(rows: list, texts: list[str]) -> str:
    lines = []
    for row, text in zip(rows, texts, strict=True):
        about = [getattr(row, name, "") for name in ("image_id", "question_id", "sampling")]
        lines.append(json.dumps([*about, text]))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def outcome(upstream: Path, entry: dict) -> dict:
    """How a file's responses are matched, or how the message begins that refuses them."""
    benchmark = "chair" if entry["dataset"] == "chair" else "pope"
    file = upstream / "wild" / entry["file"]
    options = {"partial": True} if entry["partial"] else {}
    try:
        _, ready, _ = prepare_call(benchmark, [str(file)], dataset(upstream, entry["dataset"]), options)
    except ValueError as error:
        return {"refused": str(error).replace(str(file), "FILE")[:60]}
    matched = ready[0].matched
    return {"rows": len(matched.rows), "by": matched.by, "map": digest(matched.rows, matched.texts)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", FROZEN, ids=[entry["file"].partition("__")[2][:60] for entry in FROZEN])
def test_texts_belong_to_the_same_rows(entry, upstream):
    assert outcome(upstream, entry) == entry["outcome"]
