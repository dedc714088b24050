"""What the commands print as JSON for made files of responses, frozen (tests/frozen.py): files in, numbers out."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.frozen import listed, same
from tests.oracle import inputs
from tests.oracle.inputs import taken

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:The rule "),
]


def write(file: Path, rows: list[dict[str, Any]]) -> str:
    lines = [json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def dataset_of(benchmark: str, rows: list[dict[str, Any]], folder: Path) -> list[str]:
    """Write the dataset: POPE's questions as its authors' files, a file per sampling; others as they are built."""
    if benchmark != "pope":
        return [write(folder / "dataset.jsonl", rows)]
    files = []
    for sampling in ("random", "popular", "adversarial"):
        questions = []
        for row in rows:
            if row["sampling"] == sampling:
                image = f"COCO_val2014_{row['image_id']:012d}.jpg"
                text = f"Is there a {row['object']} in the image?"
                question = {
                    "question_id": row["question_id"],
                    "image": image,
                    "text": text,
                    "label": row["answer"],
                }
                questions.append(question)
        files.append(write(folder / f"coco_pope_{sampling}.json", questions))
    return files


def responses(rows: list[dict[str, Any]], key: str, texts: list[str]) -> list[dict[str, Any]]:
    made = []
    for row, text in zip(rows, texts, strict=True):
        made.append({key: row[key], "response": text})
    return made


def two_models(folder: Path, rows: list[dict[str, Any]], key: str, texts: tuple[str, ...]) -> list[str]:
    """Write the responses of two models, which say the same things of other rows."""
    files = []
    for name, step in (("first", 1), ("second", 3)):
        texts_of_model = taken(texts, len(rows), step)
        files.append(write(folder / f"{name}.jsonl", responses(rows, key, texts_of_model)))
    return files


BENCHMARKS: dict[str, tuple[Any, str, tuple[str, ...], list[str]]] = {
    "pope": (inputs.pope, "question_id", inputs.YES_NO_TEXTS, ["--parser", "all"]),
    "dash_b": (inputs.dash_b, "question_id", inputs.YES_NO_TEXTS, ["--parser", "all"]),
    "humblebench": (inputs.humblebench, "question_id", inputs.LETTER_TEXTS, ["--parser", "all"]),
    "hallusionbench": (inputs.hallusionbench, "question", inputs.YES_NO_TEXTS, ["--judge", "rules"]),
    "mmhal": (inputs.mmhal, "id", inputs.ANSWERS, []),
    "hqh": (inputs.hqh, "id", inputs.ANSWERS, ["--judge", "reference-only"]),
    "gavie": (inputs.gavie, "id", inputs.ANSWERS, []),
    "haloquest": (inputs.haloquest, "id", inputs.ANSWERS, []),
    "throne": (inputs.presence, "image_id", inputs.DESCRIPTIONS, ["--judges", "lexical", "--quiet"]),
}

# Benchmark -> the option that names files of verdicts, and the verdicts, which rows have in turn
VERDICTS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "mmhal": ("--ratings", ({"rating": 6}, {"rating": 0}, {"rating": 3}, {"rating": None})),
    "gavie": ("--ratings", ({"relevancy": 9, "accuracy": 4}, {"relevancy": 2, "accuracy": 10})),
    "haloquest": ("--ratings", ({"correct": True}, {"correct": False}, {"correct": None})),
}


def verdict_files(benchmark: str, rows: list[dict[str, Any]], files: list[str], folder: Path) -> list[str]:
    """Write a file of verdicts for each file of responses, and return the words of the command that name them."""
    if benchmark not in VERDICTS:
        return []
    option, verdicts = VERDICTS[benchmark]
    words = [option]
    for number, _ in enumerate(files, 1):
        judged = []
        for row, verdict in zip(rows, taken(verdicts, len(rows), number), strict=True):
            judged.append({"id": row["id"]} | verdict)
        words.append(write(folder / f"verdicts{number}.jsonl", judged))
    return words


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_score(benchmark, tmp_path, json_of):
    make, key, texts, options = BENCHMARKS[benchmark]
    rows = make()
    if benchmark == "hallusionbench":
        for row, text in zip(rows, taken(texts, len(rows)), strict=True):
            row["response"] = text
        files = [write(tmp_path / "first.jsonl", rows)]
        for row in rows:
            del row["response"]
    else:
        files = two_models(tmp_path, rows, key, texts)
    dataset = dataset_of(benchmark, rows, tmp_path)
    words = ["--responses", *files, "--dataset", *dataset, "--bootstrap", "100"]
    options = options + verdict_files(benchmark, rows, files, tmp_path)
    same(f"oracle_score_{benchmark}.json", listed(json_of("score", benchmark, *words, *options)))


@pytest.mark.parametrize("benchmark", ["pope", "dash_b", "throne"])
def test_compare(benchmark, tmp_path, ran, json_of):
    make, key, texts, options = BENCHMARKS[benchmark]
    rows = make()
    files = two_models(tmp_path, rows, key, texts)
    dataset = dataset_of(benchmark, rows, tmp_path)
    words = ["--responses", *files, "--dataset", *dataset, "--out", str(tmp_path / "runs")]
    others = [word for word in options if word not in ("--parser", "all")]
    ran("score", benchmark, *words, *others, "--bootstrap", "100")
    found = json_of("compare", str(tmp_path / "runs"), "--bootstrap", "200")
    same(f"oracle_compare_{benchmark}.json", listed(found))


@pytest.mark.parametrize("benchmark", ["pope", "dash_b", "humblebench", "hallusionbench", "amber"])
def test_explain(benchmark, tmp_path, json_of):
    if benchmark == "amber":
        rows = inputs.amber()
        describing = sum(row["task"] == "generative" for row in rows)
        texts = taken(inputs.DESCRIPTIONS, describing) + taken(inputs.YES_NO_TEXTS, len(rows) - describing)
        key = "id"
    else:
        make, key, words, _ = BENCHMARKS[benchmark]
        rows = make()
        texts = taken(words, len(rows))
    dataset = dataset_of(benchmark, rows, tmp_path)
    if benchmark == "hallusionbench":
        answered = []
        for row, text in zip(rows, texts, strict=True):
            answered.append(row | {"response": text})
    else:
        answered = responses(rows, key, texts)
    file = write(tmp_path / "model.jsonl", answered)
    found = json_of("explain", benchmark, "--responses", file, "--dataset", *dataset)
    protocols = []
    for protocol in found["protocols"]:
        protocols.append({"name": protocol["name"], "results": protocol.get("results")})
    same(f"oracle_explain_{benchmark}.json", listed(protocols))
