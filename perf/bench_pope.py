"""Times scoring 400,000 different yes/no responses by each parser, against a plain loop with POPE's official rule."""

from functools import partial

import numpy as np

from halluscope.benchmarks.pope import metric as pope
from halluscope.responses.parsers import PARSERS
from timing import compare, size

CLASSES = 80
# Every rule reads these alike, as it reads real responses: where rules differ, `compute` reads all by two of them
SHORT = [
    "Yes",
    "No",
    "Yes.",
    "No, there isn't.",
    "Yes, there is.",
    "No.",
    "No, it is not there",
    "Yes, I see it",
]
FIVE = ("accuracy", "precision", "recall", "f1", "yes_ratio")
BASELINE = "a plain loop over responses"


def main() -> None:
    """Check that both ways give the same scores, and print the ratios."""
    rng = np.random.default_rng(0)
    rows = size(400_000, 60_000)
    objects = [f"object {row % CLASSES}" for row in range(rows)]
    labels = ["yes" if present else "no" for present in rng.random(rows) < 0.036]
    short = [SHORT[index] for index in rng.integers(len(SHORT), size=rows)]
    texts = [f"{short[row]} I looked for {objects[row]} in image {row}." for row in range(rows)]
    scores = pope.compute(texts, labels)
    assert [round(scores[name], 12) for name in FIVE] == plain(texts, labels)

    for parser in PARSERS:
        compare(
            f"different texts, parser {parser}",
            partial(pope.compute, texts, labels, parser=parser),
            partial(plain, texts, labels),
            BASELINE,
        )
    plain_loop = partial(plain, short, labels)
    compare("8 different texts", partial(pope.compute, short, labels), plain_loop, BASELINE)
    image_ids = [row // CLASSES for row in range(rows)]
    by_class = partial(pope.compute, short, labels, objects=objects, image_ids=image_ids, bootstrap=1)
    compare("8 different texts, by class, with intervals", by_class, plain_loop, BASELINE, 2)


def plain(texts: list[str], labels: list[str]) -> list[float]:
    """Return the five official scores, computed by a plain loop over the responses."""
    true_yes = 0
    false_yes = 0
    true_no = 0
    false_no = 0
    for text, label in zip(texts, labels, strict=True):
        words = text.split(".")[0].replace(",", "").split(" ")
        yes = not ("No" in words or "not" in words or "no" in words)
        true_yes += yes and label == "yes"
        false_yes += yes and label == "no"
        true_no += not yes and label == "no"
        false_no += not yes and label == "yes"
    accuracy = (true_yes + true_no) / len(texts)
    precision = true_yes / (true_yes + false_yes)
    recall = true_yes / (true_yes + false_no)
    f1 = 2 * precision * recall / (precision + recall)
    yes_ratio = (true_yes + false_yes) / len(texts)
    return [round(score, 12) for score in (accuracy, precision, recall, f1, yes_ratio)]


if __name__ == "__main__":
    main()
