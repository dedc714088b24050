"""Times reading objects out of 5,000 descriptions: the lexical judge, and CHAIR, each with scoring.

The lexical judge's baseline is one regular expression per class and text. CHAIR's is a plain loop that works as
nltk-style code does: it takes the same tokens, and looks up the dictionary form of each as a noun and as a verb,
without a cache. It leaves out nltk's tagger, which would take longer than all the rest.
"""

import random
import re
import tempfile
from functools import partial
from pathlib import Path

from lemminflect import getLemma  # type: ignore[import-untyped]

from halluscope.benchmarks.chair import metric as chair
from halluscope.benchmarks.throne import metric as throne
from halluscope.judging.lexical import LexicalJudge
from halluscope.reading.words.tokens import tokenise
from halluscope.vocabularies import load
from timing import compare, size

COCO = load("coco")
SENTENCES = (
    "The image shows several {}s next to a {}, with people standing around.",
    "There is no {} in the picture, but a {} stands in the background, slightly to the left.",
    "On the left, a person holds a {}, perhaps looking for a {}.",
    "A few {}s are scattered around the {}, creating a lively atmosphere.",
    "The scene is calm, with soft light and a few clouds above.",
)


def main() -> None:
    """Print the ratios."""
    rng = random.Random(0)
    texts = [description(rng) for _ in range(size(5000, 2000))]
    present = [rng.sample(COCO.classes, 4) for _ in texts]
    words = sum(len(text.split()) for text in texts) / len(texts)
    print(f"{len(texts):,} texts of {words:.0f} words on average")
    few = size(5000, 500)  # the baseline of the lexical judge is slow
    lexical = partial(
        throne.compute,
        texts[:few],
        present[:few],
        judges=LexicalJudge(COCO),
        questions=["{x}?"],
        ask="all",
        progress=False,
    )
    rounds = size(3, 6)  # small inputs more often, because both cores must be free at once
    baseline = partial(search, texts[:few])
    compare("lexical judge", lexical, baseline, "one regular expression per class and text", rounds)
    with tempfile.TemporaryDirectory() as folder:
        synonyms = Path(folder, "words.txt")
        lines = []
        for name in COCO.classes:
            words_of_class = [name]
            words_of_class += _own(name)[:3]
            lines.append(", ".join(words_of_class))
        synonyms.write_text("\n".join(lines))
        ours = partial(chair.compute, texts, present, synonyms=synonyms, allow_other_synonyms=True)
        compare("CHAIR", ours, partial(look_up, texts), "every word looked up, without a cache", rounds)


def description(rng: random.Random) -> str:
    """Return a description of 4 to 14 sentences."""
    many = rng.randint(4, 14)
    sentences = []
    for _ in range(many):
        first, second = rng.sample(COCO.classes, 2)
        sentences.append(rng.choice(SENTENCES).format(first, second))
    return " ".join(sentences)


def search(texts: list[str]) -> list[list[bool]]:
    """Find the class names in each text, ignoring negation, hypothesis and compounds."""
    patterns = [_pattern(name) for name in COCO.classes]
    is_named = []
    for text in texts:
        is_named.append([bool(pattern.search(text)) for pattern in patterns])
    return is_named


def _pattern(name: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in _words_of(name)]
    return re.compile(rf"\b(?:{'|'.join(words)})s?\b", re.IGNORECASE)


def _words_of(name: str) -> list[str]:
    words = [name]
    words += COCO.mentions[name]
    return words


def look_up(texts: list[str]) -> list[list[str]]:
    """Return the dictionary forms of each text, without a cache."""
    forms = []
    for text in texts:
        forms.append([_form(word.form) for word in tokenise(text)])
    return forms


def _own(name: str) -> list[str]:
    """The words of one class that no other class has."""
    words_of_others: set[str] = set()
    for other_class in COCO.classes:
        if other_class != name:
            words_of_others.update(_words_of(other_class))
    return [word for word in COCO.mentions[name] if word not in words_of_others]


def _form(word: str) -> str:
    noun = getLemma(word, upos="NOUN", lemmatize_oov=False)
    verb = getLemma(word, upos="VERB", lemmatize_oov=False)
    return str((noun or verb or (word,))[0])


if __name__ == "__main__":
    main()
