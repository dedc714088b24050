"""The name of a model, and its printed scores, come from what a harness wrote beside its samples."""

import json

import pytest

import halluscope
from halluscope.responses import reading
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

FORMS = {
    "lmms-eval": ("20260218_234435_samples_pope_random.jsonl", "20260218_234435_results.json"),
    "lm-eval": ("samples_pope_random_2026-02-18T23-44-35.1.jsonl", "results_2026-02-18T23-44-35.1.json"),
}


@pytest.fixture
def dataset(tmp_path):
    return small_datasets.build("pope", tmp_path)


def samples(tmp_path, form, **results):
    name, beside = FORMS[form]
    rows = [
        {
            "doc_id": n,
            "input": f"Is there a {thing} in the image?\nAnswer yes or no.",
            "filtered_resps": ["Yes"],
        }
        for n, thing in enumerate(("dog", "cat", "cup", "bus", "bench", "kite"))
    ]
    (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    if results:
        (tmp_path / beside).write_text(json.dumps(results))
    return tmp_path / name


@pytest.mark.parametrize("form", FORMS)
def test_results_beside_samples_give_model_and_scores(form, dataset, tmp_path):
    scores = {"alias": "pope_random", "pope_accuracy,none": 0.5, "pope_accuracy_stderr,none": 0.1}
    scores |= {"pope_f1_score,none": float("nan"), "pope_precision/other": 1}
    file = samples(tmp_path, form, model_name="org/model-7b", results={"pope_random": scores})
    result = halluscope.score("pope", file, f"{dataset}:coco", sampling="random")
    assert reading.read([file])[0].name == "org/model-7b"
    assert result["printed"] == {"accuracy": 0.5} and result["accuracy"] == 0.5


@pytest.mark.parametrize("results", [[], {"model_name": 3, "results": 4}, {"results": {"pope_random": "no"}}])
def test_other_results_state_nothing(results, tmp_path):
    file = samples(tmp_path, "lmms-eval")
    (tmp_path / FORMS["lmms-eval"][1]).write_text(json.dumps(results))
    assert reading.read([file])[0].name == file.stem
