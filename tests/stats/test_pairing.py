"""The warning of predictions in another order, and the option `ids`."""

import gzip
import json
import warnings

import evaluate
import numpy as np
import pytest

import halluscope
from halluscope.paths import share
from halluscope.stats.row_order import warn_if_shuffled
from tests import small_datasets


def warned(said, present):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_if_shuffled(said, present)
    return len(told)


def seen(rng, present, right=0.8):
    """What a model says that sees most of what is there, and something else."""
    return np.where(rng.random(present.shape) < right, present, rng.random(present.shape) < 0.05)


def test_answers_in_another_order_are_noticed(rng):
    right = rng.integers(0, 2, (500, 1))
    said = seen(rng, right)
    assert not warned(said, right)
    assert warned(np.roll(said, 1, axis=0), right) and warned(said[::-1], right)
    assert not warned(rng.integers(0, 2, (500, 1)), right) and not warned(np.ones((500, 1)), right)


@pytest.mark.parametrize(
    ("name", "options"),
    [("throne", {"judges": "lexical", "progress": False}), ("chair", {"synonyms": "names"})],
)
def test_real_descriptions(upstream, name, options):
    with gzip.open(upstream / "chair" / "coco2014_chair_objects.json.gz", "rt") as file:
        objects = json.load(file)
    lines = (upstream / "responses" / "opera_llava-1.5_greedy.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    texts, references = [row["caption"] for row in rows], [objects[str(row["image_id"])] for row in rows]
    compute = halluscope.get_benchmark(name).compute
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compute(texts, references, **options)
    with pytest.warns(UserWarning, match="clearly better in another order"):
        compute(sorted(texts), references, **options)


def test_answers_of_the_row_before(rng):
    right = rng.choice(["yes", "no"], 500)
    with pytest.warns(UserWarning, match="clearly better in another order"):
        halluscope.get_benchmark("pope").compute(np.roll(right, 1).tolist(), right.tolist(), bootstrap=0)


def test_the_file_of_answers_of_the_row_before_is_named(tmp_path, rng):
    right = rng.choice(["yes", "no"], 500).tolist()
    asked = [(f"{number}.jpg", "dog", answer) for number, answer in enumerate(right)]
    dataset = small_datasets.pope_file(tmp_path / "questions.json", asked)
    said = ["yes"] * 20 + right[20:]
    for name, answers in (("first", said), ("second", said[-1:] + said[:-1])):
        small_datasets.write_lines(tmp_path / f"{name}.jsonl", [{"response": answer} for answer in answers])
    files = {name: tmp_path / f"{name}.jsonl" for name in ("first", "second")}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        halluscope.score("pope", files, dataset, bootstrap=0)
    (of_order,) = [str(note.message) for note in told if "in another order" in str(note.message)]
    assert of_order.startswith("second: ")


def test_ids_put_predictions_into_order():
    throne = evaluate.load(str(share("metrics", "throne")))
    texts = {1: "A dog.", 2: "A cat.", 3: "A bird."}
    rows = {"3": ["bird"], "1": ["dog"], "2": ["cat"]}
    given = {"predictions": [*texts.values()], "references": [*rows.values()], "judges": "lexical"}
    assert throne.compute(**given)["precision_all"] == 0
    assert throne.compute(**given, ids=([*texts], [*rows]))["precision_all"] == 1
    for ids, said in (
        (3, "ids is 3; expected a pair"),
        (([1, 2], [1, 2, 3]), "There are 2 values of ids\\[0\\] and 3 predictions"),
        (([1, 2, 3], [1, 2, 4]), "1 references have no prediction of their id, such as '4'"),
        (([1, 1, 3], [1, 2, 3]), "ids\\[0\\]\\[1\\] is 1, as is"),
    ):
        with pytest.raises(ValueError, match=said):
            throne.compute(**given, ids=ids)


def test_a_combined_metric_leaves_options_to_those_that_have_them():
    pope = evaluate.load(str(share("metrics", "pope")))
    both = evaluate.combine([pope, pope])
    with pytest.warns(UserWarning, match="pope ignores the options of other metrics: normalize"):
        got = both.compute(predictions=["Yes"], references=["yes"], normalize=True, parser="strict")
    assert "parser:strict" in str(got)
    with pytest.raises(ValueError, match="no option 'normalize'"):
        pope.compute(predictions=["Yes"], references=["yes"], normalize=True)
    assert halluscope.get_benchmark("pope").keywords.isdisjoint({"normalize", "ids"})


def test_what_else_is_given_about_responses_is_not_put_into_order(rng):
    given = {"predictions": ["A dog.", "A cat."], "references": [["cat"], ["dog"]], "ids": ([1, 2], [2, 1])}
    votes = rng.integers(0, 2, (2, 80, 3, 3))
    with pytest.raises(ValueError, match="ids and votes are given; expected one of them, .* leave ids out"):
        halluscope.get_benchmark("throne").compute(**given, votes=votes)
    images = [{"image_id": 1, "file_name": "1.jpg", "question": "What is there?", "objects": ["dog"]}]
    with pytest.raises(ValueError, match="ids and objects are given"):
        halluscope.get_benchmark("object_halbench").compute(
            ["A dog."], images, objects=[["dog"]], ids=([1], [1])
        )
