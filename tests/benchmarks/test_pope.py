"""POPE: reading responses, the metric, the questions and the command."""

import inspect
import json
import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest
from datasets import load_dataset

from halluscope import cli
from halluscope.benchmarks.pope import build as building
from halluscope.benchmarks.pope import metric as pope
from halluscope.benchmarks.pope.build import irregular
from halluscope.benchmarks.pope.rows import SAMPLINGS, read_official, unique_questions
from halluscope.errors import BuildError
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.reading import coco
from halluscope.reading.coco import CocoTable
from halluscope.responses import parsers as replies
from halluscope.signature import changed, keys_of
from tests import small_datasets
from tests.test_frozen import unpacked

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden/pope_official.json").read_text())
PREDICTIONS = [GOLDEN["texts"][i] for i in GOLDEN["answers"]]
REFERENCES = [
    "yes" if label else "no" for label in unpacked(GOLDEN["labels_packbits_hex"], [len(PREDICTIONS)])
]


builder = small_datasets.builder("pope")


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(str(ROOT / "metrics" / "pope"))


# How a reply is read

RULES = (
    "pope",
    "strict",
    "lmms-eval",
    "vlmevalkit",
    "repope",
)  # first-word is in tests/studies/test_parallel.py
READ = {
    "Yes, there is.": (YES, YES, OTHER, YES, YES),
    "No, there isn't.": (NO, NO, OTHER, NO, NO),
    " yes\n": (YES, YES, YES, YES, YES),
    "No.": (NO, NO, OTHER, NO, NO),
    "NO": (YES, NO, NO, NO, NO),
    "": (YES, OTHER, OTHER, OTHER, OTHER),
    "There isn't a cat": (YES, NO, OTHER, OTHER, OTHER),
    "There is not a dog. Yes": (NO, OTHER, OTHER, YES, YES),
    "yes. No": (YES, OTHER, OTHER, OTHER, YES),
    "The answer is Yes": (YES, YES, OTHER, YES, YES),
    "I cannot see one, no": (NO, NO, OTHER, NO, NO),
    "There are none": (YES, NO, OTHER, OTHER, NO),
    "Not visible": (YES, NO, OTHER, OTHER, NO),
    "The image shows a man, not a dog.": (NO, OTHER, OTHER, OTHER, NO),
    "Yes/no": (YES, OTHER, OTHER, OTHER, YES),
    "**No** dog": (YES, NO, OTHER, OTHER, NO),
    "Yesterday": (YES, OTHER, OTHER, OTHER, YES),
    "A snowy dog": (YES, OTHER, OTHER, OTHER, NO),
}


@pytest.mark.parametrize(("reply", "expected"), READ.items())
def test_each_rule(reply, expected):
    assert tuple(replies.PARSERS[name](reply) for name in RULES) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("No dogs are visible.", NO),
        ("There is no dog in the image, only a cat.", NO),
        ("No, the image shows a cat.", NO),
        ("I don\u2019t see any.", NO),
        ("The image does not show a dog.", NO),
        ("There is a dog in the image. There is no cat.", YES),
        ("In this image, there is a dog.", YES),
        ("I can see a dog.", YES),
        ("Is there a dog? Yes, there is.", YES),
        ("Yes, there is a dog with no collar. No other animals are visible.", YES),
        ("No doubt, yes.", YES),
        ("No, there is a dog.", OTHER),
        ("Yes, there is no dog.", OTHER),
        ("There is a man, not a dog.", OTHER),
        ("There is a cat but there is no dog.", OTHER),
        ("I cannot tell whether there is a dog.", OTHER),
        ("There might be a dog.", OTHER),
        ("There is not enough information.", OTHER),
        ("I don't see an image.", OTHER),
        ("No idea.", OTHER),
        ("Yes and no.", OTHER),
        ("A dog.", OTHER),
        ("Yesterday", OTHER),
        ("no-parking sign", OTHER),
        ("Sí", OTHER),
    ],
)
def test_the_strict_rule_reads_what_is_clear_and_nothing_else(reply, expected):
    assert replies.strict(reply) == expected


@pytest.mark.parametrize("reply", ["no " * 50_000, "there is a not " * 20_000, "?" * 99_999, "a\x00no", "🐕"])
def test_replies_that_want_to_do_harm(metric, reply):
    for parser in replies.PARSERS:
        assert metric.compute(predictions=[reply], references=["no"], parser=parser)["rows"] == 1


# The metric


def test_the_official_scripts_numbers(metric):
    got = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert {name: got[name] for name in GOLDEN["expected"]} == pytest.approx(GOLDEN["expected"], abs=1e-9)
    assert got["unparsed"] == 0.0


# yes/yes, yes/unread, yes/no, no/yes, no/unread, no/no
SIX = ["Yes", "Hm", "No", "Yes", "Hm", "No"]
TRUE = ["yes", "yes", "yes", "no", "no", "no"]


def test_unread_replies_are_wrong_and_no_yes(metric):
    strict = metric.compute(predictions=SIX, references=TRUE, parser="strict")
    assert (strict["accuracy"], strict["precision"]) == (2 / 6, 1 / 2)
    assert strict["recall"] == 1 / 3  # the unread one is missed
    assert (strict["yes_ratio"], strict["unparsed"]) == (2 / 6, 2 / 6)
    same = metric.compute(predictions=SIX, references=TRUE, parser="vlmevalkit")
    assert {**same, "signature": ""} == {**strict, "signature": ""}


def test_lmms_eval_leaves_them_out_of_recall_and_gives_the_labels_yes_ratio(metric):
    got = metric.compute(predictions=SIX, references=TRUE, parser="lmms-eval")
    assert (got["accuracy"], got["precision"], got["recall"]) == (2 / 6, 1 / 2, 1 / 2)
    assert got["yes_ratio"] == 1 / 2


def test_repope_leaves_them_out_of_every_count(metric):
    """TP 1, FN 1, FP 1, TN 1: the two unread responses are in none of RePOPE's four counts."""
    got = metric.compute(predictions=SIX, references=TRUE, parser="repope", per_question=True)
    assert [got[name] for name in ("accuracy", "precision", "recall", "f1", "yes_ratio")] == [1 / 2] * 5
    assert (got["unparsed"], got["rows"]) == (2 / 6, 6)  # stated, and over all responses
    assert [row["accuracy"] for row in got["per_question"]] == [True, None, False, False, None, True]
    assert [row["yes_ratio"] for row in got["per_question"]] == [True, None, False, True, None, False]
    by_name = metric.compute(predictions=SIX, references=TRUE, parser="strict", convention="repope")
    assert {**got, "signature": ""} == {**by_name, "signature": "", "per_question": got["per_question"]}
    assert keys_of(by_name["signature"])["convention"] == "repope"
    assert "convention" not in keys_of(got["signature"])
    as_usual = metric.compute(predictions=SIX, references=TRUE, parser="repope", convention="usual")
    assert as_usual["accuracy"] == 2 / 6 and keys_of(as_usual["signature"])["convention"] == "usual"


def test_repope_without_a_readable_response(metric):
    got = metric.compute(predictions=["Hm"], references=["yes"], parser="repope")
    assert got["unparsed"] == 1 and all(np.isnan(got[name]) for name in ("accuracy", "f1", "yes_ratio"))


def test_means_over_classes(metric):
    """dog: P 1/2, R 1; cat: never a yes, so no precision, R 0; cow: never present, P 0."""
    got = metric.compute(
        predictions=["Yes", "Yes", "No", "No", "Yes"],
        references=["yes", "no", "yes", "no", "no"],
        objects=["dog", "dog", "cat", "cat", "cow"],
        per_class=True,
    )
    assert (got["precision_cls"], got["recall_cls"], got["undefined_classes"]) == (1 / 4, 1 / 2, 2)
    assert got["f1_cls"] == pytest.approx(1 / 3)
    assert got["f0.5_cls"] == pytest.approx(1.25 * 0.125 / (0.25 * 0.25 + 0.5))
    assert got["classes"]["dog"]["precision"] == 0.5 and got["classes"]["dog"]["rows"] == 2
    assert np.isnan(got["classes"]["cat"]["precision"])


def test_each_sampling_is_scored_as_if_alone(metric):
    sampling = [SAMPLINGS[i % 3] for i in range(len(PREDICTIONS))]
    got = metric.compute(predictions=PREDICTIONS, references=REFERENCES, sampling=sampling)
    for i, name in enumerate(SAMPLINGS):
        alone = metric.compute(predictions=PREDICTIONS[i::3], references=REFERENCES[i::3])
        del alone["signature"]
        for counted in ("thoughts", "unfinished_thoughts"):  # of all
            assert alone.pop(counted) == got[counted] == 0
        assert {key.removesuffix(f"/{name}"): got[key] for key in got if key.endswith(f"/{name}")} == alone
    assert got["f1_mean"] == pytest.approx(np.mean([got[f"f1/{name}"] for name in SAMPLINGS]))
    assert got["accuracy"] == pytest.approx(GOLDEN["expected"]["accuracy"])


def test_intervals():
    image_ids = [i // 6 for i in range(len(PREDICTIONS))]
    options = {"sampling": [SAMPLINGS[i % 3] for i in range(len(PREDICTIONS))], "bootstrap": 300}
    rows = pope.compute(PREDICTIONS, REFERENCES, **options)
    images = pope.compute(PREDICTIONS, REFERENCES, image_ids=image_ids, **options)
    again = pope.compute(PREDICTIONS, REFERENCES, image_ids=image_ids, **options)
    assert images == again
    for got in (rows, images):
        low, high = got["interval"]["f1"]
        assert low < got["f1"] < high and 0.03 < high - low < 0.06
        low, high = got["interval"]["accuracy/popular"]
        assert low < got["accuracy/popular"] < high
    same = pope.compute(["Yes", "No"] * 50, ["yes", "yes"] * 50, image_ids=[1, 1] * 50, bootstrap=20)
    low, high = same["interval"]["recall"]
    assert low < 0.01 and high > 0.99  # one image tells nothing of others


def test_nothing_said_yes_has_no_precision():
    got = pope.compute(["No", "No"], ["yes", "no"])
    assert np.isnan(got["precision"]) and np.isnan(got["f1"]) and got["recall"] == 0.0
    assert pope.compute(["Yes", "No"], ["no", "yes"])["f1"] == 0.0


def test_what_each_question_adds():
    """lmms-eval's rule only reads a response that is exactly "yes" or "no", and its yes ratio is that of the labels."""
    replies, labels = ["Yes", "no", "Yes.", "yes"], ["yes", "yes", "no", "no"]
    rows = pope.compute(replies, labels, parser="lmms-eval", per_question=True)["per_question"]
    assert rows[2] == {
        "answer": "no",
        "said": None,
        "accuracy": False,
        "yes_ratio": False,
        "unparsed": True,
    }
    assert [row["accuracy"] for row in rows] == [True, False, False, False]
    assert [row["yes_ratio"] for row in rows] == [True, True, False, False]


def test_a_parser_and_a_way_to_count_are_two_things():
    """Of four present objects one is seen, one denied, and two get no plain yes: recall 1 of 4, or 1 of 2."""
    texts, answers = ["Yes", "No", "Yes.", ""], ["yes"] * 4
    found = {
        (parser, convention): pope.compute(texts, answers, parser=parser, convention=convention)
        for parser in ("lmms-eval", "pope")
        for convention in ("usual", "lmms-eval")
    }
    assert {both: result["recall"] for both, result in found.items()} == {
        ("lmms-eval", "usual"): 0.25,
        ("lmms-eval", "lmms-eval"): 0.5,
        ("pope", "usual"): 0.75,
        ("pope", "lmms-eval"): 0.75,
    }
    own = pope.compute(texts, answers, parser="lmms-eval")
    assert own["signature"] == found["lmms-eval", "lmms-eval"]["signature"]
    assert "convention" not in own["signature"]
    assert "|convention:usual|" in found["lmms-eval", "usual"]["signature"]


# Each choice that can move a number, with another value for it.
MOVES = {
    "parser": "strict",
    "objects": ["dog", "cat"],
    "sampling": ["random", "popular"],
    "image_ids": [1, 2],
    "bootstrap": 0,
    "level": 0.9,
    "thoughts": "kept",
    "forms": ["parallel-1-0"] * 2,
    "convention": "lmms-eval",
}
MOVES_NOTHING = {"corrected", "per_class", "per_question", "seed"}
SAYS_WHAT_IT_IS_ABOUT = {"questions"}


def test_no_option_is_missing_from_the_signature():
    options = set(inspect.signature(pope.compute).parameters) - {"predictions", "references"}
    assert options == MOVES.keys() | MOVES_NOTHING | SAYS_WHAT_IT_IS_ABOUT
    base = {"bootstrap": 5, "objects": ["dog", "dog"]}
    plain = pope.compute(["", ""], ["yes", "no"], **base)["signature"]
    for option, value in MOVES.items():
        assert pope.compute(["", ""], ["yes", "no"], **(base | {option: value}))["signature"] != plain, option
    for table in ("per_class", "per_question"):
        assert pope.compute(["", ""], ["yes", "no"], **base, **{table: True})["signature"] == plain
    other = pope.compute(["", ""], ["yes", "no"], **(base | {"bootstrap": 99, "seed": 1}))
    assert other["signature"] == plain
    asked = pope.compute(["", ""], ["yes", "no"], **base, questions=["Is there a dog?", "A dog?"])[
        "signature"
    ]
    assert asked != plain == changed(asked, data=keys_of(plain)["data"])
    assert (
        keys_of(pope.compute(["", ""], ["no", "no"], **base)["signature"])["data"] != keys_of(plain)["data"]
    )
    assert "\n" not in plain and plain.split("|")[-1].startswith("version:")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"references": ["Yea"]}, r"references\[0\] is 'Yea'; expected 'yes' or 'no'"),
        ({"references": [2]}, r"references\[0\] is 2"),
        ({"objects": [["dog"]]}, r"objects\[0\] is \['dog'\]"),
        ({"sampling": ["rare"]}, r"sampling\[0\] is 'rare'; expected 'random' or 'popular'"),
        ({"image_ids": [None]}, r"image_ids\[0\] is None"),
        ({"per_class": True}, "per_class needs objects"),
    ],
)
def test_bad_input_ends_in_its_own_error(metric, bad, message):
    with pytest.raises(ValueError, match=message):
        metric.compute(**({"predictions": ["Yes"], "references": ["yes"]} | bad))


def test_each_question_once():
    rows = [
        {"file_name": "a.jpg", "question": "dog?"},
        {"file_name": "b.jpg", "question": "dog?"},
        {"file_name": "a.jpg", "question": "dog?"},
    ]
    unique, index = unique_questions(rows)
    assert unique == rows[:2]
    assert index.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match=r"rows\[0\] has no question"):
        unique_questions([{"image_id": 3}])


# Official files


def official(folder: Path, images: int = 2, **changes: Any) -> Path:
    """Write small files under the official names of COCO's config: 6 questions per image, yes and no in turn."""
    for sampling in SAMPLINGS:
        rows = [
            {
                "question_id": 6 * image + i + 1,
                "image": f"COCO_val2014_{image:012d}.jpg",
                "text": f"Is there an {sampling if i % 2 else ''}object {i} in the image?",
                "label": "no" if i % 2 else "yes",
            }
            for image in range(images)
            for i in range(6)
        ]
        rows[-1] |= changes
        (folder / f"coco_pope_{sampling}.json").write_text("\r\n".join(map(json.dumps, rows)))
    return folder


def test_the_dataset(tmp_path):
    (tmp_path / "coco").mkdir()
    official(tmp_path / "coco")
    out = builder.build(tmp_path, out=tmp_path / "out", configs=["coco"], subset=True)
    rows = load_dataset(str(out), "coco", split="test", cache_dir=str(tmp_path / "hf"))
    assert rows.column_names == [
        "question_id",
        "image_id",
        "file_name",
        "question",
        "object",
        "answer",
        "sampling",
    ]
    assert rows[11] == {
        "question_id": 12,
        "image_id": 1,
        "file_name": "COCO_val2014_000000000001.jpg",
        "question": "Is there an randomobject 5 in the image?",
        "object": "randomobject 5",
        "answer": "no",
        "sampling": "random",
    }
    stats = json.loads((out / "stats.json").read_text())
    assert stats["subset"] and stats["counts"]["coco_rows"] == 36 and stats["counts"]["coco_pairs"] == 24
    assert "do not compare scores" in (out / "README.md").read_text()


def test_files_that_are_not_the_published_ones_are_refused(tmp_path):
    with pytest.raises(BuildError, match="is not the published file"):
        builder.build(official(tmp_path), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question_id": 1, "ima', "line 1 is not JSON, or is cut off"),
        ('[{"question_id": 1}, {"ques', "is not JSON, or is cut off"),
        ('{"question_id": 1, "image": "a1.jpg"}', "line 1: expected question_id, image, text and label"),
        ("", "holds no question"),
    ],
)
def test_a_question_file_that_is_cut_off(tmp_path, text, message):
    (tmp_path / "coco_pope_random.json").write_text(text)
    with pytest.raises(BuildError, match=message):
        read_official(tmp_path / "coco_pope_random.json", "random")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "maybe"}, "line 12: label is 'maybe'; expected one of 'yes', 'no'"),
        ({"text": "A dog?"}, "line 12: text is 'A dog[?]'"),
        ({"image": "nameless.jpg"}, "line 12: image is 'nameless.jpg'"),
        (
            {"image": f"{'1' * 30}.jpg"},
            "line 12: image is '1{30}.jpg'; expected a file name that ends in an id",
        ),
        ({"image": 7}, "line 12: image is 7; expected a text"),
        ({"question_id": 10**30}, "line 12: question_id is 10{30}; expected a 64-bit whole number"),
        ({"question_id": True}, "line 12: question_id is True; expected a 64-bit whole number"),
        ({"text": 7, "object": "dog"}, "line 12: text is 7; expected"),
        ({"question_id": 1}, "holds question_id 1 more than once"),
        ({"question_id": "x"}, "question_id is 'x'"),
    ],
)
def test_a_question_file_with_a_bad_row(tmp_path, change, message):
    with pytest.raises(BuildError, match=message):
        read_official(official(tmp_path, **change) / "coco_pope_random.json", "random")


def test_what_departs_from_the_pattern(tmp_path):
    rows = read_official(official(tmp_path) / "coco_pope_random.json", "random")
    assert irregular(rows) == {}
    assert irregular([*rows[:6], *rows[8:], *rows[6:8]]) == {}
    assert set(irregular([rows[1], rows[0], *rows[2:]])) == {"alternation"}
    assert irregular(rows[:-1])["rows"] == [7, 8, 9, 10, 11]
    same = replace(rows[3], object=rows[0].object, question_id=99)
    assert irregular([*rows[:3], same, *rows[4:]]) == {"contradiction": [99], "repetition": [99]}


def test_the_official_files_hold_what_the_spec_says(upstream, tmp_path):
    """Six rows per image, balanced, no absent object among the present ones; two rows repeat a question."""
    out = builder.build(upstream / "pope", out=tmp_path / "out")
    stats = json.loads((out / "stats.json").read_text())
    assert not stats["subset"]
    everywhere = {"alternation": {"rows": 3000, "first": 1}}
    lists = {"random": everywhere, "popular": everywhere}
    found = {name: of["irregular"] for name, of in stats["counts"]["configs"].items()}
    assert found == {
        "coco": {"random": {}, "popular": {}, "adversarial": {}},
        "aokvqa": lists | {"adversarial": {"repetition": {"rows": 1, "first": 1954}}},
        "gqa": lists | {"adversarial": {"repetition": {"rows": 1, "first": 2566}}},
    }
    rows = load_dataset(str(out), "coco", split="test", cache_dir=str(tmp_path / "hf"))
    unique, index = unique_questions(rows)
    assert len(unique) == 5127 and len(index) == 9000
    assert all(unique[place]["answer"] == row["answer"] for place, row in zip(index, rows, strict=True))
    assert [row["answer"] for row in rows if row["sampling"] == "random"] == REFERENCES


# New questions


def annotations(images: int = 60, classes: int = 14) -> dict[str, Any]:
    """A COCO file's content: images whose classes go together, some too poor in classes and some too rich."""
    rng = np.random.default_rng(7)
    present = [rng.random(classes) < 0.1 + 3 * rng.dirichlet(np.full(classes, 0.3)) for _ in range(images)]
    present[0][:] = True
    return {
        "images": [{"id": image, "file_name": f"{image:012d}.jpg"} for image in range(images)],
        "categories": [{"id": i, "name": f"class {i}"} for i in range(classes)],
        "annotations": [
            {"id": image * classes + int(i), "image_id": image, "category_id": int(i)}
            for image, row in enumerate(present)
            for i in np.flatnonzero(row)
        ],
    }


@pytest.fixture
def table(tmp_path) -> CocoTable:
    (tmp_path / "mine.json").write_text(json.dumps(annotations()))
    return coco.read_annotations(tmp_path / "mine.json")


def check_definitions(table: CocoTable, images: int, objects: int, seed: int) -> None:
    """Every drawn question obeys POPE's definitions, by an independent count."""
    holds = {image: {*names} for image, names in zip(table.image_ids, table.objects(), strict=True)}
    order = {name: i for i, name in enumerate(table.classes)}
    rows = building.draw(table, images, objects, seed)
    of_sampling = {name: [row for row in rows if row.sampling == name] for name in SAMPLINGS}
    positives = [[r for r in of if r.answer == "yes"] for of in of_sampling.values()]
    assert positives[0] == [replace(r, sampling="random") for r in positives[1]]
    assert positives[0] == [replace(r, sampling="random") for r in positives[2]]
    for sampling, of in of_sampling.items():
        assert irregular(of) == {}
        assert [row.question_id for row in of] == list(range(1, 2 * images * objects + 1))
        for image_id, group in groupby(of, key=lambda row: row.image_id):
            asked: list[str] = []
            pairs = list(group)
            assert len(pairs) == 2 * objects
            for yes, no in zip(pairs[::2], pairs[1::2], strict=True):
                assert yes.object in holds[image_id] and no.object not in holds[image_id]
                left = [name for name in table.classes if name not in holds[image_id] and name not in asked]
                frequency = {name: sum(name in held for held in holds.values()) for name in left}
                together = {
                    name: sum(name in held and yes.object in held for held in holds.values()) for name in left
                }
                best = {
                    "random": no.object,
                    "popular": min(left, key=lambda name: (-frequency[name], order[name])),
                    "adversarial": min(left, key=lambda name: (-together[name], order[name])),
                }
                assert no.object == best[sampling]
                asked.append(no.object)


@pytest.mark.parametrize(("images", "objects", "seed"), [(20, 3, 0), (30, 2, 1), (10, 4, 2), (1, 1, 3)])
def test_new_questions_obey_the_definitions(table, images, objects, seed):
    check_definitions(table, images, objects, seed)


def test_new_questions_obey_the_definitions_on_real_annotations(upstream):
    table = coco.read_annotations(upstream / "coco" / "mini" / "instances_val2017.json")
    check_definitions(table, images=50, objects=3, seed=0)


def test_the_seed_decides(table):
    assert building.draw(table, 20, 3, seed=4) == building.draw(table, 20, 3, seed=4)
    assert building.draw(table, 20, 3, seed=4) != building.draw(table, 20, 3, seed=5)


def test_fewer_images_than_asked(table):
    with pytest.raises(BuildError, match="500 images are asked for, but of the 60 in the annotations only"):
        building.draw(table)
    with pytest.raises(BuildError, match="objects is 0; expected at least 1"):
        building.draw(table, objects=0)


def test_plurals_take_no_article(upstream):
    table = coco.read_annotations(upstream / "coco" / "mini" / "instances_val2017.json")
    asked = {row.object: row.question for seed in range(9) for row in building.draw(table, 50, seed=seed)}
    assert asked["skis"] == "Is there skis in the image?"
    assert asked["umbrella"] == "Is there an umbrella in the image?"


PART_OF_OBJECTS365 = ("Cabinet/shelf", "Sneakers", "Umbrella", "Scissors", "Glasses", "Orange/Tangerine")


@pytest.mark.parametrize(
    ("classes", "asked"),
    [
        (
            PART_OF_OBJECTS365,
            {
                "Is there a cabinet/shelf in the image?",
                "Is there sneakers in the image?",
                "Is there an umbrella in the image?",
                "Is there scissors in the image?",
                "Is there glasses in the image?",
                "Is there an orange/tangerine in the image?",
            },
        ),
        (
            ("Sneakers", "Unicorn", "scissors", "Umbrella"),
            {
                "Is there Sneakers in the image?",
                "Is there a Unicorn in the image?",
                "Is there scissors in the image?",
                "Is there an Umbrella in the image?",
            },
        ),
    ],
)
def test_classes_that_are_a_part_of_a_vocabulary_are_asked_about_as_the_whole_is(tmp_path, classes, asked):
    """Names of another list keep their case; only their plurals are known."""
    half = len(classes) // 2
    content = {
        "images": [{"id": image, "file_name": f"{image:012d}.jpg"} for image in range(4)],
        "categories": [{"id": i, "name": name} for i, name in enumerate(classes)],
        "annotations": [
            {"id": image * half + n, "image_id": image, "category_id": (image % 2) * half + n}
            for image in range(4)
            for n in range(half)
        ],
    }
    (tmp_path / "part.json").write_text(json.dumps(content))
    options = ["--from-annotations", str(tmp_path / "part.json"), "--out", str(tmp_path / "out")]
    drawn = ["--images-count", "4", "--objects", str(half)]
    assert cli.main(["build", "pope", *options, *drawn]) == 0
    rows = load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "hf"))
    assert {row["question"] for row in rows} == asked
    assert {row["object"] for row in rows} == set(classes)


def test_building_new_questions(table, tmp_path, capsys):
    options = ["--from-annotations", str(tmp_path / "mine.json"), "--out", str(tmp_path / "out")]
    assert cli.main(["build", "pope", *options, "--images-count", "10", "--objects", "2", "--seed", "3"]) == 0
    rows = load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "hf"))
    assert len(rows) == 10 * 4 * 3
    card = (tmp_path / "out" / "README.md").read_text()
    assert "10 images, seed 3" in card and "license: other" in card
    assert cli.main(["build", "pope", *options, "--force"]) == 2
    assert "500 images are asked for" in capsys.readouterr().err
    assert cli.main(["build", "pope", *options, "--force", "--source", str(tmp_path)]) == 2
    assert "mine.json are given; expected one of them" in capsys.readouterr().err


# The command


@pytest.fixture
def files(tmp_path):
    official(tmp_path)
    questions = {
        s: [json.loads(row) for row in (tmp_path / f"coco_pope_{s}.json").read_text().splitlines()]
        for s in SAMPLINGS
    }
    answers = [
        {
            "question_id": row["question_id"],
            "sampling": s,
            "image": row["image"],
            "text": "Yes, there is." if i % 3 else "No",
        }
        for s, rows in questions.items()
        for i, row in enumerate(rows)
    ]
    write(tmp_path / "mine.jsonl", reversed(answers))
    write(
        tmp_path / "random.jsonl", [{k: v for k, v in row.items() if k != "sampling"} for row in answers[:12]]
    )
    return tmp_path


def write(file: Path, rows: Any) -> None:
    file.write_text("\n".join(map(json.dumps, rows)))


def score(files, *options, responses="mine.jsonl", samplings=SAMPLINGS):
    questions = [str(files / f"coco_pope_{sampling}.json") for sampling in samplings]
    command = ["score", "pope", "--responses", str(files / responses), "--dataset", *questions, *options]
    return cli.main(command)


def test_answers_in_another_order_are_matched_by_id(files, capsys):
    assert score(files, "--json", "--bootstrap", "0") == 0
    out, err = capsys.readouterr()
    (result,) = json.loads(out)
    assert result["accuracy"] == 0.5 and result["rows"] == 36 and err == ""
    assert result["recall/popular"] == pytest.approx(2 / 3)
    assert "f1_cls" in result and result["f1_mean"] == result["f1"]


@pytest.mark.usefixtures("wide")
def test_a_table_for_people(files, capsys):
    assert score(files) == 0
    out = capsys.readouterr().out
    assert [line.split()[2] for line in out.splitlines() if line.startswith("mine ")][1:] == [
        *SAMPLINGS,
        "pooled",
    ]
    assert score(files, "--parser", "all") == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.startswith("mine ") and "pooled" in line]
    assert [row[1] for row in rows] == [*RULES, "first-word"]
    made_by = [keys_of(line) for line in out.splitlines() if line.startswith("  signature: pope|")]
    assert [keys["parser"] for keys in made_by] == [*RULES, "first-word"]
    (about,) = {(keys["data"], keys["responses"]) for keys in made_by}
    assert re.fullmatch(r"pope-36-[0-9a-f]{8}", about[0]) and about[1] == "id,sampling"


@pytest.mark.parametrize("states", [{}, {"image": None, "text": "", "prompt": 1}, {"sampling": "random"}])
def test_ids_that_other_files_share_are_said_to_be_all_that_is_known(files, capsys, states):
    """Each file of POPE numbers its questions from 1: with ids alone, responses to COCO score on GQA too."""
    rows = [json.loads(row) for row in (files / "coco_pope_random.json").read_text().splitlines()]
    ids = [{"question_id": row["question_id"], "response": "Yes", **states} for row in rows]
    write(files / "ids.jsonl", ids)
    assert score(files, responses="ids.jsonl", samplings=["random"]) == 0
    assert "ids: they state neither question nor image, and other files have" in capsys.readouterr().err
    for column, said in [("image", "image"), ("prompt", "text")]:
        told = [one | {column: row[said]} for one, row in zip(ids, rows, strict=True)]
        write(files / "ids.jsonl", told)
        assert score(files, responses="ids.jsonl", samplings=["random"]) == 0
        assert "neither question nor image" not in capsys.readouterr().err


def test_answers_without_ids_are_matched_by_order_and_said_so(files, capsys):
    rows = [json.loads(line) for line in (files / "random.jsonl").read_text().splitlines()]
    write(files / "bare.jsonl", [{"answer": row["text"]} for row in rows])
    assert score(files, "--json", "--bootstrap", "0", responses="random.jsonl", samplings=["random"]) == 0
    by_id = capsys.readouterr()
    assert score(files, "--json", "--bootstrap", "0", responses="bare.jsonl", samplings=["random"]) == 0
    by_order = capsys.readouterr()
    ((first,), (second,)) = (json.loads(one.out) for one in (by_id, by_order))
    assert (first.pop("responses"), second.pop("responses")) == ("random", "bare")
    assert (first.pop("matched"), second.pop("matched")) == ("question_id", "order")
    assert changed(first.pop("signature"), responses="order") == second.pop("signature")
    assert first == second
    assert by_id.err == "" and "matched by their order" in by_order.err


def test_a_dataset_as_the_questions(files, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hf"))
    out = builder.build(files, out=tmp_path / "out", configs=["coco"], subset=True)
    command = ["score", "pope", "--responses", str(files / "mine.jsonl"), "--json", "--bootstrap", "0"]
    official_file = str(files / "coco_pope_popular.json")
    results = []
    for written in (f"{out}:coco", f"{out}:coco@test", official_file):
        assert cli.main([*command, "--dataset", written, "--sampling", "popular"]) == 0
        results += json.loads(capsys.readouterr().out)
        assert results[-1]["rows"] == results[-1]["rows/popular"] == 12
    assert [one.pop("origin", "") for one in results] == ["subset", "subset", ""]
    assert results[0] == results[1] == results[2]  # the signature too: these are the same data
