"""The slope of scores against lengths: by hand, against numpy, and how often its interval holds."""

import numpy as np
import pytest

from halluscope.stats.slopes import slope


def test_the_slope_of_points_on_a_line():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    on_a_line = {"value": -2, "low": np.nan, "high": np.nan}  # how far off it may be, nothing says
    assert slope(x, 5 - 2 * x, np.arange(4), 0.95) == pytest.approx(on_a_line, nan_ok=True)
    alike = {"value": 0, "low": np.nan, "high": np.nan}
    assert slope(x, np.full(4, 0.1), np.arange(4), 0.95) == pytest.approx(alike, nan_ok=True)
    assert np.isnan(slope(np.ones(4), x, np.arange(4))["value"])


def test_numpy_finds_the_same():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 30))
    assert slope(x, y, np.arange(30) // 2)["value"] == pytest.approx(np.polyfit(x, y, 1)[0])


def test_the_interval_holds_the_true_slope():
    """Rows of an image depend on each other; fewer than 356 of 400 (z = 5.5) or all would be no 95 %."""
    random = np.random.default_rng(1)
    held = 0
    clusters = np.repeat(np.arange(40), 3)
    for _ in range(400):
        x = random.normal(size=40)[clusters] + random.normal(size=120)
        y = 0.3 * x + random.normal(size=40)[clusters] + random.normal(size=120)
        found = slope(x, y, clusters, 0.95)
        held += found["low"] <= 0.3 <= found["high"]
    assert 356 <= held < 400
