"""Intervals in parts: the same numbers as all at once, and memory that does not grow with them."""

import subprocess
import sys

import numpy as np
import pytest

from halluscope.benchmarks.pope import metric as pope
from halluscope.benchmarks.throne import metric as throne

CLASSES = [f"thing {n}" for n in range(5)]


def intervals() -> list[object]:
    """Intervals of each way of leaving out: rows of a table, images with their cells, captions."""
    rng = np.random.default_rng(1)
    rows = 90
    said, known = (rng.choice(["yes", "no"], rows).tolist() for _ in range(2))
    asked = {"objects": rng.choice(CLASSES, rows).tolist(), "sampling": ["random", "popular"] * (rows // 2)}
    of_rows = pope.compute(said, known, **asked, bootstrap=50)
    of_images = pope.compute(said, known, **asked, bootstrap=50, image_ids=[n // 3 for n in range(rows)])
    votes = rng.integers(2, size=(rows, len(CLASSES), 3))
    references = [[name for name in CLASSES if rng.random() < 0.4] for _ in range(rows)]
    of_texts = throne.compute([""] * rows, references, vocabulary=CLASSES, votes=votes, bootstrap=50)
    return [one["interval"] for one in (of_rows, of_images, of_texts)]


@pytest.mark.parametrize("at_once", [1, 100, 1000])
def test_parts_give_the_numbers_of_the_whole(at_once, monkeypatch):
    whole = intervals()
    for module in ("halluscope.stats.intervals", "halluscope.stats.counts"):
        monkeypatch.setattr(f"{module}.NUMBERS_AT_ONCE", at_once)
    assert intervals() == whole


GROWTH = """
import resource
from halluscope.benchmarks.pope import metric as pope

rows = 100_000
said = ["yes", "no"] * (rows // 2)
known = ["yes"] * rows
pope.compute(said, known)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
low, high = pope.compute(said, known, image_ids=list(range(rows)), bootstrap=1)["interval"]["recall"]
assert 0.49 < low < 0.5 < high < 0.51
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used)
"""


def test_memory_does_not_grow_with_rows():
    ran = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(ran.stdout) * unit < 200e6
