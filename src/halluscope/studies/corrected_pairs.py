"""What corrected differences of two runs have in common, whatever kind of judge was certified.

The certificate's file, Holm's correction where there are several differences, and how many more marks would settle one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from halluscope.files.opening import read_json
from halluscope.reporting.tables import Json
from halluscope.sanitize import short_repr
from halluscope.stats.paired import holm
from halluscope.studies.certificate import DIGEST, digest_of


@dataclass(frozen=True)
class Certificate:
    """A certificate, with the marks on which it rests."""

    name: str  # its file
    content: Json


def read_certificate(path: Path, form: str, make: str) -> Certificate:
    """Read a certificate of this form that is as it was written; `make` is the command that makes one."""
    content = read_json(path)
    make = f"make one with `{make}`."
    if not isinstance(content, dict) or content.get("form") != form:
        other_form = content
        if isinstance(content, dict):
            other_form = content.get("form")
        raise ValueError(f"{path} is {short_repr(other_form, 80)}; expected a {form!r}: {make}")
    if content.get(DIGEST) != digest_of(content):
        raise ValueError(
            f"{path} was changed: its digest is {short_repr(content.get(DIGEST))}, but its content has "
            f"{digest_of(content)}. Take the original, or {make}"
        )
    return Certificate(str(path), content)


def not_used(certificates: Sequence[Certificate], used: set[int]) -> Iterator[str]:
    """Say which certificates were not used, given the numbers of the others."""
    for number, certificate in enumerate(certificates):
        if number not in used:
            yield (
                f"{certificate.name} was not used: it is about none of these runs, or about one that another corrects."
            )


@dataclass(frozen=True)
class Pair:
    """The corrected difference of a score of two runs; NaN where one of them has none."""

    score: str
    first: str  # the name of a run
    second: str
    judge: float  # the judge's score of the first less that of the second
    value: float
    low: float
    high: float
    p: float  # two-sided, of no difference
    by_images: float  # the part of its variance that is due to the choice of images
    by_marks: float  # and the part due to the choice of what is marked
    marked: int  # how many responses are marked
    unmarked: int  # how many could be marked in addition


@dataclass(frozen=True)
class Correction:
    """What certificates say of runs."""

    certificates: Sequence[Certificate]
    scores: Sequence[Json]  # the corrected scores of each run
    pairs: Sequence[Pair]
    uncorrected: Sequence[str]  # why a score has no corrected value
    doubts: Sequence[str]  # what the correction assumes
    interval: str  # how intervals are made


def settled(pairs: Sequence[Pair], level: float) -> Iterator[Json]:
    """Yield differences, each with its p value by Holm's correction for all differences of the same score.

    A difference that is not beyond chance has `more_marks`, how many more would put it there; None if no number would.
    """
    for score in dict.fromkeys(pair.score for pair in pairs):
        of_score = [pair for pair in pairs if pair.score == score]
        p_values = holm([pair.p for pair in of_score])
        not_beyond = sum(p >= 1 - level for p in p_values)
        for pair, p in zip(of_score, p_values, strict=True):
            is_beyond = p < 1 - level
            more: int | None = 0
            if not is_beyond:
                # what Holm's correction asks of the next one, if the others stay as they are
                more = _more_marks(pair, 1 - (1 - level) / max(1, not_beyond))
            yield {
                "score": score,
                "first": pair.first,
                "second": pair.second,
                "judge": pair.judge,
                "value": pair.value,
                "low": pair.low,
                "high": pair.high,
                "p": pair.p,
                "holm": p,
                "beyond_chance": is_beyond,
                "more_marks": more,
            }


def _more_marks(pair: Pair, level: float) -> int | None:
    """Return how many more marks would put a difference beyond chance; None if those of all responses would not."""
    more = marks_needed(
        pair.value, images=pair.by_images, marks=pair.by_marks, marked=pair.marked, level=level
    )
    if more > pair.unmarked:
        return None
    return int(more)


def marks_needed(difference: float, *, images: float, marks: float, marked: int, level: float) -> float:
    """Return how many more marks would put a difference beyond chance, if it stayed as it is; inf if no number would.

    The part of its variance that is due to the marks falls as 1 / their number; that of the images stays.

    >>> marks_needed(0.2, images=0.005, marks=0.02, marked=100, level=0.95)
    270
    >>> marks_needed(0.1, images=0.005, marks=0.02, marked=100, level=0.95)
    inf
    """
    errors = NormalDist().inv_cdf((1 + level) / 2)
    room = (difference / errors) ** 2 - images
    if not room > 0:
        return float("inf")
    return max(1, int(np.ceil(marked * marks / room)) - marked)
