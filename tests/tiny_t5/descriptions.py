"""Synthetic image descriptions: the texts that the tiny T5 learns to read, and that the tests judge.

>>> describe(["hot dog", "cup"], random.Random(0), sentences=1)
'The photo shows the hot dog and the small cup.'
"""

import random
from collections.abc import Sequence

from halluscope import vocabularies
from halluscope.judging.questions import article

CLASSES = vocabularies.load("coco").classes

# No word of a class name stands in what follows: whatever a description mentions, it was asked to mention.
SENTENCES = {
    0: (
        "It looks like a calm and sunny morning.",
        "The background is slightly blurred.",
        "The whole scene feels quiet and peaceful.",
        "Soft shadows fall across the ground.",
        "The photo was taken from a low angle.",
    ),
    1: (
        "The image shows {}.",
        "We notice {} in the middle of the picture.",
        "In the background we can see {}.",
        "{} can be seen on the left side.",
        "{} can be made out close to the camera.",
        "On the right, the photographer caught {}.",
    ),
    2: (
        "The photo shows {} and {}.",
        "Next to {} we see {}.",
        "In front of {} the camera found {}.",
        "Someone left {} beside {}.",
        "Behind {}, we notice {}.",
    ),
    3: (
        "The picture contains {}, {} and {}.",
        "{} can be seen between {} and {}.",
        "We can see {} near {}, with {} further away.",
        "Along with {} and {}, the view includes {}.",
    ),
}
MOST_IN_A_SENTENCE = max(SENTENCES)
MOST_SENTENCES = 6

ADJECTIVES = ("", "", "", "small ", "large ", "old ", "bright ")
QUANTITIES = ("two", "three", "some", "several", "the")
PLURALS = {"person": "people", "knife": "knives", "mouse": "mice", "sheep": "sheep"}
MEASURES = {"skis": "pair", "scissors": "pair", "broccoli": "piece"}


def describe(objects: Sequence[str], rng: random.Random, sentences: int | None = None) -> str:
    """A description that mentions exactly these classes, each once.

    "hot dog" mentions a hot dog and no dog; scenery sentences mention nothing.

    Args:
        objects: class names of COCO.
        rng: where every choice comes from.
        sentences: how many, up to three objects each; by default as many as it takes, up to six.
    """
    if sentences is None:
        needed = max(1, -(-len(objects) // MOST_IN_A_SENTENCE))
        sentences = rng.randint(needed, max(needed, MOST_SENTENCES))
    places = rng.sample(range(sentences * MOST_IN_A_SENTENCE), len(objects))
    mentioned: list[list[str]] = [[] for _ in range(sentences)]
    for cls, place in zip(objects, places, strict=True):
        mentioned[place // MOST_IN_A_SENTENCE].append(cls)
    return " ".join(_sentence(classes, rng) for classes in mentioned)


def _sentence(classes: Sequence[str], rng: random.Random) -> str:
    sentence = rng.choice(SENTENCES[len(classes)]).format(*(_noun_phrase(cls, rng) for cls in classes))
    return sentence[0].upper() + sentence[1:]


def _noun_phrase(cls: str, rng: random.Random) -> str:
    adjective = rng.choice(ADJECTIVES)
    if rng.random() < 0.3:
        return f"{rng.choice(QUANTITIES)} {adjective}{_many(cls)}"
    noun = adjective + _one(cls)
    return f"{rng.choice((article(noun), 'the'))} {noun}"


def _one(cls: str) -> str:
    return f"{MEASURES[cls]} of {cls}" if cls in MEASURES else cls


def _many(cls: str) -> str:
    if cls in MEASURES:
        return f"{MEASURES[cls]}s of {cls}"
    return PLURALS.get(cls) or cls + ("es" if cls.endswith(("s", "ch", "sh")) else "s")
