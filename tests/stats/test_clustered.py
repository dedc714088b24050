"""The standard error of a mean by clusters, against its definition, and against resampled clusters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.stats.tallies import standard_error
from tests.harness.data import clustered_error

ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from("abcd")), min_size=2, max_size=20
)


@given(ROWS)
def test_it_is_what_the_paper_defines(rows: list[tuple[float, str]]) -> None:
    """Miller (2024), equation 4, pair by pair."""
    values, clusters = zip(*rows, strict=True)
    got = standard_error(values, clusters)
    assert got == pytest.approx(clustered_error(values, clusters), abs=1e-7, nan_ok=True)


def test_rows_on_their_own_and_rows_that_say_the_same() -> None:
    """A cluster per row gives the usual error, sqrt(p (1 - p) / (n - 1)); ten copies of each row change nothing."""
    values = [1.0] * 30 + [0.0] * 70
    usual = standard_error(values, range(100))
    assert usual == pytest.approx(math.sqrt(0.3 * 0.7 / 99))
    copied = standard_error(np.repeat(values, 10), np.repeat(range(100), 10).tolist())
    assert copied == pytest.approx(usual, rel=0.01)
    assert standard_error([1.0] * 5, "aabbb") == 0
