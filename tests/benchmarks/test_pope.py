"""POPE: reading responses, the metric, the questions and the command."""

import json
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from datasets import load_dataset

import halluscope
from halluscope import cli
from halluscope.benchmarks.pope import build as building
from halluscope.benchmarks.pope.build import irregular
from halluscope.benchmarks.pope.metric import compute
from halluscope.benchmarks.pope.rows import SAMPLINGS, load, read_all, read_official, unique_questions
from halluscope.errors import BuildError, WithoutEffect
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.reading import coco
from halluscope.reading.coco import CocoTable
from halluscope.responses import parsers as replies
from halluscope.signature import keys_of
from tests import small_datasets
from tests.frozen import unpacked
from tests.small_datasets import write_lines

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden/pope_official.json").read_text())
PREDICTIONS = [GOLDEN["texts"][i] for i in GOLDEN["answers"]]
REFERENCES = [
    "yes" if label else "no" for label in unpacked(GOLDEN["labels_packbits_hex"], [len(PREDICTIONS)])
]


builder = small_datasets.builder("pope")


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


@pytest.mark.parametrize("reply", ["no " * 50_000, "there is a not " * 20_000, "?" * 99_999, "a\x00no", "🐕"])
def test_replies_that_want_to_do_harm(reply):
    for parser in replies.PARSERS:
        assert compute(predictions=[reply], references=["no"], parser=parser)["rows"] == 1


# The metric


def test_the_official_scripts_numbers():
    got = compute(predictions=PREDICTIONS, references=REFERENCES)
    assert {name: got[name] for name in GOLDEN["expected"]} == pytest.approx(GOLDEN["expected"], abs=1e-9)
    assert got["unparsed"] == 0.0


# yes/yes, yes/unread, yes/no, no/yes, no/unread, no/no
SIX = ["Yes", "Hm", "No", "Yes", "Hm", "No"]
TRUE = ["yes", "yes", "yes", "no", "no", "no"]

COUNTED = [
    # rule and convention; accuracy, precision, recall and ratio of yes
    ({"parser": "strict"}, (2 / 6, 1 / 2, 1 / 3, 2 / 6)),  # an unread response is wrong, and no yes
    ({"parser": "vlmevalkit"}, (2 / 6, 1 / 2, 1 / 3, 2 / 6)),
    # recall leaves it out, and the labels give the ratio of yes
    ({"parser": "lmms-eval"}, (2 / 6, 1 / 2, 1 / 2, 1 / 2)),
    ({"parser": "strict", "convention": "lmms-eval"}, (2 / 6, 1 / 2, 1 / 2, 1 / 2)),
    ({"parser": "repope"}, (1 / 2, 1 / 2, 1 / 2, 1 / 2)),  # it is in none of RePOPE's four counts
    ({"parser": "strict", "convention": "repope"}, (1 / 2, 1 / 2, 1 / 2, 1 / 2)),
    ({"parser": "repope", "convention": "usual"}, (2 / 6, 1 / 2, 1 / 3, 2 / 6)),
]


@pytest.mark.parametrize(("options", "expected"), COUNTED)
def test_what_becomes_of_an_unread_response(options, expected):
    got = compute(predictions=SIX, references=TRUE, per_question=True, **options)
    assert tuple(got[name] for name in ("accuracy", "precision", "recall", "yes_ratio")) == expected
    assert (got["unparsed"], got["rows"]) == (2 / 6, 6)
    for name in ("accuracy", "yes_ratio"):
        values = [row[name] for row in got["per_question"] if row[name] is not None]
        assert sum(values) / len(values) == got[name]
    own = {"lmms-eval": "lmms-eval", "repope": "repope"}.get(options["parser"], "usual")
    named = options.get("convention", own)
    assert keys_of(got["signature"]).get("convention", own) == named


def test_means_over_classes():
    """dog: P 1/2, R 1; cat: never a yes, so no precision, R 0; cow: never present, P 0."""
    got = compute(
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


def test_each_sampling_is_scored_as_if_alone():
    """Every second question is about a class that its sampling alone has."""
    sampling = [SAMPLINGS[i % 3] for i in range(len(PREDICTIONS))]
    objects = ["dog" if i % 2 else f"cow {i % 3}" for i in range(len(PREDICTIONS))]
    got = compute(predictions=PREDICTIONS, references=REFERENCES, objects=objects, sampling=sampling)
    for i, name in enumerate(SAMPLINGS):
        alone = compute(predictions=PREDICTIONS[i::3], references=REFERENCES[i::3], objects=objects[i::3])
        del alone["signature"]
        for counted in ("thoughts", "unfinished_thoughts"):  # of all
            assert alone.pop(counted) == got[counted] == 0
        assert {key.removesuffix(f"/{name}"): got[key] for key in got if key.endswith(f"/{name}")} == alone
    for name in ("accuracy", "f1"):
        assert got[f"{name}_mean"] == pytest.approx(np.mean([got[f"{name}/{part}"] for part in SAMPLINGS]))
    assert got["accuracy"] == pytest.approx(GOLDEN["expected"]["accuracy"])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"references": ["Yea"]}, r"references\[0\] is 'Yea'; expected 'yes' or 'no'"),
        ({"sampling": ["rare"]}, r"sampling\[0\] is 'rare'; expected 'random' or 'popular'"),
        ({"per_class": True}, "per_class needs objects"),
    ],
)
def test_bad_input_ends_in_its_own_error(bad, message):
    with pytest.raises(ValueError, match=message):
        compute(**({"predictions": ["Yes"], "references": ["yes"]} | bad))


# Official files


def official(folder: Path, images: int = 2, **changes: Any) -> Path:
    """Write small files under the official names of COCO's config: 6 questions per image, yes and no in turn."""
    for sampling in SAMPLINGS:
        asked = []
        for number in range(6 * images):
            thing = f"{sampling} {number % 6}" if number % 2 else f"object {number % 6}"
            image = f"COCO_val2014_{number // 6:012d}.jpg"
            asked.append((image, thing, "no" if number % 2 else "yes"))
        file = folder / f"coco_pope_{sampling}.json"
        small_datasets.pope_file(file, asked)
        lines = file.read_text().splitlines()
        lines[-1] = json.dumps(json.loads(lines[-1]) | changes)
        file.write_text("\r\n".join(lines))
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "maybe"}, "line 12: label is 'maybe'; expected one of 'yes', 'no'"),
        ({"image": "nameless.jpg"}, "line 12: image is 'nameless.jpg'"),
        ({"text": "What is it?"}, "line 12: text is 'What is it.'; expected 'Is there a ... in the image"),
        ({"question_id": 1}, "holds question_id 1 more than once"),
    ],
)
def test_a_question_file_with_a_bad_row(tmp_path, change, message):
    with pytest.raises(BuildError, match=message):
        read_official(official(tmp_path, **change) / "coco_pope_random.json", "random")


def test_questions_without_a_label_are_none_of_the_authors(tmp_path):
    (tmp_path / "coco_pope_random.json").write_text('{"question_id": 1, "image": "a1.jpg"}')
    with pytest.raises(BuildError, match="line 1: expected question_id, image, text and label"):
        read_official(tmp_path / "coco_pope_random.json", "random")
    (tmp_path / "coco_pope_random.json").write_text("[]")
    with pytest.raises(BuildError, match="holds no question; expected POPE's questions"):
        read_official(tmp_path / "coco_pope_random.json", "random")


def test_a_config_is_built_without_the_others(upstream, tmp_path):
    out = builder.build(upstream / "pope" / "coco", out=tmp_path / "out", configs=["coco"])
    assert json.loads((out / "stats.json").read_text())["subset"], "scores are told that it is a part"


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
    with pytest.raises(ValueError, match=r"rows\[0\] has no question, or neither file_name nor image_id"):
        unique_questions([{"question": "Is there a dog in the image?"}])
    assert all(unique[place]["answer"] == row["answer"] for place, row in zip(index, rows, strict=True))
    assert [row["answer"] for row in rows if row["sampling"] == "random"] == REFERENCES


@pytest.mark.parametrize("config", ["coco", "aokvqa", "gqa"])
def test_published_questions_are_known_whatever_their_file_is_called(upstream, tmp_path, config):
    for sampling in SAMPLINGS:
        (file,) = (upstream / "pope" / config).glob(f"*_{sampling}.json")
        (tmp_path / "questions.json").write_bytes(file.read_bytes())
        read = read_official(tmp_path / "questions.json", "questions.json")
        assert {question.sampling for question in read} == {sampling}


def question(number: int, **more: Any) -> dict[str, Any]:
    row = {"question_id": number, "image": f"a_{number}.jpg", "label": "yes"}
    return row | {"text": f"Is there a thing {number} in the image?"} | more


@pytest.mark.parametrize(
    ("name", "sampling"),
    [
        ("my_popular.json", "popular"),
        ("MINE-Popular500.json", "popular"),
        ("random_popular_adversarial.json", ""),
        ("randomly_drawn.json", ""),
    ],
)
def test_a_sampling_that_the_name_of_a_file_tells(tmp_path, name, sampling):
    file = write_lines(tmp_path / name, [question(1), question(2)])
    assert {row.sampling for row in read_official(file, name)} == {sampling}


def test_responses_to_questions_without_a_sampling_that_contradict(tmp_path):
    file = write_lines(tmp_path / "mine.json", [question(number) for number in range(3)])
    said = [{"question": question(number)["text"], "response": "Yes"} for number in (2, 0, 1)]
    with pytest.raises(ValueError, match="Are these responses to another file") as refused:
        halluscope.score("pope", said, file)
    assert "The nearest is" not in str(refused.value)


def test_a_sampling_that_a_column_tells(tmp_path):
    for column in ("sampling", "category"):
        rows = [question(1, **{column: sampling}) for sampling in SAMPLINGS]
        read = read_official(write_lines(tmp_path / "mine.jsonl", rows), "mine.jsonl")
        assert [row.sampling for row in read] == [*SAMPLINGS]
    file = write_lines(tmp_path / "mine.jsonl", [question(1), question(1)])
    with pytest.raises(
        BuildError, match="or once in each sampling .random, .*, which a column `category` names"
    ):
        read_official(file, "mine.jsonl")


def test_another_version_that_says_whose_answers_and_which_form_it_has(upstream, tmp_path):
    """RePOPE's questions, of which those that it leaves out are still known; and a parallel form."""
    file = upstream / "repope" / "coco_repope_random.json"
    out = builder.build(file, out=tmp_path / "corrected")
    assert load([str(out)]) == load([str(file)])
    written = write_lines(tmp_path / "form.jsonl", [question(1, object="thing", form="mine")])
    out = builder.build(written, out=tmp_path / "form")
    assert [row.form for row in load([str(out)])] == ["mine"]


# Files with a built dataset's columns


def built_rows(**changes: Any) -> list[dict[str, Any]]:
    """Return rows with a built dataset's columns: two questions about each of two images, without file names."""
    built = []
    for number in range(4):
        about = {
            "question_id": number,
            "image_id": number // 2,
            "question": "Is there a dog?",
            "object": "dog",
        }
        built.append({**about, "answer": "no" if number % 2 else "yes", "sampling": "random"})
    built[2] |= changes
    return built


def test_images_without_file_names_are_counted(tmp_path):
    """Two images: the same question about both is two pairs."""
    file = write_lines(tmp_path / "mine.jsonl", built_rows())
    out = builder.build(file, out=tmp_path / "out")
    (counts,) = json.loads((out / "stats.json").read_text())["counts"]["configs"].values()
    assert (counts["images"], counts["pairs"]) == (2, 2)
    assert list(counts["irregular"]["random"]) == ["contradiction", "repetition"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampling": "Random"}, "sampling is 'Random'; expected one of 'random', 'popular', 'adversarial'"),
        ({"answer": None}, "answer is None; expected one of 'yes', 'no'"),
        ({"object": ""}, "object is ''; expected a text"),
    ],
)
def test_a_row_of_a_built_dataset_that_cannot_be_read(tmp_path, change, message):
    rows = built_rows(**change)
    with pytest.raises(BuildError, match=f"line 3: {message}"):
        read_official(write_lines(tmp_path / "mine.jsonl", rows), "mine.jsonl")
    with pytest.raises(ValueError, match=rf"references\[2\]: {message}"):
        read_all(rows)


@pytest.mark.parametrize("yes", ["Yes ", True, 1, 1.0])
def test_a_built_datasets_answers_may_be_truth_values(yes, tmp_path):
    rows = built_rows()
    no = "No" if isinstance(yes, str) else type(yes)(0)
    table = pd.DataFrame(rows).assign(answer=[yes, no, yes, no])
    table.to_parquet(tmp_path / "rows.parquet")
    result = halluscope.score("pope", dict.fromkeys("0123", "Yes"), tmp_path / "rows.parquet", bootstrap=0)
    assert result["accuracy"] == 0.5 and result["recall"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"configs": ["gqa"]},
            "configs is .*'gqa'.* only the official questions have configs; leave configs out",
        ),
        ({"seed": 3}, "seed is 3, but no new questions are made, .*--from-annotations; leave seed out"),
    ],
)
def test_an_option_of_other_questions_is_refused(tmp_path, options, message):
    with pytest.raises(WithoutEffect, match=message):
        builder.build(official(tmp_path) / "coco_pope_random.json", out=tmp_path / "out", **options)


# New questions


def annotations(images: int = 60, classes: int = 14) -> str:
    """A COCO file's content: images whose classes go together, some too poor in classes and some too rich."""
    rng = np.random.default_rng(7)
    present = [rng.random(classes) < 0.1 + 3 * rng.dirichlet(np.full(classes, 0.3)) for _ in range(images)]
    present[0][:] = True
    names = [f"class {number}" for number in range(classes)]
    objects = {}
    for image, row in enumerate(present):
        objects[image] = [names[place] for place in np.flatnonzero(row)]
    return small_datasets.coco_files(objects, classes=names)[0]


@pytest.fixture
def table(tmp_path) -> CocoTable:
    (tmp_path / "mine.json").write_text(annotations())
    return coco.read_annotations(tmp_path / "mine.json")


@pytest.mark.parametrize(("images", "objects", "seed"), [(20, 3, 0), (10, 4, 2), (1, 1, 3)])
def test_new_questions_obey_the_definitions(table, images, objects, seed):
    """By an independent count."""
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


def test_building_new_questions(table, tmp_path, capsys):
    options = ["--from-annotations", str(tmp_path / "mine.json"), "--out", str(tmp_path / "out")]
    assert cli.main(["build", "pope", *options, "--images-count", "10", "--objects", "2", "--seed", "3"]) == 0
    rows = load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "hf"))
    assert len(rows) == 10 * 4 * 3

    assert cli.main(["build", "pope", *options, "--force"]) == 2
    assert "500 images are asked for" in capsys.readouterr().err
    assert cli.main(["build", "pope", *options, "--force", "--source", str(tmp_path)]) == 2
    assert cli.main(["build", "pope", *options, "--force", "--objects", "0"]) == 2
    assert "objects is 0; expected at least 1" in capsys.readouterr().err


def test_a_category_that_is_in_no_image_is_told(table, tmp_path):
    """As exported files have one for the background, or for the whole project."""
    content = json.loads(annotations())
    content["categories"].append({"id": 99, "name": "background"})
    (tmp_path / "more.json").write_text(json.dumps(content))
    options = {"images_count": 5, "objects": 2}
    builder.build(out=tmp_path / "out", from_annotations=tmp_path / "mine.json", **options)
    with pytest.warns(UserWarning, match="more.json has 1 of its 15 categories in no image: 'background'"):
        builder.build(out=tmp_path / "more", from_annotations=tmp_path / "more.json", **options)


# The command


@pytest.fixture
def files(tmp_path):
    official(tmp_path)
    answers = []
    for sampling in SAMPLINGS:
        lines = (tmp_path / f"coco_pope_{sampling}.json").read_text().splitlines()
        for number, row in enumerate(map(json.loads, lines)):
            about = {"question_id": row["question_id"], "sampling": sampling, "image": row["image"]}
            answers.append(about | {"text": "Yes, there is." if number % 3 else "No"})
    write_lines(tmp_path / "mine.jsonl", reversed(answers))
    return tmp_path


def score(files, *options, responses="mine.jsonl", samplings=SAMPLINGS):
    questions = [str(files / f"coco_pope_{sampling}.json") for sampling in samplings]
    command = ["score", "pope", "--responses", str(files / responses), "--dataset", *questions, *options]
    return cli.main(command)


@pytest.mark.usefixtures("wide")
def test_a_table_for_people(files, capsys):
    assert score(files) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines if line.startswith("mine ")] == [*SAMPLINGS, "pooled"]
    assert score(files, "--sampling", "popular", "--json") == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["rows"] == result["rows/popular"] == 12
    assert score(files, "--parser", "all") == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if line.startswith("mine ") and "pooled" in line]
    assert [row[1] for row in rows] == [*RULES, "first-word"]
    signatures = [keys_of(line) for line in lines if line.startswith("  signature: pope|")]
    assert [keys["parser"] for keys in signatures] == [*RULES, "first-word"]
    assert score(files, "--sampling", "popular", "--parser", "all") == 0
    assert "Too few rows for intervals (fewer than 30): mine." in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("states", [{}, {"image": None, "text": "", "prompt": 1}, {"sampling": "random"}])
def test_ids_that_other_files_share_are_said_to_be_all_that_is_known(files, capsys, states):
    """Each file of POPE numbers its questions from 1: with ids alone, responses to COCO score on GQA too."""
    rows = [json.loads(row) for row in (files / "coco_pope_random.json").read_text().splitlines()]
    ids = [{"question_id": row["question_id"], "response": "Yes", **states} for row in rows]
    write_lines(files / "ids.jsonl", ids)
    assert score(files, responses="ids.jsonl", samplings=["random"]) == 0
    assert "ids: they state neither question nor image, and other files have" in capsys.readouterr().err
    for column, said in [("image", "image"), ("prompt", "text")]:
        told = [one | {column: row[said]} for one, row in zip(ids, rows, strict=True)]
        write_lines(files / "ids.jsonl", told)
        assert score(files, responses="ids.jsonl", samplings=["random"]) == 0
        assert "neither question nor image" not in capsys.readouterr().err
