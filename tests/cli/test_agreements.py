"""`score --agreement K K ...`: one row per number of agreeing votes, from votes that are collected once."""

import json
import re
from pathlib import Path

import pytest

from halluscope import cli
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.signature import keys_of
from halluscope.vocabularies import load
from tests.small_datasets import needs

pytestmark = needs("throne")
CLASSES = 80


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for model, texts in {"a": ("dog", "cat"), "b": ("cat", "cat"), "c": ("bus", "dog")}.items():
        rows = [{"image_id": i, "response": f"A {text} ({model})."} for i, text in enumerate(texts, 1)]
        (tmp_path / f"{model}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "labels.json").write_text(json.dumps({1: ["dog"], 2: ["cat"]}))
    return tmp_path


def agreeing(files: Path, *words: str, models: str = "abc") -> list[str]:
    responses = [str(files / f"{model}.jsonl") for model in models]
    dataset = str(files / "labels.json")
    return ["score", "throne", "--responses", *responses, "--dataset", dataset, "--quiet", *words]


def replay(files: Path) -> str:
    """Votes of one judge: three times yes where the text names the class; one yes of three for each text and "bus"."""
    votes = [
        {"text": text, "question": about.text, "answer": "yes" if yes else "no"}
        for model in "abc"
        for text in (json.loads(line)["response"] for line in (files / f"{model}.jsonl").open())
        for number, row in enumerate(PAPER.about(load("coco")))
        for about in row
        for yes in [f" {about.object} " in text or (about.object == "bus" and number == 0)]
    ]
    (files / "votes.jsonl").write_text("\n".join(map(json.dumps, votes)))
    return f"replay:{files / 'votes.jsonl'}"


def test_a_row_for_each_agreement(files, capsys):
    """Of the two votes against one about "bus", a majority makes a no and unanimity nothing: 2 of 160 cells, 1 of them
    for model c, whose first text names a bus: three times yes.
    """
    assert cli.main(agreeing(files, "--judges", replay(files), "--agreement", "3", "2", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    cell = 1 / (2 * CLASSES)
    ignored = {(row["responses"], row["agreement"]): row["ignored"] for row in found["results"]}
    assert ignored == {("a", 3): 2 * cell, ("b", 3): 2 * cell, ("c", 3): cell} | {(m, 2): 0.0 for m in "abc"}
    precision = {row["responses"]: row["precision_all"] for row in found["results"] if row["agreement"] == 2}
    assert precision == {"a": 1.0, "b": 0.5, "c": 0.0}
    signed = [keys_of(row["signature"])["agreement"] for row in found["results"]]
    assert signed == ["3of3", "2of3"] * 3
    (alike,) = [one for one in found["correlations"] if one["score"] == "precision_all"]
    assert alike["agreements"] == [3, 2] and alike["pearson"] == pytest.approx(1)


def test_what_people_are_shown_and_what_is_refused(files, ran, refused):
    words = agreeing(files, "--judges", replay(files), "--agreement", "3", "2")
    assert re.search(r"3 and 2 +precision_all +1\.000", ran(*words).out)
    alone = agreeing(files, "--judges", replay(files), "--agreement", "3", "2", models="a")
    assert "There are 1 files of responses; a correlation" in ran(*alone).out
    assert "agreement:2of3" in ran(*agreeing(files, "--judges", replay(files), "--agreement", "2")).out
    assert "--agreement names 3 twice" in refused(*words, "3")


def test_a_plan_of_several_agreements_is_of_all_votes_that_they_need(files, json_of):
    words = agreeing(files, "--judges", replay(files), "--plan", models="a")
    (needed,) = json_of(*words)["judges"]
    (asked,) = json_of(*words, "--agreement", "1", "3")["judges"]
    assert asked["questions"] == 3 * 2 * CLASSES > needed["questions"]


def test_a_run_is_of_one_agreement(files, refused):
    words = agreeing(files, "--judges", replay(files), "--agreement", "3", "2")
    assert "--out is for one number of votes" in refused(*words, "--out", files / "run")
