"""Times the lexical judge on 5,000 descriptions x 80 classes, against one regular expression per class and text."""

import random
import re

from halluscope.benchmarks.throne import metric as throne
from halluscope.judging.lexical import LexicalJudge
from halluscope.vocabularies import load
from timing import compare

TEXTS = 5000
COCO = load("coco")
SENTENCES = (
    "The image shows a {} next to a {}.",
    "There is no {} in the picture, but a {} stands in the background.",
    "On the left, a person holds a {}, perhaps looking for a {}.",
    "Several {}s are scattered around the {}.",
    "The scene is calm, with soft light and a few clouds above.",
)


def main() -> None:
    """Print the ratio."""
    rng = random.Random(0)
    texts = [
        " ".join(
            rng.choice(SENTENCES).format(*rng.sample(COCO.classes, 2)) for _ in range(rng.randint(4, 14))
        )
        for _ in range(TEXTS)
    ]
    print(f"{TEXTS} texts of {sum(map(len, texts)) / TEXTS:.0f} characters on average")
    references: list[list[str]] = [[] for _ in texts]

    def ours() -> None:
        throne.compute(
            texts, references, judges=LexicalJudge(COCO), questions=["{x}?"], ask="all", progress=False
        )

    compare("lexical judge, with scoring", ours, lambda: plain(texts), "one regular expression per class")


def plain(texts: list[str]) -> list[list[bool]]:
    """Find the class names in each text, ignoring negation, hypothesis and compounds."""
    words = [[name, *COCO.mentions[name]] for name in COCO.classes]
    patterns = [re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})s?\b", re.IGNORECASE) for names in words]
    return [[bool(pattern.search(text)) for pattern in patterns] for text in texts]


if __name__ == "__main__":
    main()
