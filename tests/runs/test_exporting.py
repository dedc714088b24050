"""Runs in the format of every-eval-ever."""

import hashlib
import json
from dataclasses import replace

import pytest

from halluscope import registry
from halluscope.registry import LOWER
from halluscope.reporting.tables import principal
from tests.runs.made import made, write

pytestmark = pytest.mark.filterwarnings("ignore")

SCORED = [one for one in registry.benchmarks() if one.is_scored]


@pytest.mark.parametrize("benchmark", SCORED, ids=lambda one: one.name)
def test_a_run_of_each_benchmark(benchmark, tmp_path, ran):
    """Scores, directions and intervals are the run's; each line of a response belongs to them, by the checksum too."""
    run = made(benchmark, tmp_path)
    # what THRONE has beside scores of sampled cells: no score
    run = replace(run, scores={**run.scores, "difference": {benchmark.principal: -0.1}})
    folder = write(run, tmp_path / "run")
    command = ["export", folder, "--to", "every-eval-ever", "--model", "org/m", "--by", "me", "--out"]
    ran(*command, tmp_path / "out")
    (file,) = (tmp_path / "out").rglob("*.json")
    log = json.loads(file.read_text(encoding="utf-8"))
    found = {one["evaluation_result_id"]: one for one in log["evaluation_results"]}
    assert not [name for name in found if name.startswith("difference")]
    by = principal(benchmark, [run.scores])
    assert found[by]["score_details"]["score"] == run.scores[by]
    assert found[by]["metric_config"]["lower_is_better"] == (benchmark.direction(by) == LOWER)
    if (expected := run.scores["interval"].get(by)) is not None:
        ends = found[by]["score_details"]["uncertainty"]["confidence_interval"]
        assert (ends["lower"], ends["upper"], ends["confidence_level"]) == (*expected, 0.95)
    if by in benchmark.means:
        samples = file.with_name(f"{file.stem}_samples.jsonl").read_bytes()
        told = log["detailed_evaluation_results"]
        assert told["checksum"] == hashlib.sha256(samples).hexdigest()
        lines = [json.loads(line) for line in samples.splitlines()]
        values = [line["evaluation"]["score"] for line in lines]
        assert told["total_rows"] == len(lines) and values
        if not benchmark.is_points(by):
            assert sum(values) / len(values) == pytest.approx(run.scores[by])
    ran(*command, tmp_path / "again")
    (again,) = (tmp_path / "again").rglob("*.json")
    assert again.read_bytes() == file.read_bytes() and again.name == file.name


def test_a_model_that_is_no_name(tmp_path, refused):
    folder = write(made(registry.benchmark("haloquest"), tmp_path), tmp_path / "run")
    command = ["export", folder, "--to", "every-eval-ever", "--by", "me", "--out", tmp_path / "out"]
    for model in ("m", "a/b/c", "../m", "data/m", "org/"):
        assert "expected the developer and the model's name" in refused(*command, "--model", model), model
