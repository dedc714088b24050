"""Puts the options of a multiple-choice question into another order (HQM, section III.A)."""

import random
import re
from collections.abc import Sequence
from string import ascii_uppercase

from halluscope.reliability.parallel.negation import Refused

_REFERS = re.compile(
    r"\b(?:all|none|both|neither|either|any) of the (?:above|below)\b|\b[A-H]\)? (?:and|or|nor) \(?[A-H]\b",
    re.IGNORECASE,
)

_LETTERED = re.compile(r"\s*[(\[]?(?:[A-Z][.):\]]|\d{1,2}[.):\]]\s)", re.IGNORECASE)


def shuffle(options: Sequence[str], answer: str | int, seed: int = 0) -> tuple[list[str], str | int]:
    """Put options into another order.

    Args:
        options: the texts of the options, without letters.
        answer: the right option: its letter (A, B, ...), its text, or its place from 0.
        seed: chooses an order that differs from the given one. The same options and seed give the same order.

    Returns:
        The options, and the answer in the form in which it was given: the unchanged text, or its new letter or place.

    Raises:
        Refused: for fewer than two options, two equal options, an option that refers to others or to places ("all of
            the above"), an option that opens with its letter or number, or an answer that is not an option.
    """
    if len(options) < 2 or not all(isinstance(option, str) for option in options):
        raise Refused("it has fewer than two options, or an option that is not a text")
    if len({option.strip().lower() for option in options}) < len(options):
        raise Refused("two of its options are equal")
    if any(_REFERS.search(option) for option in options):
        raise Refused("an option refers to other options")
    if any(_LETTERED.match(option) for option in options):
        raise Refused("an option opens with its letter, which would move with it")
    place = _place(options, answer)
    generator = random.Random(f"{seed}|{'|'.join(options)}")
    given = list(range(len(options)))
    order = given
    while order == given:
        order = sorted(given, key=lambda _: generator.random())
    shuffled = [options[i] for i in order]
    if isinstance(answer, int):
        return shuffled, order.index(place)
    if answer in options:
        return shuffled, answer
    letter = ascii_uppercase[order.index(place)]
    return shuffled, letter.lower() if answer.islower() else letter


def _place(options: Sequence[str], answer: str | int) -> int:
    """Return the place of the right option. An answer that equals an option is that option, even if it is a letter."""
    if isinstance(answer, str) and answer in options:
        return options.index(answer)
    place = answer
    if isinstance(answer, str):
        place = ascii_uppercase.find(answer.upper()) if len(answer) == 1 else -1
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(options):
        raise Refused("its answer is not one of its options")
    if isinstance(answer, str) and len(options) > len(ascii_uppercase):
        raise Refused("it has more options than there are letters")
    return place
