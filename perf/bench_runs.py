"""Times writing a run of 5,000 descriptions as a folder, and verifying it, against scoring them once."""

import json
import random
import tempfile
from pathlib import Path

from halluscope import registry, scoring
from halluscope.runs import folder as folders
from halluscope.runs.run import Run, score
from halluscope.runs.verifying import differences
from halluscope.vocabularies import load
from timing import record, seconds

TEXTS = 5000
BASELINE = "scoring once, with the lexical judge and 1,000 resamples"
OPTIONS = {"judges": "lexical", "progress": False, "bootstrap": 1000}


def main() -> None:
    """Print the ratios."""
    random.seed(0)
    classes = load("coco").classes
    images = {number: random.sample(classes, 3) for number in range(TEXTS)}
    responses = []
    for number, objects in images.items():
        text = f"There is a {objects[0]}, and a {objects[1]} beside a {random.choice(classes)}."
        responses.append({"image_id": number, "caption": text})
    throne = registry.benchmark("throne")
    runs: list[Run] = []
    moved: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        labels = Path(place, "labels.json")
        labels.write_text(json.dumps(images), encoding="utf-8")
        out = Path(place, "run")
        (ready,) = scoring.prepare(throne, [responses], [str(labels)], OPTIONS)
        scoring_once = seconds(lambda: runs.append(score(throne, ready, OPTIONS)))
        writing = seconds(lambda: folders.write(runs, out))
        verifying = seconds(lambda: moved.extend(differences(out)))
        size = sum(file.stat().st_size for file in out.iterdir())
    assert not moved, moved
    record(f"writing a run of {size / 1e6:.0f} MB", writing, scoring_once, BASELINE)
    record("verifying it", verifying, scoring_once, BASELINE)


if __name__ == "__main__":
    main()
