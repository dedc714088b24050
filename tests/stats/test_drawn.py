"""Which texts are drawn, and how likely."""

import numpy as np
import pytest

from halluscope.stats.text_draw import EVEN, draw


def tables(texts=300, classes=20):
    random = np.random.default_rng(0)
    often = 0.5 / np.arange(1, classes + 1)
    present = random.random((texts, classes)) < often
    labels = np.where(
        random.random(present.shape) < 0.03, -1, present ^ (random.random(present.shape) < 0.02)
    )
    return labels.astype(np.int8), present


@pytest.mark.parametrize("texts", [1, 40, 150, 299])
def test_as_many_as_asked_for_each_once(texts):
    for seed in range(20):
        rows, chances = draw(*tables(), texts, seed)
        assert len(rows) == texts == len(set(rows.tolist()))
        assert (np.diff(rows) > 0).all() and ((chances > 0) & (chances <= 1)).all()


def test_each_is_drawn_as_often_as_its_chance_says():
    """In 1,000 draws; four standard errors are at most 0.064."""
    labels, present = tables()
    often, said = np.zeros(300), np.zeros(300)
    for seed in range(1000):
        rows, chances = draw(labels, present, 60, seed)
        often[rows] += 1 / 1000
        said[rows] = chances
    assert said.sum() == pytest.approx(60)
    assert abs(often - said).max() < 0.064
    assert said.min() >= EVEN * 60 / 300 - 1e-9 and said.max() > 2 * 60 / 300
