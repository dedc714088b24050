"""One of several wordings, chosen by a seed and the text that it replaces, whatever stands in the other rows."""

import random
from collections.abc import Callable, Sequence


def chooser(seed: int, text: str) -> Callable[[Sequence[str]], str]:
    """Choose by seed and text: the same question asked in two rows gets the same wording."""
    generator = random.Random(f"{seed}|{text}")
    return lambda wordings: wordings[int(generator.random() * len(wordings))]
