"""Chooses one of several wordings by a seed and the text that it replaces, whatever the other rows are."""

import random
from collections.abc import Callable, Sequence


def chooser(seed: int, text: str) -> Callable[[Sequence[str]], str]:
    """Return a function that chooses by seed and text: the same question in two rows gets the same wording."""
    generator = random.Random(f"{seed}|{text}")
    return lambda wordings: wordings[int(generator.random() * len(wordings))]
