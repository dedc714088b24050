"""What HumbleBench's data file cannot say: its parsers, and its scores beside the accuracy."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from halluscope.graded.labelled import Labelled, LabelledView
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools

LETTERS, NONE_OF_THEM = "ABCDE", "E"
_WORD = re.compile(r"\b\w+\b")
_CHOICE = re.compile(
    r"(?:(?:the )?(?:final |correct )?(?:answer|option|choice)(?: is)?\s*:?\s*)?\W*([a-e])\b(?!')", re.I
)


def official(text: str) -> str | None:
    """Return the only letter of A to E among a response's words, in upper or lower case.

    >>> official("The answer is (b)."), official("A dog"), official("B or C")
    ('B', 'A', None)
    """
    found = {*_WORD.findall(text.lower())} & {*LETTERS.lower()}
    return found.pop().upper() if len(found) == 1 else None


def strict(text: str) -> str | None:
    """Return the letter that a response begins with; None if another letter follows, or a word after "a".

    >>> strict("Answer: b) a dog"), strict("A dog"), strict("B or C"), strict("(E) None of the above")
    ('B', None, None, 'E')
    """
    begins = _CHOICE.match(text.strip())
    rest = text.strip()[begins.end() :] if begins else ""
    if not begins or (begins[1] in "aA" and re.match(r"\s+\w", rest)) or re.search(r"\b[B-E]\b", rest):
        return None
    return begins[1].upper()


class HumbleBench(Labelled):
    """HumbleBench's metric."""

    parsers: ClassVar = {"official": official, "strict": strict}

    def parts(
        self, labels: Sequence[str], texts: Sequence[str], right: Bools
    ) -> dict[str, tuple[Bools, Bools]]:
        """Return what each row adds to the recall of each letter, and to the share of E answered by just "E"."""
        is_label = {letter: np.array([label == letter for label in labels], dtype=bool) for letter in LETTERS}
        bare = np.array([text == NONE_OF_THEM for text in texts], dtype=bool)
        of_e = is_label[NONE_OF_THEM]
        recalls = {f"recall/{letter}": (right & of, of) for letter, of in is_label.items()}
        return {**recalls, "e_accuracy": (bare & of_e, of_e)}

    def derived(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the mean of the letters' recalls, of those that are right answers; by chance it is that of a guess."""
        recalls = np.array([scores[f"recall/{letter}"] for letter in LETTERS])
        known = ~np.isnan(recalls)
        mean = np.where(known, recalls, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        balanced = np.where(known.any(axis=0), mean, np.nan)
        return {"balanced_accuracy": balanced, "chance": np.full_like(balanced, 1 / len(LETTERS))}


LABELLED = HumbleBench(__package__)
VIEW = LabelledView(LABELLED)
compute = LABELLED.compute
