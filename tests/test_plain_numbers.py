"""Results hold Python's own numbers, texts and lists, so that any program can write them down."""

import json
import math
from typing import Any

import numpy as np
import pytest

from halluscope import get_benchmark, registry
from halluscope.metric import Result
from halluscope.options import keywords
from tests.runs.made import made
from tests.test_contract import example, offline

pytestmark = pytest.mark.filterwarnings("ignore")
ALL = registry.benchmarks()
PLAIN = {bool, int, float, str, type(None)}
each_benchmark = pytest.mark.parametrize("benchmark", [pytest.param(one, id=one.name) for one in ALL])


def strangers(value: Any, where: str = "result") -> list[str]:
    """Return where a result holds something else than Python's own values."""
    if type(value) in (dict, Result):
        found = [f"{where}: the key {key!r}" for key in value if type(key) not in PLAIN]
        for key, item in value.items():
            found += strangers(item, f"{where}[{key!r}]")
        return found
    if type(value) in (list, tuple):
        found = []
        for place, item in enumerate(value):
            found += strangers(item, f"{where}[{place}]")
        return found
    return [] if type(value) in PLAIN else [f"{where}: {type(value).__name__} {value!r}"]


def asked_for_all(benchmark: Any) -> dict[str, Any]:
    """Every table that a metric gives on request, and intervals."""
    known = keywords(benchmark.compute)
    wanted = ("per_class", "per_image", "per_row", "per_question")
    return {"bootstrap": 20, **dict.fromkeys([name for name in wanted if name in known], True)}


@each_benchmark
def test_the_result_of_a_metric(benchmark: Any) -> None:
    predictions, references, options = example(benchmark)
    options |= offline(benchmark) | asked_for_all(benchmark)
    if benchmark.name == "pope":
        options |= {"objects": ["dog"] * len(predictions), "sampling": ["random"] * len(predictions)}
    result = benchmark.compute(predictions, references, **options)
    assert strangers(result) == []
    json.dumps(result)


@pytest.mark.parametrize("benchmark", [pytest.param(one, id=one.name) for one in ALL if one.is_scored])
def test_a_run_holds_no_numbers_of_numpy(benchmark: Any, tmp_path: Any) -> None:
    run = made(benchmark, tmp_path)
    assert strangers(run.scores) == []
    assert strangers(run.found) == []


def test_given_codes_and_votes_of_numpy() -> None:
    place = {"category": "VD", "subcategory": "ocr", "figure_id": 0, "question_id": 0, "visual_input": 1}
    rows = [
        {**place, "set_id": np.int64(number), "question": "Is it red?", "gt_answer": "yes"}
        for number in range(3)
    ]
    codes = {"correctness": np.array([1, 0, 2]), "same": np.array([1, 0, 0])}
    got = get_benchmark("hallusionbench").compute(["Yes"] * 3, rows, **codes, bootstrap=10, per_question=True)
    assert math.isclose(got["aAcc"], 1 / 3) and strangers(got) == []
    votes = np.array([[[1], [0]], [[0], [0]]], dtype=np.uint8)
    options = {"vocabulary": ["dog", "cat"], "cells": np.ones((2, 2), dtype=bool), "bootstrap": 10}
    got = get_benchmark("throne").compute(["a", "b"], [["dog"], []], votes=votes, **options)
    assert got["recall_all"] == 1.0 and strangers(got) == []
    options = {"objects": np.array([3, 4]), "image_ids": np.array([1, 2]), "per_question": True}
    got = get_benchmark("pope").compute(np.array(["Yes", "No"]), np.array([True, False]), **options)
    assert got["accuracy"] == 1.0 and strangers(got) == []
