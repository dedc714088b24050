"""HaloQuest: dataset, metric, judge and command, on small rows made here, and on the real rows if available."""

import csv
import math
from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st

from halluscope.benchmarks.haloquest import metric as haloquest
from halluscope.benchmarks.haloquest.data import QUESTIONS
from halluscope.benchmarks.haloquest.reading import PROMPTS
from halluscope.errors import BuildError
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")
ROOT = Path(__file__).parents[2]

HEADER = (
    *("", "image_name", "url", "image type", "hallucination type"),
    *("question", "groundtruth responses", "split"),
)

# Image, its type, type of the question, question, right answers; two images have two questions.
ASKED = (
    ("a.png", "generated", "false premises", "What colour is the dog?", "There is no dog; No dog;"),
    ("a.png", "generated", "visual challenge", "How many cups are there?", "Six\n; There are  six cups"),
    ("b c (1).png", "generated", "insufficient context", "What is in the bag?", "It is closed"),
    ("d.jpg", "real", "false premises", "Is the cat asleep, or awake?", "There is no cat"),
    ("d.jpg", "real", "false premises", "Who wears the hat?", 'No one; "Nobody" wears a hat; nobody'),
    ("e.jpg", "real", "insufficient context", "What time is it?", "That is not to be seen"),
)


def upstream_rows():
    """Return rows in the format of haloquest-eval.csv."""
    return [
        dict(zip(HEADER, (str(n), image, f"https://example.org/{image}", *more, "eval"), strict=True))
        for n, (image, *more) in enumerate(ASKED)
    ]


def rows():
    return [question.row for question in QUESTIONS.read_all(upstream_rows())]


def judged(*verdicts):
    return [{"correct": verdict} for verdict in verdicts]


VERDICTS = (True, False, None, False, True, True)
"""Of the six questions: one is not judged."""


@pytest.fixture
def files(tmp_path):
    """haloquest-eval.csv."""
    with (tmp_path / "haloquest-eval.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, HEADER)
        table.writeheader()
        table.writerows(upstream_rows())
    return tmp_path


# Accuracies


def test_accuracies_worked_by_hand():
    got = haloquest.compute(predictions=[""] * 6, references=rows(), ratings=judged(*VERDICTS))
    expected = {
        "accuracy": 3 / 5,
        "accuracy/generated": 1 / 2,
        "accuracy/real": 2 / 3,
        "accuracy/false_premises": 2 / 3,
        "accuracy/visual_challenge": 0.0,
        "accuracy/insufficient_context": 1.0,
        "accuracy/generated/false_premises": 1.0,
        "accuracy/real/false_premises": 1 / 2,
        "unreadable": 1 / 6,
    }
    assert {name: got[name] for name in expected} == pytest.approx(expected)
    assert math.isnan(got["accuracy/generated/insufficient_context"])  # the one that nobody could judge
    assert math.isnan(got["accuracy/real/visual_challenge"])  # there is none
    assert got["counts"]["all"] == {"judged": 5, "correct": 3}
    assert got["counts"]["real"] == {"judged": 3, "correct": 2}
    assert got["counts"]["real/visual_challenge"] == {"judged": 0, "correct": None}
    assert (got["questions"], got["images"]) == (6, 4)


@given(st.lists(st.sampled_from((True, False, None)), min_size=6, max_size=6))
def test_any_verdicts_against_a_plain_loop(verdicts):
    got = haloquest.compute([""] * 6, rows(), ratings=verdicts)
    judged_by_part = defaultdict(list)
    for verdict, row in zip(verdicts, rows(), strict=True):
        if verdict is not None:
            kind = row["type"].replace(" ", "_")
            for part in ("", f"/{row['image_type']}", f"/{kind}", f"/{row['image_type']}/{kind}"):
                judged_by_part[part].append(verdict)
    for part, judged_right in judged_by_part.items():
        assert got[f"accuracy{part}"] == pytest.approx(sum(judged_right) / len(judged_right))
    if not judged_by_part:
        assert math.isnan(got["accuracy"])


# Language models


def test_the_authors_instructions_are_theirs():
    """The digest is of the notebook's text, at commit 2a9be34, white space apart."""
    ours, _, _ = PROMPTS["authors"].template.rpartition("\n\n")
    for mine, theirs in (
        ("question", "question"),
        ("response", "model_response"),
        ("answers", "groundtruth_response"),
    ):
        ours = ours.replace(f"={{{mine}}}", f"={{{{{theirs}}}}}")
    assert sha256(" ".join(ours.split()).encode()).hexdigest().startswith("23757b79fa866b99")


# The dataset


builder = small_datasets.builder("haloquest")


def build(files, **options):
    return builder.build(files / "haloquest-eval.csv", out=files / "out", subset=True, **options)


def test_right_answers_are_divided_by_semicolons(files):
    dataset = load_dataset(str(build(files)), split="test", cache_dir=str(files / "hf"))
    assert dataset[0]["answers"] == ["There is no dog", "No dog"]  # nothing after the last semicolon
    assert dataset[1]["answers"] == ["Six", "There are six cups"]  # white space is one blank
    assert dataset[0]["stated"] == "There is no dog; No dog;", "as the authors' file has them"
    assert dataset[3]["question"] == "Is the cat asleep, or awake?"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", "holds no row"),
        (lambda text: text.replace("real,", "painted,"), "row 4: image type is 'painted'"),
        (lambda text: text.replace("\n5,", "\n4,"), "row 6 has the id 4, which .*row 5 has too"),
        (lambda text: text.replace("It is closed", " ; "), r"row 3: groundtruth responses is \[\]"),
        (lambda text: text.replace(",image_name,", ",image,"), "row 1 has no 'image_name'; expected"),
        (lambda text: text.replace("\n2,", "\n../2,"), r"row 3: id is '\.\./2'"),
    ],
)
def test_bad_files(files, change, message):
    source = files / "haloquest-eval.csv"
    source.write_bytes(change(source.read_bytes().decode()).encode())
    with pytest.raises(BuildError, match=message):
        build(files)
