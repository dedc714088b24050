"""Times explaining 9,000 responses to POPE, five protocols and ten differences, against scoring five times."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import halluscope
from halluscope import registry
from halluscope.explaining import explained, protocols
from halluscope.explaining.explained import Explained
from timing import compare

PER_SAMPLING, SCORE = 3000, "f1"
SAMPLINGS = ("random", "popular", "adversarial")
PARSERS = ("pope", "pope", "lmms-eval", "vlmevalkit", "strict")
"""The parsers of the protocols that need no other labels, in the protocols' order."""

SAID = ["Yes", "No", "Yes, there is.", "No, there isn't one.", "There is a dog in the image.", "", "Unsure"]


def main() -> None:
    """Check that both ways give the same scores, and print the ratio."""
    with TemporaryDirectory() as folder:
        responses, dataset = make(Path(folder))
        assert explain(responses, dataset)[:1] == score(responses, dataset)[:1]
        ours, theirs = (partial(run, responses, dataset) for run in (explain, score))
        compare("9,000 responses, five protocols, ten differences", ours, theirs, "scoring five times")


def explain(responses: str, dataset: list[str]) -> list[float]:
    """Compute all differences, and return the score under each protocol."""
    pope = registry.benchmark("pope")
    stated = protocols.load(pope)
    chosen = [one for one in stated.usual if not one.needs]
    found = Explained(pope, stated, chosen, [responses], dataset, {})
    found.compute()
    assert len([*explained.differences(found, SCORE)]) == 10
    return [found.score(setting, SCORE) for setting in found.settings()]


def score(responses: str, dataset: list[str]) -> list[float]:
    """Return the scores, each computed from the files."""
    return [halluscope.score("pope", responses, dataset, parser=parser)[SCORE] for parser in PARSERS]


def make(folder: Path) -> tuple[str, list[str]]:
    """Write questions in POPE's format, and a response to each."""
    rng = np.random.default_rng(0)
    files, said = [], []
    for sampling in SAMPLINGS:
        asked = [
            {
                "question_id": n,
                "image": f"COCO_val2014_{n // 6:012d}.jpg",
                "text": f"Is there a thing {n % 80} in the image?",
                "label": "yes" if n % 2 else "no",
            }
            for n in range(1, PER_SAMPLING + 1)
        ]
        files.append(write(folder / f"coco_pope_{sampling}.json", asked))
        texts = (SAID[place] for place in rng.integers(len(SAID), size=PER_SAMPLING))
        said += [
            {"question_id": row["question_id"], "sampling": sampling, "response": text}
            for row, text in zip(asked, texts, strict=True)
        ]
    return write(folder / "responses.jsonl", said), files


def write(file: Path, rows: Sequence[Mapping[str, object]]) -> str:
    """Write JSON lines, and return the file's name."""
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


if __name__ == "__main__":
    main()
