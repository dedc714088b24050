"""How often a judge errs about yes and no, and how far its probabilities can be believed, by a weighted sample.

Each label counts by its weight, 1 / the probability that it was asked for (Horvitz and Thompson, 1952). Labels of one
text depend on each other, so that intervals resample whole texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools, Tally, resampled, scores
from halluscope.stats.wilson import wilson

BINS = 10
RATES = ("false_yes", "false_no", "wrong_yes")


@dataclass(frozen=True)
class Judged:
    """What a judge and people say of the cells of a sample of texts.

    Attributes:
        yes: bool [texts, cells], whether the judge says yes.
        implied: bool [texts, cells], whether people do.
        weights: [texts, cells], 0 where nobody was asked.
    """

    yes: Bools
    implied: Bools
    weights: Floats

    def among(self, cells: Bools) -> "Judged":
        """The same, of some cells alone: bool [texts, cells], [cells], or [texts, 1]."""
        return Judged(self.yes, self.implied, np.where(cells, self.weights, 0.0))


def error_rates(judged: Mapping[str, Judged], resampling: Bootstrap) -> dict[str, dict[str, Any]]:
    """A judge's errors.

    Args:
        judged: what the judge and people say, by name: of all cells of a sample of texts, of some of them, and so on.
            The texts are the same in all.
        resampling: how the intervals are made. Where a sample holds no error, or only errors, all resamples are
            alike; the interval is then Wilson's, with one trial per text, for labels of a text depend on each other.

    Returns:
        By name `false_yes`, of what people deny, the share that the judge says yes to; `false_no`, of what people say
        yes to, the share that it does not; `wrong_yes`, of what the judge says yes to, the share that people deny: each
        with "value", "low" and "high", fractions in [0, 1], NaN where there is no such label; and how many labels there
        are, `labels`, in how many `texts`, `implied` by how many (unweighted counts).
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
    """How far a judge's probabilities of yes are from how often people say yes.

    Source: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks" (ICML 2017), equation 3, with
    `BINS` bins of equal width over the probability of yes.

    Args:
        chances: [texts, votes], the judge's probability of yes, in [0, 1].
        implied: bool [texts, votes], whether people say yes.
        weights: [texts, votes], 0 for votes that do not count.
        resampling: how the interval is made.

    Returns:
        `ece`, the expected calibration error, with "value", "low" and "high", NaN without votes; `bins`, of each bin
        with votes where it begins and ends ("from", "to"), how many `votes`, their mean probability `said`, and the
        share that people say yes to, `implied`.
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
    """The weight of some cells, by text."""
    total: Floats = np.where(cells, weights, 0.0).sum(axis=1)
    return total


def _counts(judged: Judged) -> dict[str, int]:
    """How many labels there are."""
    told = judged.weights > 0
    return {
        "labels": int(told.sum()),
        "texts": int(told.any(axis=1).sum()),
        "implied": int((told & judged.implied).sum()),
    }


def _cells(judged: Judged) -> Mapping[str, tuple[Bools, Bools]]:
    """The cells that are errors of each kind, and those among which they are."""
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
    """The expected calibration error [resamples], of sums [resamples, bins]."""
    return ratio(np.abs(said - yes).sum(axis=1), total.sum(axis=1))
