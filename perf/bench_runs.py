"""Times writing a run of 5,000 descriptions as a folder, and verifying it, against scoring them once."""

import json
import random
import tempfile
from pathlib import Path

from halluscope import registry, scoring
from halluscope.runs import folder as folders
from halluscope.runs import run as runs
from halluscope.runs.verifying import differences
from halluscope.vocabularies import load
from timing import record, seconds

TEXTS = 5000
BASELINE = "scoring once, with the lexical judge and 1,000 resamples"


def main() -> None:
    """Print the ratios."""
    draw, classes = random.Random(0), load("coco").classes
    images = {n: draw.sample(classes, 3) for n in range(TEXTS)}
    said = [
        {
            "image_id": n,
            "caption": f"There is a {there[0]}, and a {there[1]} beside a {draw.choice(classes)}.",
        }
        for n, there in images.items()
    ]
    with tempfile.TemporaryDirectory() as place:
        labels, out = Path(place, "labels.json"), Path(place, "run")
        labels.write_text(json.dumps(images), encoding="utf-8")
        throne, options = (
            registry.benchmark("throne"),
            {"judges": "lexical", "progress": False, "bootstrap": 1000},
        )
        (ready,) = scoring.prepare(throne, [said], [str(labels)], options)
        kept = []
        once = seconds(lambda: kept.append(runs.score(throne, ready, options)))
        writing = seconds(lambda: folders.write(kept[:1], out))
        found: list[str] = []
        verifying = seconds(lambda: found.extend(differences(out)))
        size = sum(file.stat().st_size for file in out.iterdir())
    assert not found, found
    record(f"writing a run of {size / 1e6:.0f} MB", writing, once, BASELINE)
    record("verifying it", verifying, once, BASELINE)


if __name__ == "__main__":
    main()
