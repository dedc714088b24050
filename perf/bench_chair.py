"""Times CHAIR on 5,000 descriptions, against a plain loop that looks up every word without a cache.

The plain loop works as nltk-style code does: it takes the same tokens, and looks up the dictionary form of each as a
noun and as a verb. It leaves out nltk's tagger, which would take longer than all the rest.
"""

import random
import tempfile
from pathlib import Path

from lemminflect import getLemma  # type: ignore[import-untyped]

from halluscope.benchmarks.chair import metric as chair
from halluscope.reading.words.tokens import tokenise
from halluscope.vocabularies import load
from timing import compare

TEXTS = 5000
COCO = load("coco")
SENTENCES = (
    "The image shows several {}s next to a {}, with people standing around.",
    "There is no {} in the picture, but a {} stands in the background, slightly to the left.",
    "On the left, a person holds a {}, perhaps looking for a {}.",
    "A few {}s are scattered around the {}, creating a lively atmosphere.",
    "The scene is calm, with soft light and a few clouds above.",
)


def main() -> None:
    """Print the ratio."""
    rng = random.Random(0)
    texts = [_text(rng) for _ in range(TEXTS)]
    present = [rng.sample(COCO.classes, 4) for _ in texts]
    words = sum(len(text.split()) for text in texts) / TEXTS
    print(f"{TEXTS} texts of {words:.0f} words on average")
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "words.txt")
        listed.write_text("\n".join(", ".join([name, *_own(name)[:3]]) for name in COCO.classes))

        def ours() -> None:
            chair.compute(texts, present, synonyms=listed, allow_other_synonyms=True)

        compare("CHAIR, with scoring", ours, lambda: plain(texts), "every word looked up, without a cache")


def plain(texts: list[str]) -> list[list[str]]:
    """Return the dictionary forms of each text, without a cache."""
    return [[_form(word.form) for word in tokenise(text)] for text in texts]


def _own(name: str) -> list[str]:
    """The words of one class that no other class has."""
    others = {word for one in COCO.classes if one != name for word in (one, *COCO.mentions[one])}
    return [word for word in COCO.mentions[name] if word not in others]


def _form(word: str) -> str:
    noun = getLemma(word, upos="NOUN", lemmatize_oov=False)
    verb = getLemma(word, upos="VERB", lemmatize_oov=False)
    return str((noun or verb or (word,))[0])


def _text(rng: random.Random) -> str:
    return " ".join(
        rng.choice(SENTENCES).format(*rng.sample(COCO.classes, 2)) for _ in range(rng.randint(4, 14))
    )


if __name__ == "__main__":
    main()
