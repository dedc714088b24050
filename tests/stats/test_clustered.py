"""The standard error of a mean by clusters, against its definition, and against resampled clusters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.stats.tallies import standard_error

ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from("abcd")), min_size=2, max_size=20
)


@given(ROWS)
def test_it_is_what_the_paper_defines(rows: list[tuple[float, str]]) -> None:
    """Miller (2024), equation 4, pair by pair."""
    values, clusters = zip(*rows, strict=True)
    mean, size = sum(values) / len(rows), len(rows)
    squared = sum((value - mean) ** 2 for value in values) / (size - 1) / size
    for i in range(size):
        for j in range(size):
            if i != j and clusters[i] == clusters[j]:
                squared += (values[i] - mean) * (values[j] - mean) / size**2
    got = standard_error(values, clusters)
    if len({*clusters}) < 2:
        assert math.isnan(got)
    else:
        assert got == pytest.approx(math.sqrt(max(0.0, squared)), abs=1e-7)


def test_rows_on_their_own_and_rows_that_say_the_same() -> None:
    """A cluster per row gives the usual error, sqrt(p (1 - p) / (n - 1)); ten copies of each row change nothing."""
    values = [1.0] * 30 + [0.0] * 70
    usual = standard_error(values, range(100))
    assert usual == pytest.approx(math.sqrt(0.3 * 0.7 / 99))
    copied = standard_error(np.repeat(values, 10), np.repeat(range(100), 10).tolist())
    assert copied == pytest.approx(usual, rel=0.01)
    assert standard_error([1.0] * 5, "aabbb") == 0
