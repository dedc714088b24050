"""How well rows tell models apart, against scipy."""

import numpy as np
import pytest
from scipy.stats import pearsonr

from halluscope.stats import items


def simulated(models, rows):
    """Which answers of models of growing ability are right: [models, rows]."""
    draws = np.random.default_rng(0)
    able = np.linspace(-2, 2, models)[:, None]
    hard, telling = draws.normal(size=rows), draws.lognormal(0, 0.4, rows)
    chance = 1 / (1 + np.exp(-telling * (able - hard)))
    return (draws.random((models, rows)) < chance).astype(float)


def test_discrimination_is_pearsons_correlation_with_the_other_rows():
    right = simulated(12, 30)
    right[:, 3] = 1
    found = items.discrimination(right)
    assert np.isnan(found[3])
    for row in (0, 7, 29):
        others = np.delete(right, row, axis=1).mean(axis=1)
        assert found[row] == pytest.approx(pearsonr(right[:, row], others)[0])
    assert np.isnan(items.discrimination(right[:7])).all()
