"""Results on real texts, of commands, and kept votes equal frozen ones; tests/oracle has those of each benchmark."""

import json
import sqlite3
from collections import Counter
from pathlib import Path

import evaluate
import pytest

import halluscope
from halluscope import cli
from halluscope.benchmarks.pope.rows import SAMPLINGS
from tests import small_datasets
from tests.frozen import FOLDER, listed, same

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"


@pytest.mark.filterwarnings("ignore:.* is a part, another version")
def test_repope_as_explain_has_it(tmp_path, capsys):
    """Of each sampling's six questions, RePOPE corrects the first and leaves out the last."""
    corrected = small_datasets.build("repope", tmp_path)
    dataset = small_datasets.build("pope", tmp_path)
    texts = ("NO", "No.", "A table", "Nothing like it", "Yes", "No. Yes")
    rows = [
        {"question_id": n, "sampling": sampling, "response": text}
        for sampling in SAMPLINGS
        for n, text in enumerate(texts)
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["--responses", str(tmp_path / "m.jsonl"), "--dataset", f"{dataset}:coco"]
    assert cli.main(["explain", "pope", *words, "--corrected", str(corrected), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["protocols"]
    same("repope.json", listed({one["name"]: one["results"] for one in found if "RePOPE" in one["labels"]}))


@pytest.mark.filterwarnings("ignore:.* questions are scored")
def test_hallusionbench_on_real_rows(upstream):
    rows = json.loads((upstream / "hallusionbench" / "HallusionBench.json").read_text())
    metric = evaluate.load(str(ROOT / "metrics" / "hallusionbench"))
    results = []
    for case in json.loads((GOLDEN / "hallusionbench_official.json").read_text())["cases"]:
        verdicts = {name: [int(digit) for digit in case[name]] for name in ("correctness", "same")}
        results.append(
            metric.compute(predictions=[""] * len(rows), references=rows, bootstrap=100, **verdicts)
        )
    same("hallusionbench_real.json", listed(results))


def test_hqm():
    metric = evaluate.load(str(ROOT / "metrics" / "hqm"))
    first, second = [0.62, 0.71, 0.55, 0.80, 0.67], [0.60, 0.74, 0.52, 0.79, 0.70]
    same("hqm.json", listed(metric.compute(predictions=first, references=second, indicator="criterion")))


def test_the_demo(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo"]) == 0
    same("demo.txt", capsys.readouterr().out)


@pytest.mark.long
def test_a_real_table(capsys, upstream):
    labels = upstream / "chair" / "coco2014_chair_objects.json.gz"
    files = sorted(map(str, (upstream / "responses").glob("pope_instruction1_*.jsonl")))
    words = ["--dataset", str(labels), "--responses", *files, "--bootstrap", "200", "--all"]
    assert cli.main(["score", "throne", *words, "--judges", "lexical", "--quiet"]) == 0
    assert cli.main(["score", "chair", *words, "--synonyms", str(upstream / "chair" / "synonyms.txt")]) == 0
    same("real.txt", capsys.readouterr().out)


def test_compared_classes(capsys, tmp_path, upstream):
    labels = upstream / "chair" / "coco2014_chair_objects.json.gz"
    files = [str(upstream / "responses" / f"opera_{name}_greedy.jsonl") for name in ("llava-1.5", "minigpt4")]
    words = ["--dataset", str(labels), "--responses", *files, "--bootstrap", "0", "--quiet"]
    assert cli.main(["score", "throne", *words, "--judges", "lexical", "--out", str(tmp_path / "runs")]) == 0
    capsys.readouterr()
    assert cli.main(["compare", str(tmp_path / "runs"), "--bootstrap", "1000", "--json"]) == 0
    lines = [json.dumps(one) for one in json.loads(capsys.readouterr().out)["classes"]]
    same("classes.jsonl", "\n".join(lines) + "\n")


def nouns_of(texts: list[str]) -> dict:
    """How often each of AMBER's words is mentioned in texts, and how often OpenCHAIR finds each noun."""
    amber, openchair = (evaluate.load(str(ROOT / "metrics" / name)) for name in ("amber", "openchair"))
    row = {"prompt": "-", "task": "generative", "dimension": "generation", "answer": None}
    rows = [
        row | {"id": at, "file_name": f"{at}.jpg", "truth": ["dog"], "hallu": ["cat"]}
        for at in range(1, len(texts) + 1)
    ]
    described = amber.compute(predictions=texts, references=rows, per_row=True)["per_row"]
    captioned = openchair.compute(
        predictions=texts, references=["-"] * len(texts), judges="lexical", per_image=True
    )["per_image"]
    found = {
        "amber": Counter(word for one in described for word in one["mentions"]),
        "openchair": Counter(word for one in captioned for word in one["nouns"]),
    }
    return {name: dict(sorted(words.items())) for name, words in found.items()}


UNDECIDED = [
    "A dog can be seen next to a can of soda, and you can see two cans of cola.",
    "They watch a man who skis; a woman wearing a watch watches them ski down, and likes to ski.",
    "A hot dog on a hot plate, a glass table with a glass on it, and the light is light.",
    "People ride their bikes, ring the bell and park in the park, while others stand by a stand.",
]
"""Words that may be nouns or something else."""


def test_nouns():
    texts = [row["text"] for row in json.loads((GOLDEN / "spacy_nouns.json").read_text())["sentences"]]
    texts += [json.loads(line)["response"] for line in _demo_rows()]
    same("nouns.json", listed({"each": [*map(nouns_of, map(list, zip(UNDECIDED)))], "all": nouns_of(texts)}))


def test_nouns_of_real_texts(upstream):
    """The descriptions of which the AMBER script printed its scores, and the first 200 of five models."""
    wild = upstream / "wild" / "Haoming2000__VLM-Benchmarks" / "AMBER-master__results__llava-v1.5-7b.jsonl"
    dataset = [str(upstream / "amber" / name) for name in ("annotations.json", "query/query_all.json")]
    scores = halluscope.score("amber", str(wild), dataset)
    found = {"scores": {name: scores[name] for name in ("chair", "cover", "hal", "cog")}}
    for file in sorted((upstream / "responses").glob("pope_instruction1_*.jsonl")):
        texts = [json.loads(line)["caption"] for line in file.read_text(encoding="utf-8").splitlines()]
        found[file.stem] = nouns_of(texts[:200])["amber"]
    same("nouns_real.json", listed(found))


def test_kept_votes_are_found_again(tmp_path, tiny_t5, one_thread, monkeypatch):
    from halluscope.judging.models.language_model import LanguageModelJudge

    store = tmp_path / "kept.sqlite"
    with sqlite3.connect(store) as database:
        database.executescript((FOLDER / "votes.sql").read_text(encoding="utf-8"))
    monkeypatch.setattr(
        LanguageModelJudge, "load", lambda self: pytest.fail("a kept vote was asked for again")
    )
    texts = [json.loads(line) for line in _demo_rows()][:2]
    metric = evaluate.load(str(ROOT / "metrics" / "throne"))
    result = metric.compute(
        predictions=[row["response"] for row in texts],
        references=[row["objects"] for row in texts],
        judges=[str(tiny_t5)],
        ask="all",
        questions=["Is there {a/an} {x} in this image?"],
        store=str(store),
        progress=False,
    )
    assert result["images"] == 2


def _demo_rows() -> list[str]:
    (file,) = (ROOT / "src" / "halluscope").rglob("descriptions.jsonl")
    return file.read_text(encoding="utf-8").splitlines()
