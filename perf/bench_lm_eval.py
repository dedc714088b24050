"""Measures the time and memory that lm-eval needs to build the 400,000 requests of pope_c.

The script makes small JPEGs as images. The baseline is a task with the image in each row, as datasets of questions
usually have it; it is built for the first 2,000 questions, and the times per request are compared.
"""

import io
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from bench_pope_c import IMAGES, make_throne
from halluscope import registry
from halluscope.harness import tasks
from timing import measure, record

SIZE = (160, 120)
ALL = 400_000  # requests
PLAIN = 2000
BASELINE = "the image in each row"


def make_pictures(folder: Path) -> None:
    """Write the images that `make_throne` asks for."""
    folder.mkdir()
    for image_id in range(139, 139 + IMAGES):
        (folder / f"{image_id:012d}.jpg").write_bytes(_jpeg(image_id))


def _jpeg(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    coarse = Pillow.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    content = io.BytesIO()
    coarse.resize(SIZE, Pillow.Resampling.BICUBIC).save(content, "JPEG", quality=85)
    return content.getvalue()


def build_requests(folder: Path, task: str, include: str, limit: int | None) -> None:
    """Let lm-eval build the requests of a task."""
    os.environ["HALLUSCOPE_TASKS"] = f'{{"pope_c": {{"dataset": "{folder}"}}}}'
    os.environ["PLAIN_POPE_C"] = str(folder)
    from lm_eval.tasks import TaskManager

    loaded = TaskManager(include_path=include, include_defaults=False).load(task)["tasks"][task]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loaded.build_all_requests(limit=limit)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"  {len(loaded.instances):,} requests, {grown / 1e6:.2f} GB more than before", file=sys.stderr)


PLAIN_TASK = """
task: plain_pope_c
custom_dataset: !function plain.rows
test_split: test
output_type: generate_until
num_fewshot: 0
fewshot_config: {samples: []}
doc_to_text: "<image>{{question}}"
doc_to_image: [image]
doc_to_target: answer
generation_kwargs: {until: [], do_sample: false, max_gen_toks: 64}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""

PLAIN_CODE = """
import os
import datasets

def rows(**_):
    folder = os.environ["PLAIN_POPE_C"]
    questions = datasets.load_dataset(folder, "questions", split="validation").select(range(2000))
    images = datasets.load_dataset(folder, "images", split="validation")
    images = images.cast_column("image", datasets.Image(decode=False))
    stored = {row["image_id"]: row["image"] for row in images}
    column = [stored[image_id] for image_id in questions["image_id"]]
    return {"test": questions.add_column("image", column, feature=datasets.Image())}
"""


def main() -> None:
    """Print times, memory and the ratio."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["HF_DATASETS_CACHE"] = str(folder / "cache")
        os.environ["HF_HUB_OFFLINE"] = "1"
        make_pictures(folder / "pictures")
        make_throne(folder / "throne", folder / "pictures")
        dataset = registry.dataset("pope_c")
        registry.benchmark("pope").builder(dataset).build(
            folder / "throne", out=folder / "pope_c", subset=True
        )
        (folder / "plain").mkdir()
        (folder / "plain" / "plain.yaml").write_text(PLAIN_TASK)
        (folder / "plain" / "plain.py").write_text(PLAIN_CODE)
        include = str(tasks.write("lm-eval", folder / "tasks"))
        ours = _seconds_a_request("ours", ALL, folder / "pope_c", "pope_c", include, None)
        include = str(folder / "plain")
        baseline = _seconds_a_request(BASELINE, PLAIN, folder / "pope_c", "plain_pope_c", include, PLAIN)
        record("a request of pope_c", ours, baseline, BASELINE)


def _seconds_a_request(name: str, requests: int, *task: Any) -> float:
    """Print and return how long a request takes; `task` are the arguments of `build_requests`."""
    run = measure(build_requests, *task)
    imports = measure(_imports)
    print(
        f"{name}: {requests:,} requests in {run.seconds:.1f} s (of which imports {imports.seconds:.1f} s), "
        f"{run.memory:.2f} GB at most"
    )
    return (run.seconds - imports.seconds) / requests


def _imports() -> None:
    from lm_eval.tasks import TaskManager

    assert TaskManager


if __name__ == "__main__":
    main()
