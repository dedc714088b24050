"""Measures a judge's errors against people's labels, with intervals: overall, and by group, class, length and kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.store_records import Margins
from halluscope.judging.votes import OTHER, UNASKED, YES
from halluscope.reliability.certifying import kinds
from halluscope.reliability.certifying.kinds import Kinds
from halluscope.reliability.certifying.labels import Labels
from halluscope.responses.lengths import words
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.judged import Judged, calibration, error_rates
from halluscope.stats.ratios import ratio
from halluscope.stats.tallies import Bools
from halluscope.vocabularies import Vocabulary

RESAMPLING = Bootstrap(1000)

FEWEST = 10
"""A class has its own line if people or the judge say yes to it in at least this many texts."""

LENGTHS = ((0, 50), (50, 100), (100, None))
"""The groups of texts by length: from the first number of words to below the second."""


@dataclass(frozen=True)
class Sampled:
    """The labelled texts, with people's labels and judges' votes.

    Attributes:
        texts: the texts that were judged.
        labels: people's labels.
        vocabulary: the classes.
        agreed: [texts, classes], 1 where the judges agree on yes.
        votes: the codes of the votes [texts, classes, judges x templates].
        margins: log P(yes) - log P(no) in nats, NaN where unknown, in the same shape as the votes.
        judges: the judges' keys.
    """

    texts: Sequence[str]
    labels: Labels
    vocabulary: Vocabulary
    agreed: NDArray[np.int8]
    votes: NDArray[np.int8]
    margins: Margins
    judges: Sequence[str]

    @cached_property
    def judged(self) -> Judged:
        """The judges' agreement, compared with people's labels."""
        implied, weights = self._said()
        return Judged(self.agreed == YES, implied, weights)

    def votes_of(self, judge: int) -> tuple[NDArray[np.int8], Margins]:
        """Return one judge's votes and margins [texts, classes x templates]."""
        each = self.votes.shape[-1] // len(self.judges)
        own = slice(judge * each, (judge + 1) * each)
        votes, margins = self.votes[:, :, own], self.margins[:, :, own]
        return votes.reshape(len(votes), -1), margins.reshape(len(votes), -1)

    def _said(self) -> tuple[Bools, NDArray[np.float64]]:
        """Return whether people say yes, and the weight of each label."""
        names = self.vocabulary.classes
        answers = [[one.answers.get(name, False) for name in names] for one in self.labels.texts]
        chances = [[one.chances.get(name, np.inf) for name in names] for one in self.labels.texts]
        return np.array(answers, dtype=bool), 1 / np.array(chances)


def summary(sampled: Sampled, resampling: Bootstrap = RESAMPLING) -> dict[str, Any]:
    """Return the errors of judges.

    Returns:
        `errors`, for the judges' agreement: `error_rates` of "all" cells, and a mapping of names to such rates by
        "group" of classes, "class", "length" of text and "kind" of sentence (by cue words); `votes`, for each judge's
        single votes: the same rates of all cells, the share of "unreadable" votes, and the "calibration" if margins are
        known (else None), or None if not every question was asked; `interval`, how the intervals are made.
    """
    judged = sampled.judged
    parts = {
        "group": _columns(sampled.vocabulary, sampled.vocabulary.groups),
        "class": _columns(sampled.vocabulary, _telling(judged, sampled.vocabulary)),
        "length": _lengths(sampled.texts),
        "kind": _kinds(sampled),
    }
    return {
        "errors": _tables(judged, parts, resampling),
        "votes": {key: _of_judge(sampled, place, resampling) for place, key in enumerate(sampled.judges)},
        "interval": str(resampling),
    }


def _tables(
    judged: Judged, parts: Mapping[str, Mapping[str, Bools]], resampling: Bootstrap
) -> dict[str, Any]:
    """Return the error rates of "all" cells, and of each part that has labels."""
    among = {(by, name): judged.among(mask) for by, masks in parts.items() for name, mask in masks.items()}
    told = {place: one for place, one in among.items() if one.weights.any()}
    rates = error_rates({"all": judged} | {"/".join(place): one for place, one in told.items()}, resampling)
    return {"all": rates["all"]} | {
        by: {name: rates[f"{by}/{name}"] for part, name in told if part == by} for by in parts
    }


def _of_judge(sampled: Sampled, place: int, resampling: Bootstrap) -> dict[str, Any] | None:
    """Return the errors of one judge's single votes, None if not every question was asked."""
    votes, margins = sampled.votes_of(place)
    judged = sampled.judged
    each = votes.shape[1] // judged.implied.shape[1]
    implied, weights = np.repeat(judged.implied, each, axis=1), np.repeat(judged.weights, each, axis=1)
    if (votes == UNASKED)[weights > 0].any():
        return None
    known = ~np.isnan(margins)
    chances = (1 + np.tanh(np.where(known, margins, 0.0) / 2)) / 2  # 1 / (1 + exp(-margin)), at any margin
    unreadable = ratio(np.where(votes == OTHER, weights, 0.0).sum(), weights.sum())
    (rates,) = error_rates({"": Judged(votes == YES, implied, weights)}, resampling).values()
    return rates | {
        "unreadable": float(unreadable),
        "calibration": calibration(chances, implied, np.where(known, weights, 0.0), resampling)
        if known.any()
        else None,
    }


def _columns(vocabulary: Vocabulary, groups: Mapping[str, Sequence[str]]) -> dict[str, Bools]:
    """Return which classes each group has: bool [classes]."""
    return {name: np.isin(vocabulary.classes, list(group)) for name, group in groups.items()}


def _telling(judged: Judged, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """Return the classes with enough labels for a line of their own."""
    said = ((judged.yes | judged.implied) & (judged.weights > 0)).sum(axis=0)
    return {name: [name] for name, count in zip(vocabulary.classes, said, strict=True) if count >= FEWEST}


def _lengths(texts: Sequence[str]) -> dict[str, Bools]:
    """Return which texts are in each group of lengths: bool [texts, 1]."""
    counts = np.array(words(texts))[:, None]
    return {
        f"{least} words or more" if most is None else f"{least} to {most - 1} words": (counts >= least)
        & (counts < (np.inf if most is None else most))
        for least, most in LENGTHS
    }


def _kinds(sampled: Sampled) -> dict[str, Bools]:
    """Return which cells are of each kind of sentence: bool [texts, classes]."""
    reader = Kinds(sampled.vocabulary)
    found = [reader.of(text, sampled.vocabulary.classes) for text in sampled.texts]
    return {kind: np.array([[kind in of for of in row] for row in found]) for kind in kinds.names()}
