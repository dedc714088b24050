"""Times scoring 400,000 yes/no responses, against a plain loop with POPE's official rule, and with all options."""

from functools import partial

import numpy as np

from halluscope.benchmarks.pope import metric as pope
from halluscope.responses import parsers as replies
from timing import compare, seconds

IMAGES, CLASSES = 5000, 80
SHORT = ["Yes", "No", "yes.", "No, there isn't.", "Yes, there is.", "NO", "It isn't there", ""]


def main() -> None:
    """Check that both ways give the same scores, and print the times."""
    rng = np.random.default_rng(0)
    rows = IMAGES * CLASSES
    objects = [f"object {i % CLASSES}" for i in range(rows)]
    labels = ["yes" if present else "no" for present in rng.random(rows) < 0.036]
    short = [SHORT[i] for i in rng.integers(len(SHORT), size=rows)]
    different = [
        f"{text} I looked for {name} in image {i}."
        for i, (text, name) in enumerate(zip(short, objects, strict=True))
    ]
    for what, texts in (("8 different responses", short), ("400,000 different responses", different)):
        assert ours(texts, labels) == plain(texts, labels)
        compare(
            what, partial(ours, texts, labels), partial(plain, texts, labels), "a plain loop over responses"
        )
    by_class = partial(pope.compute, short, labels, objects=objects)
    for parser in replies.PARSERS:
        print(f"parser {parser}, by class: {seconds(partial(by_class, parser=parser)):.3f} s")
    image_ids = [i // CLASSES for i in range(rows)]
    took = seconds(partial(by_class, image_ids=image_ids, bootstrap=1000))
    print(f"with a bootstrap interval of 1,000 resamples of the images: {took:.3f} s")


def ours(texts: list[str], labels: list[str]) -> list[float]:
    """Return the five official scores, computed by halluscope."""
    result = pope.compute(texts, labels)
    return [round(result[name], 12) for name in ("accuracy", "precision", "recall", "f1", "yes_ratio")]


def plain(texts: list[str], labels: list[str]) -> list[float]:
    """Return the same scores, computed by a plain loop over the responses."""
    true_yes = false_yes = true_no = false_no = 0
    for text, label in zip(texts, labels, strict=True):
        words = text.split(".")[0].replace(",", "").split(" ")
        yes = not ("No" in words or "not" in words or "no" in words)
        true_yes += yes and label == "yes"
        false_yes += yes and label == "no"
        true_no += not yes and label == "no"
        false_no += not yes and label == "yes"
    precision, recall = true_yes / (true_yes + false_yes), true_yes / (true_yes + false_no)
    f1 = 2 * precision * recall / (precision + recall)
    figures = [(true_yes + true_no) / len(texts), precision, recall, f1, (true_yes + false_yes) / len(texts)]
    return [round(figure, 12) for figure in figures]


if __name__ == "__main__":
    main()
