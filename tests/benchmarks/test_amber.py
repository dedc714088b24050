"""AMBER: dataset, metric and command, on small rows made here, and on the real rows if available."""

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

import halluscope
from halluscope.benchmarks.amber.data import read_pairs
from halluscope.benchmarks.amber.metric import METRIC, compute
from halluscope.benchmarks.amber.words import load_words
from halluscope.errors import BuildError
from halluscope.signature import keys_of
from halluscope.studies.parallel.form import parallel_form
from tests import small_datasets

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden/amber_official.json").read_text())
WORDS = load_words()


def described(id=1, truth=("dog", "grass", "ball"), hallu=("person", "bench")):
    row = {"id": id, "file_name": f"AMBER_{id}.jpg", "prompt": "Describe this image.", "answer": None}
    row |= {"task": "generative", "dimension": "generation"}
    return row | {"truth": list(truth), "hallu": list(hallu)}


def asked(id, dimension, answer):
    row = {"id": id, "file_name": "AMBER_1.jpg", "prompt": f"Is it {id}?", "answer": answer}
    return row | {"task": "discriminative", "dimension": dimension, "truth": [], "hallu": []}


QUESTIONS = [
    asked(1005, "existence", "no"),
    asked(1006, "existence", "no"),
    asked(1007, "state", "no"),
    asked(1008, "state", "yes"),
    asked(1009, "number", "yes"),
    asked(1010, "relation", "no"),
    asked(1011, "relation", "yes"),
]


# Descriptions


def test_a_description_by_hand():
    """Truth: sky, man, ship, ship. Imagined: bird, sun.

    The nouns: man (right), man (right again), ship (the first of the two), bird (imagined: hallucinated), light (safe),
    dog (no word of the truth: hallucinated), unicorn (no mention).
    """
    truth, hallu = ("sky", "man", "ship", "ship"), ("bird", "sun")
    nouns = ["man", "man", "ship", "bird", "light", "dog", "unicorn"]
    assert "unicorn" not in WORDS.known and "light" in WORDS.safe
    got = compute(["-"], [described(truth=truth, hallu=hallu)], nouns=[nouns], per_row=True)
    (row,) = got["per_row"]
    assert row["mentions"] == ["man", "man", "ship", "bird", "light", "dog"]
    assert row["hallucinated"] == ["bird", "dog"]
    assert (row["missed"], row["imagined"]) == (["sky", "ship"], ["bird"])
    assert (got["chair"], got["cover"], got["hal"], got["cog"]) == (2 / 6, 2 / 4, 1.0, 1 / 2)
    assert math.isnan(got["accuracy"]) and math.isnan(got["amber"]) and math.isnan(got["unreadable"])


def test_lmms_eval_adds_a_thousandth_per_description():
    """Of 1,004 descriptions 260 hallucinate: 1 - 744 / (1,004 x 1.001) = 25.970 %, and 25.896 % exactly."""
    row = described(truth=("sky",), hallu=("bird",))
    rows = [{**row, "id": number} for number in range(1, 1005)]
    nouns = [["dog", "sky"]] * 260 + [["sky"]] * 744
    scores = {of: compute(["-"] * 1004, rows, nouns=nouns, convention=of) for of in ("exact", "lmms-eval")}
    assert {of: round(100 * one["hal"], 3) for of, one in scores.items()} == {
        "exact": 25.896,
        "lmms-eval": 25.97,
    }
    assert scores["lmms-eval"]["chair"] == pytest.approx(260 / (1264 + 1.004))
    assert scores["lmms-eval"]["cover"] == pytest.approx(1004 / (1004 + 1.004))


def test_a_synonym_saves_a_word_that_people_imagine():
    """The word is right, because a true word is similar, and also counts as imagined, as in the script."""
    row, nouns = described(truth=("dog",), hallu=("bench",)), [["bench"]]
    assert compute(["-"], [row], nouns=nouns)["chair"] == 1.0
    got = compute(["-"], [row], nouns=nouns, similar=[["dog", "bench"]])
    assert (got["chair"], got["cover"], got["hal"], got["cog"]) == (0.0, 1.0, 0.0, 1.0)
    assert keys_of(got["signature"])["similar"].startswith("similar-1-")
    with pytest.raises(ValueError, match=r"similar\[0\] is .*; expected two words"):
        compute(["-"], [row], nouns=nouns, similar=[["dog", "bench", "seat"]])


def test_an_empty_noun():
    with pytest.raises(ValueError, match=r"nouns\[0\] holds ' '; expected a noun"):
        compute(["-"], [described()], nouns=[[" "]])


@given(
    st.lists(st.sampled_from(sorted(WORDS.known)), max_size=12),
    st.lists(st.sampled_from(sorted(WORDS.also)), min_size=1, max_size=6),
    st.lists(st.sampled_from(sorted(WORDS.also)), min_size=1, max_size=6),
)
def test_a_mention_is_right_safe_or_hallucinated(nouns, truth, hallu):
    rows = [described(truth=truth, hallu=hallu), described(2, truth=truth, hallu=hallu)]
    found, turned = compute(["-", "-"], rows, nouns=[nouns, nouns[::-1]], per_row=True)["per_row"]
    standing = {word for name in truth for word in (name, *WORDS.also[name])}
    wrong = [noun for noun in nouns if noun not in standing and noun not in WORDS.safe]
    assert found["mentions"] == nouns and found["hallucinated"] == wrong
    assert turned["missed"] == found["missed"]


# Answers


def test_answers_by_hand():
    """Right answers: no no | no yes | yes | no yes. Said: no, yes | no, no | (unreadable) | no, yes.

    Said no: 1005, 1007, 1008, 1010, of which three are right; four are to be said.
    """
    replies = ["No", "Yes", "No.", "no", "I am unsure.", "No", "Yes"]
    got = compute(replies, QUESTIONS)
    assert (got["accuracy"], got["precision"], got["recall"]) == (4 / 7, 3 / 4, 3 / 4)
    assert got["f1"] == pytest.approx(3 / 4) and got["unreadable"] == 1 / 7
    assert (got["accuracy/existence"], got["precision/existence"], got["recall/existence"]) == (0.5, 1, 0.5)
    assert (got["accuracy/attribute"], got["accuracy/state"], got["accuracy/number"]) == (1 / 3, 1 / 2, 0)
    assert math.isnan(got["precision/number"]) and math.isnan(got["accuracy/action"])
    assert got["accuracy_mean"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)
    assert math.isnan(got["chair"]) and math.isnan(got["amber"])


@pytest.mark.parametrize("convention", ["exact", "official", "lmms-eval"])
def test_few_noes_tell_little_by_any_convention(convention):
    """Of 100 objects a model denies 3, rightly: 3 of 3. Without any no its precision is of nothing.

    The authors' script starts each denominator at 0.001, so that no image seems to lack a precision.
    """
    rows = []
    for number in range(100):
        rows.append({**asked(1005 + number, "existence", "yes"), "file_name": f"AMBER_{number + 1}.jpg"})
    for row in rows[:3]:
        row["answer"] = "no"
    options = {"convention": convention, "parser": "official", "bootstrap": 1}
    few = compute(["No"] * 3 + ["Yes"] * 97, rows, **options)
    assert few["precision/existence"] == 1
    assert few["interval"]["precision/existence"] == pytest.approx((0.025 ** (1 / 3), 1))
    none = compute(["Yes"] * 100, rows, **options)
    assert "precision/existence" not in none["interval"]
    assert "precision/existence" in none["no_interval"]


def test_the_official_rule_takes_two_words_alone():
    """Of the same replies only "No", "Yes", "No" and "Yes" count: "No." and "no" are wrong, and no no.

    Precision 2 of 2, recall 2 of 4, each with 0.001 in its whole: 100.0 and 50.0 %. F1 of these, with 0.0001 beneath:
    2 x 1 x 0.5 / 1.5001 = 66.7 %. Existence has 0.001 beneath: 2 x 1 x 0.5 / 1.501 = 66.6 %.
    """
    replies = ["No", "Yes", "No.", "no", "I am unsure.", "No", "Yes"]
    got = compute(replies, QUESTIONS, convention="official")
    shown = {
        name: round(100 * got[name], 1) for name in ("accuracy", "precision", "recall", "f1", "f1/existence")
    }
    assert shown == {"accuracy": 42.9, "precision": 100.0, "recall": 50.0, "f1": 66.7, "f1/existence": 66.6}
    assert got["precision/number"] == 0.0  # the script's nothing of nothing
    assert keys_of(got["signature"])["parser"] == "official"


@pytest.mark.parametrize(
    ("parser", "said"),
    [
        ("official", "y??n?????"),
        ("lmms-eval", "yyynnnnn?"),
        ("vlmevalkit", "yyynnn???"),
        ("first-word", "yyynnn???"),
    ],
)
def test_how_replies_are_read(parser, said):
    replies = ["Yes", "yes.", "Yes!", "No", "no.", "No, it is", "I cannot", "unknown", "Perhaps"]
    got = compute(replies, [asked(n, "state", "no") for n in range(9)], parser=parser, per_row=True)
    assert "".join((row["said"] or "?")[0] for row in got["per_row"]) == said


# The authors' script


@pytest.fixture(scope="module")
def real(upstream):
    folder = upstream / "amber"
    return METRIC.load([str(folder / "annotations.json"), str(folder / "query/query_all.json")])


@pytest.mark.parametrize(("key", "similar"), [("result", None), ("result_similar", GOLDEN["similar"])])
def test_the_authors_script_gives_the_same(real, key, similar):
    texts = [*(["-"] * 1004), *(GOLDEN["code"][letter] for letter in GOLDEN["answers"])]
    nouns = [GOLDEN["nouns"][str(row.id)] for row in real if row.task == "generative"]
    got = compute(texts, real, convention="official", nouns=nouns, similar=similar)
    printed = {name: round(100 * value, 1) for name, value in got.items() if isinstance(value, float)}
    assert {name: printed[_ours(name)] for name in GOLDEN[key]} == GOLDEN[key]


def _ours(name):
    """Return the script's scores under our names."""
    part, _, score = name.lower().partition("/")
    return score if part.endswith("task") else f"{score}/{part.replace('exsitence', 'existence')}"


def test_the_printed_scores_of_real_descriptions(upstream):
    """166 descriptions by LLaVA-1.5, of which the script printed 7.5, 50.9, 37.3 and 3.2 %, by other nouns."""
    folder = upstream / "wild" / "Haoming2000__VLM-Benchmarks"
    dataset = [str(upstream / "amber" / name) for name in ("annotations.json", "query/query_all.json")]
    got = halluscope.score("amber", str(folder / "AMBER-master__results__llava-v1.5-7b.jsonl"), dataset)
    printed = (folder / "playground__data__eval__AMBER_results.txt").read_text()
    found = re.findall(r"(Chair|Cover|Hal|Cog):\s+([\d.]+)", printed, re.IGNORECASE)
    assert len(found) == 4
    for name, value in found:
        assert got[name.lower()] == pytest.approx(float(value) / 100, abs=0.01)


@pytest.mark.parametrize("place", [str, lambda number: (number + 1) % 1004])
def test_descriptions_of_other_images_are_told(upstream, place):
    """Ids that count a folder's files by their names, AMBER_1.jpg, AMBER_10.jpg, ..., or that begin one too late."""
    file = upstream / "wild" / "Sreyan88__VDGD" / "AlignTDS__data__llava_1.5_amber_example.json"
    dataset = [str(upstream / "amber" / name) for name in ("annotations.json", "query/query_all.json")]
    rows = [
        {"id": number, "response": row["output"]}
        for number, row in enumerate(json.loads(file.read_text()), 1)
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        right = halluscope.score("amber", rows, dataset, bootstrap=0)
    assert "another order" not in str([warning.message for warning in caught])
    moved = sorted(rows, key=lambda row: place(row["id"]))
    for number, row in enumerate(moved, 1):
        row["id"] = number
    with pytest.warns(UserWarning, match="clearly better in another order"):
        assert halluscope.score("amber", moved, dataset, bootstrap=0)["chair"] > 5 * right["chair"]


# The dataset and the door


@pytest.fixture
def built(tmp_path):
    return small_datasets.build("amber", tmp_path)


def test_the_command_says_what_is_undefined(built, tmp_path, ran):
    (tmp_path / "mine.json").write_text('{"1005": "No"}')
    out = ran("score amber --responses", tmp_path / "mine.json", "--dataset", built).out
    assert "no descriptions: chair, cover, hal, cog and amber are undefined" in out
    (tmp_path / "mine.json").write_text('{"1": "A dog."}')
    out = ran("score amber --convention official --responses", tmp_path / "mine.json", "--dataset", built).out
    assert "no responses to questions: accuracy, precision, recall, f1 and amber are undefined" in out
    assert "its nouns are not those of the authors' script: add --reader nltk" in out


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([{"id": 7, "image": "AMBER_7.jpg", "query": "Is it?"}], "id is 7, and no annotation has it"),
        ([{"id": 1, "image": 3, "query": "Describe this image."}], "file_name is 3"),
        ([{"id": 1, "type": "generative", "truth": ["dog"], "hallu": []}], "expected one of each"),
    ],
)
def test_the_authors_files_that_do_not_fit(queries, message, tmp_path):
    annotation = {"id": 1, "type": "generative", "truth": ["dog"], "hallu": ["person"]}
    for name, content in (("annotations.json", [annotation]), ("queries.json", queries)):
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(BuildError, match=message):
        METRIC.load([str(tmp_path / "annotations.json"), str(tmp_path / "queries.json")])


def test_descriptions_alone_are_built(tmp_path):
    """The card of such a copy divided by its number of questions, which is 0."""
    annotation = {"id": 1, "type": "generative", "truth": ["dog"], "hallu": ["person"]}
    query = {"id": 1, "image": "AMBER_1.jpg", "query": "Describe this image."}
    builder = small_datasets.builder("amber")
    for name, content in (("annotations.json", [annotation]), ("query_all.json", [query])):
        (tmp_path / name).write_text(json.dumps(content))
    out = builder.build(tmp_path, out=tmp_path / "out", subset=True)
    assert [row.id for row in METRIC.load([str(out)])] == [1]
    (tmp_path / "annotations.json").write_text(json.dumps([annotation, annotation | {"truth": ["cat"]}]))
    with pytest.raises(BuildError, match="entry 2 is the second annotation of the id 1; expected one"):
        builder.build(tmp_path, out=tmp_path / "again", subset=True)


def test_an_id_of_thousands_of_digits_is_none_of_ambers(tmp_path, ran):
    file = small_datasets.write_lines(tmp_path / "r.jsonl", [{"id": "9" * 5000, "response": "A dog."}])
    assert "1 responses" in ran("inspect", file).out


def test_parts_may_be_missing_as_a_whole(built):
    """One description and three questions of three dimensions: each may be there or not, a set with half may not."""
    one = halluscope.score("amber", {"1005": "No"}, built)
    assert one["questions"] == 1 and one["descriptions"] == 0 and one["part"] == [1, 4]
    assert keys_of(one["signature"])["tasks"] == "discriminative"
    # by what it states, without an id
    (row,) = (row for row in METRIC.load([str(built)]) if row.id == 1005)
    stated = [{"image": row.file_name, "query": row.prompt, "response": "No"}]
    assert halluscope.score("amber", stated, built)["part"] == [1, 4]
    whole = halluscope.score("amber", {"1": "A dog.", "1005": "No", "1006": "No", "1007": "No"}, built)
    assert whole["accuracy"] == 1.0 and "part" not in whole


def test_answers_in_place_of_descriptions_are_told():
    """The questions alone, counted from 1, have the descriptions' ids, and each answer is another question's."""
    rows = [described(1), described(2), described(3), *QUESTIONS]
    texts = ["Yes", "No, there is none.", "A dog.", *["No"] * len(QUESTIONS)]
    with pytest.warns(UserWarning, match="2 of 3 descriptions begin with yes or no, such as 'Yes'"):
        compute(texts, rows)


def test_answers_in_another_order_are_told():
    rows = []
    answers = []
    for number in range(1005, 1505):
        answer = ("no", "no", "yes", "no", "yes")[number % 5]
        rows.append(asked(number, "state", answer))
        answers.append(answer.capitalize())
    compute(answers, rows)
    with pytest.warns(UserWarning, match="Are both in the same order"):
        compute(answers[1:] + answers[:1], rows)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "answering"}, "task is 'answering'"),
        ({"dimension": "state"}, "expected dimension 'generation' for task 'generative' and for no other"),
        ({"truth": ["unicorn"]}, "truth holds 'unicorn'"),
    ],
)
def test_rows_that_are_none(change, said):
    with pytest.raises(ValueError, match=said):
        compute(["-"], [described() | change], nouns=[[]])


# Synonyms by word vectors

VECTORS = {
    "sea": (1.0, 0.0),
    "lake": (0.9, 0.1),
    "sun": (0.0, 1.0),
    "light": (0.625, 0.8),
    "cloud": (0.5, 0.9),
}
"""cos(sea, lake) = 0.9 / sqrt(0.82) = 0.994; cos(sun, light) = 0.8 / 1.015 = 0.788, too little; cos(sun, cloud) = 0.9 /
sqrt(1.06) = 0.874; cos(light, cloud) = 1.0325 / sqrt(1.06 * 1.030625) = 0.988. All others are below 0.75."""


@pytest.fixture
def model(tmp_path):
    """A real model of spaCy, which knows five words."""
    nlp = spacy.blank("en")
    for word, vector in VECTORS.items():
        nlp.vocab.set_vector(word, np.array(vector, dtype=np.float32))
    nlp.meta |= {"name": "tiny", "version": "1.2.3"}
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


def test_the_builder_finds_synonyms(model, tmp_path):
    out = small_datasets.build("amber", tmp_path, vectors=str(model))
    assert read_pairs(f"{out}:similar") == [("cloud", "light"), ("cloud", "sun"), ("lake", "sea")]
    texts, seen = ["The cloud."], [described(truth=("sun",), hallu=())]
    given = compute(texts, seen, similar=[["cloud", "light"], ["sea", "lake"], ["sun", "cloud"]])
    built = compute(texts, seen, similar=f"{out}:similar")
    assert (built["chair"], built["signature"]) == (given["chair"], given["signature"])
    (tmp_path / "similar.json").write_text(
        json.dumps([["cloud", "light"], ["sea", "lake"], ["sun", "cloud"]])
    )
    assert read_pairs(tmp_path / "similar.json") == read_pairs(f"{out}:similar")
    assert (given["chair"], compute(texts, seen)["chair"]) == (0.0, 1.0)


def test_models_that_know_no_synonyms(tmp_path):
    spacy.blank("en").to_disk(tmp_path / "bare")
    for name, message in (("bare", "has no word vectors"), ("missing", "is not a spaCy model")):
        with pytest.raises(BuildError, match=message):
            small_datasets.build("amber", tmp_path, vectors=str(tmp_path / name))


# Parallel forms


@pytest.mark.parametrize(
    ("prompt", "dimension", "expected"),
    [
        ("Is the sky sunny in this image?", "state", "the sky is sunny in this image?"),
        ("Is the sun on the brink in this image?", "state", "the sun is on the brink in this image?"),
        ("Does the child lie prone in this image?", "action", "the child does lie prone in this image?"),
        ("Are the people happy in this image?", "state", "the people are happy in this image?"),
    ],
)
def test_questions_whose_subject_amber_knows(prompt, dimension, expected):
    row = asked(1005, dimension, "yes") | {"prompt": prompt}
    (parallel,) = parallel_form([row], subject=METRIC.subject).rows
    assert parallel["answer"] == "no"
    assert re.fullmatch(rf"Is it (false|untrue) that {re.escape(expected)}", parallel["prompt"])
    for other in (
        asked(1005, "number", "yes"),
        asked(1005, "state", "yes") | {"prompt": "Is the flurb red?"},
    ):
        assert METRIC.subject(other) == ""
    assert parallel_form([row]).refused == {"no rule can tell where its subject ends": [0]}
