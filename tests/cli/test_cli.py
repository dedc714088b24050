"""The command line, as a user types it."""

import json
import re

import pytest

from halluscope import cli, registry, scoring
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


def score(files, *options, responses=("mine.jsonl",)):
    paths = [str(files / name) for name in responses]
    command = ["score", "throne", "--responses", *paths, "--dataset", str(files / "labels.json"), *options]
    return cli.main(command)


def test_json_for_machines(files, capsys):
    """Predicted: dog, couch; cat, chair. Present: dog, couch, cat, person. Hits: three."""
    assert score(files, "--judges", "lexical", "--json", "--per-class", "--out", str(files / "run")) == 0
    out, err = capsys.readouterr()
    (result,) = json.loads(out)
    assert result["responses"] == "mine"
    assert result["precision_all"] == result["recall_all"] == 0.75
    assert (result["matched"], result["part"], result["thoughts"]) == ("image_id", [3, 4], 0)
    assert result["classes"]["chair"]["precision"] == 0.0
    assert result["classes"]["zebra"]["precision"] is None
    assert "3 of 4 labelled images are scored" in err
    images = [json.loads(line) for line in (files / "run" / "items.jsonl").read_text().splitlines()]
    assert (
        images[1].items()
        >= {
            "image_id": 2,
            "found": ["cat"],
            "hallucinated": ["chair"],
            "missed": [],
        }.items()
    )


def test_a_table_for_people(files, capsys):
    assert score(files, "--judges", "lexical", "--per-class", responses=("other.jsonl", "mine.jsonl")) == 0
    out = capsys.readouterr().out
    assert "75.0" in out and "zebra" in out
    assert {"precision_all", "f0.5_all", "recall_cls", "f0.5_cls"} <= {*out.split()}
    assert all(len(line) <= 80 for line in out.splitlines() if "signature" not in line)
    about = re.findall(r"signature: throne\|data:coco-(\d)-[0-9a-f]{8}\|responses:id\|", out)
    assert about == ["2", "3"]
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("other", "mine"))]
    assert rows[:2] == ["other", "mine"]  # the better first


def test_replayed_answers(files, capsys):
    from halluscope.benchmarks.throne.metric import PAPER
    from halluscope.vocabularies import load

    question = PAPER.about(load("coco"))[0]
    with (files / "answers.jsonl").open("w") as file:
        for text in TEXTS.values():
            for about in question:
                answer = "yes" if about.object in text else "no"
                file.write(json.dumps({"text": text, "question": about.text, "answer": answer}) + "\n")
    template = "Is there {a/an} {x} in this image?"
    assert (
        score(files, "--judges", f"replay:{files / 'answers.jsonl'}", "--questions", template, "--json") == 0
    )
    (result,) = json.loads(capsys.readouterr().out)
    assert result["precision_all"] == 0.6  # dog, couch; dog, cat, chair
    assert "judges:replay-" in result["signature"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 200_000, "is not JSON, or is cut off: maximum recursion depth"),
        ('{"text": "a", "question": "b"}', "line 1: expected a JSON object with text, question and answer"),
        ('{"text": "a", "question": "b", "answer": 1}', "all of them texts; got {"),
        (
            '{"text": "a", "question": "b", "answer": "c"}\n{"text": "a", "question": "b", "answer": "d"}',
            "line 2: an earlier line has another answer to the same question, 'b'",
        ),
        (
            '{"text": "a", "question": "b", "answer": "c", "answer": "d"}',
            "'answer' occurs twice in one object",
        ),
    ],
)
def test_bad_replayed_answers(text, message, files, capsys):
    (files / "answers.jsonl").write_text(text)
    assert score(files, "--judges", f"replay:{files / 'answers.jsonl'}") == 2
    assert message in capsys.readouterr().err


def test_bad_input_is_one_line_and_a_status(files, capsys):
    (files / "labels.json").write_text(json.dumps({"1": ["dgo"]}))
    assert score(files, "--judges", "lexical", "--limit", "1") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("halluscope: references[0] names 'dgo'") and err.count("\n") == 1
    assert cli.main(["build", "nothing"]) == 2
    err = capsys.readouterr().err
    known = ", ".join(dataset.name for dataset in registry.datasets())
    assert err == f"halluscope: There is no dataset 'nothing'. The known ones are {known}.\n"


@pytest.mark.parametrize("name", [one.name for one in registry.benchmarks() if one.judges])
def test_info_names_who_may_judge(name, capsys):
    """Where the message about a judge that is unknown sends its reader."""
    judges = registry.benchmark(name).judges
    assert cli.main(["info", name]) == 0
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if line.startswith(("  judge: ", "  judges: ")))
    assert all(re.search(rf"\b{rule}\b", line) for rule in (judges.default, *judges.rules))


def test_what_would_be_dropped_is_an_error(files, capsys):
    assert score(files, "--judges", "lexical", "--questions", "paper", "released") == 2
    assert "questions[0] is 'paper'; expected a template" in capsys.readouterr().err
    assert score(files, "--judges", "lexical", "--limit", "0") == 2
    assert "The limit is 0" in capsys.readouterr().err


def test_another_beta_is_shown(files, capsys):
    assert score(files, "--judges", "lexical", "--beta", "2", "--published", "--bootstrap", "0") == 0
    out = capsys.readouterr().out
    assert {"f2_all", "f2_cls"} <= {*out.split()}


def test_published_rows_stand_apart(tmp_path, capsys):
    """On 5,000 images of a file that has the sha256 of COCO's."""
    labels = {str(number): ["dog"] for number in range(5000)}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    rows = [json.dumps({"image_id": number, "caption": "A dog."}) for number in range(5000)]
    (tmp_path / "mine.jsonl").write_text("\n".join(rows))
    options = ["--judges", "lexical", "--published", "--bootstrap", "0", "--quiet"]
    assert score(tmp_path, *options) == 0
    out = capsys.readouterr().out
    assert "another content than the published one" in out and "LLaVA-Mistral" not in out
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            scoring, "sha256_of", lambda path: spec.load("throne_coco").sources["annotations"].member_sha256
        )
        assert score(tmp_path, *options) == 0
        mine, papers = capsys.readouterr().out.split(
            "as printed, where judge, prompt and images may differ: "
        )
        assert re.search(r"^mine +5000 ", mine, re.M) and "LLaVA-Mistral" not in mine
        assert re.search(r"^LLaVA-Mistral \[FLAN-T5, class_f mean\] ", papers, re.M)
        assert re.search(r"^  here judged by lexical-\d-[0-9a-f]{8}, questions: paper$", papers, re.M)
        assert score(tmp_path, *options, "--json") == 0
    out = capsys.readouterr().out
    results = json.loads(out)
    assert [result.get("published", "")[:11] for result in results] == ["", *["Kaul et al."] * 11]
    (tmp_path / "both.json").write_text(out)
    assert list(read_results(tmp_path / "both.json")) == ["mine"]


def test_replies_that_contradict_each_other(files, capsys):
    rows = [{"text": "A dog.", "question": "dog?", "answer": answer} for answer in ("yes", "no")]
    (files / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert score(files, "--judges", f"replay:{files / 'answers.jsonl'}") == 2
    assert "line 2" in capsys.readouterr().err
