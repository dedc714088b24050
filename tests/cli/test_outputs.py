"""A command never overwrites its input or an existing file, and writes its output completely or not at all."""

import json
import os

import pytest

from halluscope import cli, scoring

TEXTS = [{"image_id": 1, "caption": "A dog \ud800 sleeps."}, {"image_id": 2, "caption": "A cat."}]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Everything that a command line may name, and the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALLUSCOPE_STORE", str(tmp_path / "usual.sqlite"))
    (tmp_path / "mine.jsonl").write_text(json.dumps(TEXTS[0]))
    (tmp_path / "rest.jsonl").write_text(json.dumps(TEXTS[1]))
    (tmp_path / "labels.json").write_text(json.dumps({1: ["dog"], 2: ["cat"]}))
    (tmp_path / "votes.jsonl").write_text('{"text": "A cat.", "question": "A cat?", "answer": "yes"}')
    (tmp_path / "store.sqlite").write_text("not looked at yet")
    (tmp_path / "notes.txt").write_text("mine alone")
    (tmp_path / "soft").symlink_to("mine.jsonl")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    os.link(tmp_path / "rest.jsonl", tmp_path / "hard")
    return tmp_path


def score(*more):
    fixed = ["--dataset", "labels.json", "--bootstrap", "0", "--judges", "lexical"]
    if "--responses" not in more:
        fixed += ["--responses", "model=mine.jsonl,rest.jsonl"]
    return cli.main(["score", "throne", *fixed, *more])


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


TAKEN = ["mine.jsonl", "./rest.jsonl", "labels.json", "votes.jsonl", "store.sqlite", "soft", "hard", "round"]


@pytest.mark.parametrize("name", [*TAKEN, "dangling", "notes.txt", ".", "notes.txt/rows"])
def test_what_is_there_stays(folder, name, capsys, monkeypatch):
    """Refused before anything is scored."""
    monkeypatch.setattr("halluscope.scoring.prepare", lambda *_: pytest.fail("it was scored"))
    before = contents(folder)
    assert score("--judges", "replay:votes.jsonl", "--store", "store.sqlite", "--out", name) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and contents(folder) == before
    assert ("is there already" in said) is (name != "notes.txt/rows")


@pytest.mark.parametrize("name", ["new.sqlite", "./new.sqlite", "linked/new.sqlite", "usual.sqlite"])
def test_the_store_that_is_not_there_yet(folder, name, capsys):
    (folder / "linked").symlink_to(folder)
    assert score(*([] if name == "usual.sqlite" else ["--store", "new.sqlite"]), "--out", name) == 2
    assert "is also an input" in capsys.readouterr().err


def test_what_appears_meanwhile_stays(folder, monkeypatch, capsys):
    compute = scoring.compute

    def slow(*given):
        (folder / "run").write_text("of another process")
        return compute(*given)

    monkeypatch.setattr("halluscope.scoring.compute", slow)
    assert score("--out", "run") == 2
    assert "is there already" in capsys.readouterr().err
    assert (folder / "run").read_text() == "of another process"
