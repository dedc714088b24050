"""How often a judge errs about yes and no, and how well calibrated it is, by people's labels of a sample of texts.

Each label's weight is 1 / the probability that it was asked for (Horvitz and Thompson, 1952). Labels of a text depend
on each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halluscope.stats.intervals import Counts, blocks_of, interval, leave_out, total_of
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, Ints, counts_of, score_sums

BINS = 10
RATES = ("false_yes", "false_no", "wrong_yes")


@dataclass(frozen=True)
class Judged:
    """The labels of a judge and of people for the cells of a sample of texts, each [texts, cells]."""

    yes: Bools  # whether the judge says yes
    implied: Bools  # whether people say yes
    weights: Floats  # the labels' weights; 0 where people were not asked

    def among(self, cells: Bools) -> "Judged":
        """Return the labels of only some cells, given as bool [texts, cells], [cells], or [texts, 1]."""
        return replace(self, weights=np.where(cells, self.weights, 0.0))

    def by_text(self, cells: Bools) -> Floats:
        """Return the weights of some cells, summed over each text: [texts]."""
        sums: Floats = (self.weights * cells).sum(axis=1)
        return sums


def error_rates(judged: Mapping[str, Judged], level: float) -> dict[str, dict[str, Any]]:
    """Estimate a judge's error rates by name: `RATES`, fractions with an interval (NaN without such cells), and
    counts.

    Intervals leave out texts, because labels of a text depend on each other (`halluscope.stats.intervals`).
    """
    tally = {}
    for name, cells in judged.items():
        false_yes = cells.by_text(cells.yes & ~cells.implied)
        false_no = cells.by_text(~cells.yes & cells.implied)
        tally[f"{name}/false_yes"] = (false_yes, cells.by_text(~cells.implied))
        tally[f"{name}/false_no"] = (false_no, cells.by_text(cells.implied))
        tally[f"{name}/wrong_yes"] = (false_yes, cells.by_text(cells.yes))
    scores = list(tally)
    counts = counts_of(tally)
    left_out = leave_out(lambda sums: score_sums(sums, scores), total_of(counts), blocks_of(counts))
    rates: dict[str, dict[str, Any]] = {}
    for name, cells in judged.items():
        is_known = cells.weights > 0
        rates[name] = {
            "labels": int(is_known.sum()),
            "texts": int(is_known.any(axis=1).sum()),
            "implied": int((is_known & cells.implied).sum()),
        }
        for rate in RATES:
            score = left_out[f"{name}/{rate}"]
            low, high = interval(score, level)
            rates[name][rate] = {"value": score.value, "low": low, "high": high}
    return rates


def calibration(
    chances: Floats,
    implied: Bools,
    weights: Floats,
    level: float,
) -> dict[str, Any]:
    """Measure how far a judge's probabilities of yes [texts, votes] are from how often people say yes; NaN without
    votes.

    Source: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks" (ICML 2017), equation 3, with
    `BINS` bins of equal width over the probability of yes. Votes of weight 0 do not count.
    """
    bins = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    by_text = {
        "total": _by_bin(weights, bins),
        "predicted": _by_bin(weights * chances, bins),
        "yes": _by_bin(weights * implied, bins),
    }
    error = leave_out(_calibration_error, total_of(by_text), blocks_of(by_text))["ece"]
    low, high = interval(error, level)

    votes = np.bincount(bins[weights > 0], minlength=BINS)
    total = by_text["total"].sum(axis=0)
    predicted = ratio(by_text["predicted"].sum(axis=0), total)
    by_people = ratio(by_text["yes"].sum(axis=0), total)
    table = []
    for number in range(BINS):
        if votes[number]:
            table.append(
                {
                    "from": number / BINS,
                    "to": (number + 1) / BINS,
                    "votes": int(votes[number]),
                    "said": float(predicted[number]),
                    "implied": float(by_people[number]),
                }
            )
    return {"ece": {"value": error.value, "low": low, "high": high}, "bins": table}


def _by_bin(amounts: Floats, bins: Ints) -> Floats:
    """Return the sums of amounts [texts, votes] by text and bin: [texts, bins]."""
    sums = np.empty((len(amounts), BINS))
    for number in range(BINS):
        sums[:, number] = np.where(bins == number, amounts, 0.0).sum(axis=1)
    return sums


def _calibration_error(sums: Counts) -> dict[str, Floats]:
    """Return the expected calibration error [sums] from sums [sums, bins]."""
    away = np.abs(sums["predicted"] - sums["yes"]).sum(axis=1)
    return {"ece": ratio(away, sums["total"].sum(axis=1))}
