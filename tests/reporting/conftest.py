"""Runs of three models in each of two benchmarks."""

from dataclasses import replace
from pathlib import Path

import pytest

from halluscope import registry
from tests.runs.made import made, write

SAID = {
    "one": ["A dog and a cup."],
    "other": ["A person.", "A bus and a dog."],
    "third": ["A dog.", "Two cats."],
}


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Path:
    """A folder of runs: throne/one, pope/one, ..."""
    folder = tmp_path_factory.mktemp("runs")
    for benchmark in ("throne", "pope"):
        for name, responses in SAID.items():
            run = made(registry.benchmark(benchmark), folder / "made", responses)
            matched = run.ready.matched._replace(name=name)
            write(replace(run, ready=run.ready._replace(matched=matched)), folder / benchmark / name)
    return folder
