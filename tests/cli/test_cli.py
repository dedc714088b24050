"""The command line, as a user types it."""

import json
import re

import pytest

from halluscope import cli, scoring
from halluscope.building import spec
from halluscope.reporting.result_files import read_results

TEXTS = {1: "A dog sleeps on a couch.", 2: "There is no dog. A cat sits on a chair.", 3: ""}
LABELS = {1: ["dog", "couch"], 2: ["cat"], 3: ["person"], 4: ["bus"]}


@pytest.fixture
def files(tmp_path):
    rows = [json.dumps({"image_id": key, "caption": text}) for key, text in TEXTS.items()]
    (tmp_path / "mine.jsonl").write_text("\n".join(rows))
    (tmp_path / "other.jsonl").write_text("\n".join(rows[:2]))
    (tmp_path / "labels.json").write_text(json.dumps(LABELS))
    return tmp_path


@pytest.fixture
def score(files, capsys):
    """Score by the lexical judge, unless another is named; return what is printed."""

    def run(*options, responses=("mine.jsonl",), ends=0):
        judge = [] if "--judges" in options else ["--judges", "lexical"]
        paths = [str(files / name) for name in responses]
        command = ["score", "throne", "--responses", *paths, "--dataset", str(files / "labels.json")]
        capsys.readouterr()
        assert cli.main([*command, *judge, *options]) == ends
        return capsys.readouterr()

    return run


def test_json_for_machines(files, score):
    """Predicted: dog, couch; cat, chair. Present: dog, couch, cat, person. Hits: three."""
    out, err = score("--json", "--per-class", "--out", str(files / "run"))
    (result,) = json.loads(out)
    assert result["responses"] == "mine"
    assert result["precision_all"] == result["recall_all"] == 0.75
    assert (result["matched"], result["part"], result["thoughts"]) == ("image_id", [3, 4], 0)
    assert result["classes"]["chair"]["precision"] == 0.0
    assert result["classes"]["zebra"]["precision"] is None
    assert "3 of 4 labelled images are scored" in err
    image = json.loads((files / "run" / "items.jsonl").read_text().splitlines()[1])
    assert image.items() >= {"image_id": 2, "found": ["cat"], "hallucinated": ["chair"], "missed": []}.items()


def test_a_table_for_people(score):
    out, _ = score("--per-class", responses=("other.jsonl", "mine.jsonl"))
    assert "75.0" in out and "zebra" in out
    assert {"precision_all", "f0.5_all", "recall_cls", "f0.5_cls"} <= {*out.split()}
    tables = [line for line in out.splitlines() if "signature" not in line and not line.endswith(".")]
    assert all(len(line) <= 80 for line in tables)
    about = re.findall(r"signature: throne\|data:coco-(\d)-[0-9a-f]{8}\|responses:id\|", out)
    assert about == ["2", "3"]
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("other", "mine"))]
    assert rows[:2] == ["other", "mine"]  # the better first
    out, _ = score("--beta", "2", "--published", "--bootstrap", "0")
    assert {"f2_all", "f2_cls"} <= {*out.split()}


def test_bad_input_is_one_line_and_a_status(files, score):
    (files / "labels.json").write_text(json.dumps({"1": ["dgo"]}))
    out, err = score("--limit", "1", ends=2)
    assert out == ""
    assert err.startswith("halluscope: references[0] names 'dgo'") and err.count("\n") == 1


def test_published_rows_stand_apart(files, score, monkeypatch):
    """On 5,000 images of a file that has the sha256 of COCO's."""
    (files / "labels.json").write_text(json.dumps({key: ["dog"] for key in range(5000)}))
    rows = [json.dumps({"image_id": number, "caption": "A dog."}) for number in range(5000)]
    (files / "mine.jsonl").write_text("\n".join(rows))
    options = ["--published", "--bootstrap", "0", "--quiet"]
    out = score(*options).out
    assert "another content than the published one" in out and "LLaVA-Mistral" not in out
    published = spec.load("throne_coco").sources["annotations"].member_sha256
    monkeypatch.setattr(scoring, "sha256_of", lambda path: published)
    mine, papers = score(*options).out.split("as printed, where judge, prompt and images may differ: ")
    assert re.search(r"^rows +5000$", mine, re.M) and "LLaVA-Mistral" not in mine
    assert re.search(r"^LLaVA-Mistral \[FLAN-T5, class_f mean\] ", papers, re.M)
    assert re.search(r"^  here judged by lexical-\d-[0-9a-f]{8}, questions: paper$", papers, re.M)
    out = score(*options, "--json").out
    found = [result.get("published", "")[:11] for result in json.loads(out)]
    assert found == ["", *["Kaul et al."] * 11]
    (files / "both.json").write_text(out)
    assert list(read_results(files / "both.json")) == ["mine"]
