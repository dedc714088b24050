"""Estimates from a weighted sample how often a judge errs about yes and no, and how well calibrated it is.

Each label's weight is 1 / the probability that it was asked for (Horvitz and Thompson, 1952). Labels of one text depend
on each other, so intervals resample whole texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, ratio, wilson
from halluscope.stats.tallies import Bools, Tally, resampled, scores

BINS = 10
RATES = ("false_yes", "false_no", "wrong_yes")


@dataclass(frozen=True)
class Judged:
    """The labels of a judge and of people for the cells of a sample of texts."""

    yes: Bools  # bool [texts, cells], whether the judge says yes
    implied: Bools  # bool [texts, cells], whether people say yes
    weights: Floats  # [texts, cells], the labels' weights; 0 where people were not asked

    def among(self, cells: Bools) -> "Judged":
        """Return the labels of only some cells, given as bool [texts, cells], [cells], or [texts, 1]."""
        return Judged(self.yes, self.implied, np.where(cells, self.weights, 0.0))


def error_rates(judged: Mapping[str, Judged], resampling: Bootstrap) -> dict[str, dict[str, Any]]:
    """Estimate a judge's error rates by name: `RATES`, fractions with an interval (NaN without such cells), and
    counts.

    Where a sample has no errors, or only errors, all resamples are equal; Wilson's interval is then used, with one
    trial per text, because labels of a text depend on each other.
    """
    cells = {f"{name}/{rate}": of for name, one in judged.items() for rate, of in _cells(one).items()}
    tally: Tally = {
        key: (_weighed(errors, weights), _weighed(among, weights))
        for key, (errors, among) in cells.items()
        for weights in [judged[key.rpartition("/")[0]].weights]
    }
    value = scores([tally])
    texts = len(next(iter(tally.values()))[0])
    drawn = [resampled([tally], weights) for weights in resampling.weights(texts, len(tally))]
    intervals = resampling.intervals(drawn) if drawn else {}
    return {
        name: _counts(one)
        | {
            rate: {"value": value[key]} | _ends(*cells[key], intervals.get(key), resampling.level)
            for rate in RATES
            for key in [f"{name}/{rate}"]
        }
        for name, one in judged.items()
    }


def calibration(chances: Floats, implied: Bools, weights: Floats, resampling: Bootstrap) -> dict[str, Any]:
    """Measure how far a judge's probabilities of yes [texts, votes] are from how often people say yes; NaN without
    votes.

    Source: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks" (ICML 2017), equation 3, with
    `BINS` bins of equal width over the probability of yes. Votes of weight 0 do not count.
    """
    place = np.minimum((chances * BINS).astype(np.int64), BINS - 1)
    sums = [
        np.stack([np.where(place == b, weights * of, 0.0).sum(axis=1) for b in range(BINS)], axis=1)
        for of in (np.ones_like(chances), chances, implied.astype(float))
    ]
    drawn = [_ece(*(w @ one for one in sums)) for w in resampling.weights(len(chances), 3 * BINS)]
    low, high = resampling.interval(np.concatenate(drawn)) if drawn else (np.nan, np.nan)
    total, said, yes = (one.sum(axis=0) for one in sums)
    counts = np.bincount(place[weights > 0], minlength=BINS)
    means = zip(ratio(said, total).tolist(), ratio(yes, total).tolist(), strict=True)
    return {
        "ece": {"value": float(_ece(total[None], said[None], yes[None])[0]), "low": low, "high": high},
        "bins": [
            {"from": b / BINS, "to": (b + 1) / BINS, "votes": int(counts[b]), "said": mean, "implied": share}
            for b, (mean, share) in enumerate(means)
            if counts[b]
        ],
    }


def _weighed(cells: Bools, weights: Floats) -> Floats:
    """Return the total weight of some cells per text."""
    total: Floats = np.where(cells, weights, 0.0).sum(axis=1)
    return total


def _counts(judged: Judged) -> dict[str, int]:
    """Count the labels, the texts with labels, and the labels that are yes."""
    told = judged.weights > 0
    return {
        "labels": int(told.sum()),
        "texts": int(told.any(axis=1).sum()),
        "implied": int((told & judged.implied).sum()),
    }


def _cells(judged: Judged) -> Mapping[str, tuple[Bools, Bools]]:
    """Return, per rate, the cells that are errors, and the cells that the rate is a share of."""
    told = judged.weights > 0
    wrong, missed = told & judged.yes & ~judged.implied, told & ~judged.yes & judged.implied
    return {
        "false_yes": (wrong, told & ~judged.implied),
        "false_no": (missed, told & judged.implied),
        "wrong_yes": (wrong, told & judged.yes),
    }


def _ends(part: Bools, whole: Bools, ends: Sequence[float] | None, level: float) -> dict[str, float]:
    errors, of, texts = int(part.sum()), int(whole.sum()), int(whole.any(axis=1).sum())
    if ends is None or not of:
        low, high = np.nan, np.nan
    elif errors in (0, of):
        low, high = wilson(texts if errors else 0, texts, level)
    else:
        low, high = ends
    return {"low": low, "high": high}


def _ece(total: Floats, said: Floats, yes: Floats) -> NDArray[np.float64]:
    """Return the expected calibration error [resamples] from sums [resamples, bins]."""
    return ratio(np.abs(said - yes).sum(axis=1), total.sum(axis=1))
