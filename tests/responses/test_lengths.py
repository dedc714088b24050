"""How long responses are, in the result of each benchmark that reads them."""

import pytest

from halluscope import registry
from tests.test_contract import example, offline

READ = [one for one in registry.benchmarks() if one.is_scored and one.name != "pope"]
"""POPE's replies are a yes or a no."""


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("benchmark", READ, ids=lambda one: one.name)
def test_the_words_of_a_response_stand_in_each_result_under_one_name(benchmark):
    predictions, references, options = example(benchmark)
    said = ["<think>Let me see whether.</think> Yes, it is."] * len(predictions)
    got = benchmark.compute(said, references, **options | offline(benchmark))
    marks = 2 if benchmark.name == "chair" else 0  # its script counts them as words
    assert got["mean_words"] == 3 + marks
    assert benchmark.direction("mean_words") is None
