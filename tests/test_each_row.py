"""Each row's part in the scores, and the rows it depends on, on a small copy of each dataset."""

import math
from typing import Any

import pytest

from halluscope import registry, scoring
from halluscope.benchmark import Benchmark
from halluscope.options import taken
from halluscope.reading.datasets import read_rows
from tests import small_datasets
from tests.harness.data import DATASETS

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")
SAID = ("Yes, there is a dog.", "No.", "A person holds a cup.", "I cannot tell.")


@pytest.fixture(scope="module", params=[dataset.name for dataset in DATASETS])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Benchmark, list[Any], dict[str, Any]]:
    """A benchmark, rows of one of its datasets, and options that need no language model."""
    dataset, benchmark = registry.dataset(request.param), registry.benchmark(request.param)
    judges = benchmark.judges
    if judges and not judges.rule:
        pytest.skip("only a language model judges")
    folder = tmp_path_factory.mktemp("data")
    small_datasets.build(dataset.name, folder)
    config = f":{dataset.config}" if dataset.config else ""
    rows: list[Any] = list(read_rows(f"{folder / dataset.name}{config}"))
    options = {**dataset.options, **dataset.harness}
    if judges:
        options[judges.option] = judges.rule
    if any(option.name == "synonyms" for option in benchmark.options):
        options["synonyms"] = "names"  # the published lists are fetched
    module = benchmark.module("rows")
    if hasattr(module, "wanted"):
        choice = taken(module.wanted, options)
        rows = [row for row in rows if module.wanted(*module.read_all([row]), **choice)]
    return benchmark, rows, options


def test_the_mean_of_the_rows_is_the_score(asked: tuple[Benchmark, list[Any], dict[str, Any]]) -> None:
    benchmark, rows, options = asked
    texts = [SAID[place % len(SAID)] for place in range(len(rows))]
    result, each = scoring.of_each(benchmark, rows, texts, options)
    assert len(each) == len(rows) and {name for row in each for name in row} <= {*benchmark.means}
    assert benchmark.items not in result
    for name in benchmark.means:
        values = [row[name] for row in each if name in row]
        if not math.isnan(result[name]):
            assert result[name] == pytest.approx(sum(values) / len(values))
        for row, text, of_all in zip(rows, texts, each, strict=True):
            _, (alone,) = scoring.of_each(benchmark, [row], [text], options)
            assert alone == of_all  # so that a harness may ask for one row at a time


def test_rows_about_one_image_are_of_one_cluster(asked: tuple[Benchmark, list[Any], dict[str, Any]]) -> None:
    benchmark, rows, options = asked
    clusters = scoring.clusters(benchmark, rows)
    result, _ = scoring.of_each(benchmark, rows, ["Yes."] * len(rows), options)
    assert len(clusters) == len(rows)
    if counted := result.get("sets", result.get("images")):
        assert len(set(clusters)) == counted
