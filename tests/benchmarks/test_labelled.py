"""Responses that name a label; DASH-B and HumbleBench by hand, and against the authors' figures."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halluscope
from halluscope import registry
from halluscope.benchmarks.dash_b import metric as dash_b
from halluscope.benchmarks.humblebench import metric as humblebench
from halluscope.errors import BuildError
from halluscope.signature import keys_of
from tests import small_datasets
from tests.oracle import inputs

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

UPSTREAM = Path(os.environ.get("HALLUSCOPE_UPSTREAM", "missing"))
LISTS = ("dash_benchmark_neg.json", "dash_benchmark_pos.json")
ANSWERS = UPSTREAM / "dash_b/Paligemma-3b_answers.json"
GOLDEN = UPSTREAM.parent / "golden/humblebench_official.json"


@pytest.mark.skipif(not GOLDEN.exists(), reason="needs the figures of the authors' metric")
def test_humblebench_equals_the_authors_metric():
    golden = json.loads(GOLDEN.read_text())
    texts = [row.pop("prediction") for row in golden["rows"]]
    scores = humblebench.compute(texts, golden["rows"])
    theirs = golden["result"]["Accuracy"]
    for ours, name in {"accuracy": "Overall", "e_accuracy": "E"}.items():
        assert 100 * scores[ours] == pytest.approx(theirs[f"{name}_accuracy"])
    for kind in ("Relation", "Attribute", "Category", "Location", "Weather"):
        assert 100 * scores[f"accuracy/{kind.lower()}"] == pytest.approx(theirs[f"{kind}_accuracy"])
    assert 100 * scores["unreadable"] == pytest.approx(golden["result"]["Proportions"]["NA_proportion"])


def test_humblebench_by_hand():
    kinds = ("Relation", "Relation", "Weather", "Weather", "Weather")
    rows = [{"type": kind, "label": label} for kind, label in zip(kinds, "AEECB", strict=True)]
    # official: A, E (not bare), E, none (two letters), A (from "A dog", which is wrong)
    texts = ["a.", "The answer is E", "E", "C or D", "A dog"]
    scores = humblebench.compute(texts, rows)
    assert scores["accuracy"] == 3 / 5 and scores["accuracy/relation"] == 1
    assert scores["accuracy/weather"] == pytest.approx(1 / 3)
    assert scores["e_accuracy"] == 1 / 2
    assert scores["unreadable"] == 1 / 5
    assert scores["balanced_accuracy"] == pytest.approx((1 + 1 + 0 + 0) / 4)  # A, E, C and B; no row is D
    assert humblebench.compute(texts, rows, parser="strict")["unreadable"] == 2 / 5
    assert scores["images"] == 5  # without file names, each question has its own image


def of_the_authors(number, label, prediction):
    """Return a row as the authors' script writes it, about one of two images."""
    image = {"bytes": None, "path": f"/data/images/{number // 2}.jpg"}
    row = {"label": label, "question": "What is it?\nA. red\nE. None of the above", "type": "Object"}
    return row | {"image": image, "question_id": number, "prediction": prediction}


def test_rows_as_the_authors_script_writes_them_say_which_image_they_are_about(tmp_path):
    rows = [of_the_authors(number, label, "A") for number, label in enumerate("ABEA")]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    result = halluscope.score("humblebench", file, file)
    assert (result["accuracy"], result["questions"], result["images"]) == (1 / 2, 4, 2)
    noise = [row | {"image": {"bytes": None, "path": ".cache/noise_image.png"}} for row in rows]
    with pytest.warns(UserWarning, match="4 of the 4 questions do not say which image they are about"):
        result = humblebench.compute(["A"] * 4, noise, setting="noise", bootstrap=1)
    assert result["images"] == 4


def test_types_of_other_rows_tell_that_ids_are_no_questions(tmp_path):
    """Responses that were sorted by type, and then counted, have the ids of other questions."""
    rows = []
    for number in range(90):
        rows.append(
            of_the_authors(number, "ABE"[number % 3], "") | {"type": ("Object", "Relation")[number % 2]}
        )
    file = small_datasets.write_lines(tmp_path / "rows.jsonl", rows)
    by_type = sorted(rows, key=lambda row: row["type"])
    for chosen, more in (
        (by_type, {}),
        ([row for row in by_type if row["type"] == "Relation"], {"partial": True}),
    ):
        responses = []
        for number, row in enumerate(chosen):
            text = row["label"] if number % 3 else "C"
            responses.append({"question_id": number, "type": row["type"], "response": text})
        with pytest.raises(
            ValueError, match="the column type is another than the dataset's in .* of .* rows"
        ):
            halluscope.score("humblebench", responses, file, **more)
        for row, response in zip(chosen, responses, strict=True):
            response["question_id"] = row["question_id"]
        assert halluscope.score("humblebench", responses, file, **more)["accuracy"] == 2 / 3


def test_without_the_right_choice_e_is_right_whatever_the_label(tmp_path):
    """The authors' script takes the right choice away, and writes the label E; the dataset has the old label."""
    texts = ["A", "E", "E", "The answer is E"]
    rows = [of_the_authors(number, label, "") for number, label in enumerate("ABEA")]
    result = humblebench.compute(texts, rows, setting="e-only")
    assert (result["accuracy"], result["e_accuracy"]) == (3 / 4, 2 / 4)
    with pytest.warns(UserWarning, match="4 questions are scored; expected the benchmark's 22,831"):
        humblebench.compute(texts, [row | {"label": "E"} for row in rows], setting="e-only")


@pytest.mark.parametrize("letter", "ABCDE")
def test_every_letter_is_read_from_the_same_sentences(letter):
    texts = [
        f"The answer is {letter} because the mug is red.",
        f"{letter} is correct.",
        f"Answer: '{letter}'",
    ]
    rows = [{"type": "Attribute", "label": letter}] * 3
    assert humblebench.compute(texts, rows, parser="strict")["accuracy"] == 1


def test_strict_reads_what_e_says_as_e():
    """A model may name the other choices by letters, and E by its words; the official rule has four of five."""
    e_says = ["None of the above", "**None of the above.**", "The answer is: none of the above", "E"]
    texts = e_says * 10 + ["None of the above fits, but B is nearest.", "It is none."]
    rows = [{"type": "Object", "label": "E"}] * len(texts)
    with pytest.warns(UserWarning, match="'official' reads 31 of 42 responses otherwise .*: unreadable by"):
        assert humblebench.compute(texts, rows)["accuracy"] == 10 / 42
    strict = humblebench.compute(texts, rows, parser="strict")
    assert strict["accuracy"] == 40 / 42


def test_the_signature_names_what_the_model_was_shown():
    rows, texts = [{"type": "Object", "label": "E"}] * 3, ["E", "A", "E"]
    common, noise = (humblebench.compute(texts, rows, setting=setting) for setting in ("common", "noise"))
    alone = humblebench.compute(texts, rows, setting="e-only")
    assert common["accuracy"] == noise["accuracy"] == alone["accuracy"] == pytest.approx(2 / 3)
    assert "setting" not in keys_of(common["signature"])
    assert [keys_of(one["signature"])["setting"] for one in (noise, alone)] == ["noise", "e-only"]


def test_dash_b_by_hand(tmp_path):
    folder = small_datasets.build("dash_b", tmp_path)
    rows = dash_b.METRIC.load([str(folder)])
    assert [(row.object, row.file_name, row.answer) for row in rows] == [
        ("kite", "10.jpg", "no"),
        ("beehive", "20.jpg", "no"),
        ("kite", "10.jpg", "yes"),
        ("beehive", "30.png", "yes"),
    ]
    scores = dash_b.compute(["No.", "I know: yes", "perhaps", "YES"], rows)
    assert (scores["accuracy"], scores["tpr"], scores["tnr"]) == (1 / 2, 1 / 2, 1 / 2)
    assert scores["harmonic_mean"] == pytest.approx(1 / 2) and scores["unreadable"] == 1 / 4
    assert dash_b.compute(["No.", "yes no", "perhaps", "YES"], rows, parser="strict")["unreadable"] == 1 / 2


def test_a_form_that_pandas_has_as_nan_is_none(tmp_path):
    rows = dash_b.METRIC.load([str(small_datasets.build("dash_b", tmp_path))])
    from_pandas = [row.row | {"form": float("nan")} for row in rows]
    assert "form" not in keys_of(dash_b.compute(["yes"] * 4, from_pandas)["signature"])


def answers(rows, **changed):
    return [
        {"img_id": row.file_name, "object_name": row.object, "gt": row.answer, "response": "yes"} | changed
        for row in rows
    ]


def written(tmp_path, rows):
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(rows))
    return file


def test_answers_are_found_by_file_and_object_in_any_order(tmp_path):
    folder = small_datasets.build("dash_b", tmp_path)
    rows = dash_b.METRIC.load([str(folder)])
    given_rows = answers([row for row in rows if row.object == "beehive"][::-1])
    result = halluscope.score("dash_b", written(tmp_path, given_rows), folder, partial=True)
    assert result["accuracy"] == 1 / 2 and "questions" not in result["signature"]
    stated = [{"image": f"images/{row.file_name}", "question": row.question, "answer": "yes"} for row in rows]
    some = [one for one, row in zip(stated, rows, strict=True) if row.object == "beehive"][::-1]
    assert halluscope.score("dash_b", some, folder, partial=True)["accuracy"] == 1 / 2


def test_the_question_of_the_authors_script_is_the_same_as_that_of_their_readme(tmp_path):
    """The script puts a question mark where the README has a full stop; their dataset on the Hub has other columns."""
    folder = small_datasets.build("dash_b", tmp_path)
    rows = dash_b.METRIC.load([str(folder)])
    asked, on_the_hub = [], []
    for row in rows:
        question = f"Can you see a {row.object} in this image? Please answer only with yes or no."
        asked.append({"question_id": row.question_id, "prompt": question, "response": row.answer})
        about = {"dataset": row.source, "object": row.object, "answer": row.answer, "img_id": row.file_name}
        on_the_hub.append(about | {"question_id": row.question_id, "question": question})
    assert halluscope.score("dash_b", asked, folder)["accuracy"] == 1
    (tmp_path / "hub.json").write_text(json.dumps(on_the_hub))
    result = halluscope.score("dash_b", asked, str(tmp_path / "hub.json"), per_question=True)
    assert [row["source"] for row in result["per_question"]] == [row.source for row in rows]
    with pytest.raises(ValueError, match="but its row in the dataset has 'Can you see a"):
        halluscope.score("dash_b", [one | {"prompt": "Can you see an owl?"} for one in asked], folder)


def test_answers_about_other_images_are_scored_by_what_they_state(tmp_path):
    folder = small_datasets.build("dash_b", tmp_path)
    rows = answers(dash_b.METRIC.load([str(folder)]), object_name="kite")
    result = halluscope.score("dash_b", written(tmp_path, rows), folder, text_column="response")
    assert result["tpr"] == 1 and result["tnr"] == 0
    assert "questions:their_own_rows" in result["signature"]
    with pytest.raises(ValueError, match="not among the 4 rows"):
        halluscope.score("dash_b", written(tmp_path, rows[::-1]), folder)


def test_rows_have_the_same_ids_whichever_list_is_named_first(tmp_path):
    """Responses may state nothing but the id of the built dataset, where images without the object come first."""
    for half, image in (("neg", "10.jpg"), ("pos", "20.jpg")):
        (tmp_path / f"dash_benchmark_{half}.json").write_text(json.dumps({"coco": {"kite": [image]}}))
    responses = [{"question_id": 0, "response": "no"}, {"question_id": 1, "response": "yes"}]
    lists = [str(tmp_path / name) for name in LISTS]
    for dataset in (lists, lists[::-1]):
        assert halluscope.score("dash_b", responses, dataset)["accuracy"] == 1


@pytest.mark.parametrize(
    "content",
    [["10.jpg"], {"coco": ["10.jpg"]}, {"coco": {"kite": [10]}}, {"coco": {"kite": "10.jpg"}}],
)
def test_another_list_of_dash_b_is_refused(content, tmp_path):
    (tmp_path / "dash_benchmark_neg.json").write_text(json.dumps(content))
    with pytest.raises(BuildError, match="expected an object of sources, each with objects and file names"):
        dash_b.METRIC.load([str(tmp_path / "dash_benchmark_neg.json")])


@pytest.mark.skipif(not ANSWERS.exists(), reason="needs the authors' lists and answers")
def test_dash_b_reads_the_published_answers_as_their_authors_did():
    rows = json.loads(ANSWERS.read_text())
    result = halluscope.score("dash_b", ANSWERS, [str(ANSWERS.parent / name) for name in LISTS])
    assert result["questions"] == 2682
    right = {half: [row["answer"] == half for row in rows if row["gt"] == half] for half in ("yes", "no")}
    tpr, tnr = (sum(right[half]) / len(right[half]) for half in ("yes", "no"))
    assert (result["tpr"], result["tnr"]) == (pytest.approx(tpr), pytest.approx(tnr))
    assert result["accuracy"] == pytest.approx(0.563758, abs=1e-6)
    assert result["harmonic_mean"] == pytest.approx(2 * tpr * tnr / (tpr + tnr))
    table = dash_b.compute([row["response"] for row in rows], rows, per_question=True)["per_question"]
    assert [row["read"] for row in table] == [row["answer"] for row in rows]


TEXTS = {
    "yes": ("Yes", "yes.", "Yes, there is.", "<think>No.</think>Yes"),
    "no": ("No", "no.", "No, there is none.", "NO"),
    "letter": ("A", "B.", "c", "D", "E", "<think>A</think>B"),
    None: ("Perhaps", "", "I cannot tell.", "?"),
}


@settings(max_examples=15)
@given(data=st.data(), name=st.sampled_from(["pope", "repope", "dash_b", "humblebench", "mme"]))
def test_any_clear_responses_against_a_plain_loop(data, name):
    """An unreadable response is wrong, is counted, and is never one of the answers."""
    benchmark = registry.benchmark(name)
    make = getattr(inputs, "pope" if name == "repope" else name)
    rows = make()[:20]
    kinds = ["letter", None] if name == "humblebench" else ["yes", "no", None]
    said, texts = [], []
    for _ in rows:
        kind = data.draw(st.sampled_from(kinds))
        text = data.draw(st.sampled_from(TEXTS[kind]))
        texts.append(text)
        said.append(text.rpartition(">")[2].strip(".").upper()[:1] if kind == "letter" else kind)
    right = [row["label"] if name == "humblebench" else row["answer"] for row in rows]
    references = right if benchmark.name == "pope" else rows
    result = benchmark.compute(texts, references, parser="strict", per_question=True)
    read = [row["said" if benchmark.name == "pope" else "read"] for row in result["per_question"]]
    assert read == said
    unreadable = result["unparsed" if benchmark.name == "pope" else "unreadable"]
    assert unreadable == pytest.approx(said.count(None) / 20)
    hits = sum(answer == truth for answer, truth in zip(said, right, strict=True))
    if name != "mme":  # whose scores are of subtasks
        assert result["accuracy"] == pytest.approx(hits / 20)


def test_predictions_in_another_order_are_noticed():
    labels = np.random.default_rng(0).permutation(["yes", "no"] * 200)
    rows = []
    for number, label in enumerate(labels.tolist()):
        row = {"question_id": number, "file_name": f"{number}.jpg", "source": "coco", "object": "dog"}
        rows.append(row | {"question": "?", "answer": label})
    with pytest.warns(UserWarning, match="in another order"):
        dash_b.compute(labels[::-1].tolist(), rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dash_b.compute(labels.tolist(), rows)
        dash_b.compute(["no"] * len(rows), rows)
    assert not any("order" in str(warning.message) for warning in caught)
