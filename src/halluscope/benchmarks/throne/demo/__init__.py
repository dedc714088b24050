"""The demo: eight descriptions of drawn pictures, read by rules, so that no model and no dataset is needed."""

import json
from importlib import resources
from io import BytesIO

from PIL import Image

from halluscope.benchmarks.throne.metric import compute
from halluscope.reporting.page.content import Picture
from halluscope.reporting.report_items import Shown
from halluscope.runs.page import shown_result
from halluscope.stats.bootstrap import RESAMPLES

FOLDER = resources.files(__name__)

CREDIT = "Drawn for halluscope, Apache-2.0"

WARNING = "This is a demo: eight descriptions, written for drawn pictures. The scores are no model's."

NEXT = r"""halluscope build throne_coco
halluscope answer --model MODEL --dataset throne_coco --limit 100 \
    --out mine.jsonl
halluscope score throne --responses mine.jsonl --dataset throne_coco \
    --judges lexical --out runs/mine
halluscope report runs/mine --dataset throne_coco --out report.html"""
"""What to type next."""

ABOUT_NEXT = """MODEL is a vision-language model: a folder, or its name on the Hub, such as
HuggingFaceTB/SmolVLM-256M-Instruct. The first command downloads 1.1 GB from
images.cocodataset.org into datasets/throne_coco; the second needs
pip install 'halluscope[judge]', or write mine.jsonl yourself, a line per image:
{"image_id": 139, "response": "A living room with a fireplace ..."}"""
"""What that takes, in lines of at most 80 characters."""


def shown() -> Shown:
    """Score the descriptions; each with what was found in it."""
    texts = []
    objects = []
    ids = []
    for line in FOLDER.joinpath("descriptions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        texts.append(row["response"])
        objects.append(row["objects"])
        ids.append(row["image_id"])
    result = compute(texts, objects, judges="lexical", bootstrap=RESAMPLES, per_image=True)
    return shown_result(result, texts, objects, "demo", image_ids=ids, judges="lexical")


def pictures() -> dict[str, Picture]:
    """The picture of each description: its id -> a file of WebP."""
    pictures_by_id = {}
    for file in FOLDER.iterdir():
        if file.name.endswith(".webp"):
            pictures_by_id[file.name.removesuffix(".webp")] = _picture(file.read_bytes())
    return pictures_by_id


def _picture(content: bytes) -> Picture:
    with Image.open(BytesIO(content)) as image:
        return Picture(content, image.width, image.height, CREDIT)
