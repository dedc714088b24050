"""Times whole commands as a user types them, in processes of their own, with their peak memory, and how both grow.

The baseline of `halluscope score` on yes/no questions is a short script that reads the same two files with json and
pyarrow, joins them by id, and counts by POPE's rule. That of the descriptions is the plain search of bench_texts.py
over the same file. An import is compared with numpy's, after `import halluscope`.
"""

import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bench_texts import description
from halluscope import list_benchmarks
from halluscope.vocabularies import load
from timing import process, record, size

DESCRIPTIONS = 5_000
CLASSES = load("coco").classes
QUESTION = "Is there a {} in the image?"

PLAIN = """
import glob, json, sys
from pyarrow import parquet
(file,) = glob.glob(sys.argv[2], recursive=True)
table = parquet.read_table(file, columns=["question_id", "answer"])
right = dict(zip(table["question_id"].to_pylist(), table["answer"].to_pylist()))
counts = dict.fromkeys([(label, yes) for label in ("yes", "no") for yes in (True, False)], 0)
for line in open(sys.argv[1]):
    row = json.loads(line)
    words = row["text"].split(".")[0].replace(",", "").split(" ")
    counts[right[row["question_id"]], not ("No" in words or "not" in words or "no" in words)] += 1
true, false, missed = counts["yes", True], counts["no", True], counts["yes", False]
print((true + counts["no", False]) / sum(counts.values()), true / (true + false), true / (true + missed))
"""

SEARCH = r"""
import json, re, sys
from halluscope.vocabularies import load
coco = load("coco")
words = [[name, *coco.mentions[name]] for name in coco.classes]
patterns = [re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})s?\b", re.IGNORECASE) for names in words]
for line in open(sys.argv[1]):
    text = json.loads(line)["text"]
    [bool(pattern.search(text)) for pattern in patterns]
"""


def main() -> None:
    """Print times, peak memory and ratios."""
    is_full = size(1, 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in (10_000, 100_000, 1_000_000):
            if rows == 100_000 and not is_full:
                continue
            responses, dataset = questions(folder, rows)
            score_questions(f"score pope, {rows:,} rows", responses, dataset)
        if is_full:
            score_descriptions(folder)
    for word in ("--help", "list"):
        command = ["-m", "halluscope", word]
        ratio(word, command, ["-c", "import numpy"], "starting Python with numpy", 5)
    benchmarks = ["pope", "throne", "chair", "amber", "hallusionbench"]
    if is_full:
        benchmarks = list_benchmarks()
    for benchmark in benchmarks:
        command = ["-c", f"import halluscope, halluscope.benchmarks.{benchmark}.metric"]
        baseline = ["-c", "import halluscope, numpy"]
        ratio(f"import of the metric {benchmark}", command, baseline, "numpy's import", 5)


def score_questions(name: str, responses: str, dataset: str, benchmark: str = "pope") -> None:
    """Compare scoring yes/no questions with the plain script."""
    command = ["-m", "halluscope", "score", benchmark, "--responses", responses, "--dataset", dataset]
    files = dataset
    if Path(dataset).is_dir():
        files = f"{dataset}/**/questions/*.parquet"
    ratio(name, command, ["-c", PLAIN, responses, files], "a script that reads and counts")


def score_descriptions(folder: Path) -> None:
    """Compare scoring descriptions with a plain search."""
    responses, dataset = descriptions(folder)
    command = ["-m", "halluscope", "score", "throne", "--judges", "lexical"]
    command += ["--responses", responses, "--dataset", dataset]
    ratio(
        f"score throne, {DESCRIPTIONS:,} descriptions, lexical judge",
        command,
        ["-c", SEARCH, responses],
        "one regular expression per class and text",
    )


def ratio(
    name: str,
    command: Sequence[str],
    baseline: Sequence[str],
    about_baseline: str,
    rounds: int = 3,
) -> None:
    """Run two Python processes in turn, and record the ratio of their best times, and the peak memory of the first."""
    our_runs = []
    baseline_runs = []
    for _ in range(rounds):
        our_runs.append(process(command))
        baseline_runs.append(process(baseline))
    record(
        name,
        min(run.seconds for run in our_runs),
        min(run.seconds for run in baseline_runs),
        about_baseline,
        max(run.memory for run in our_runs),
    )


def questions(folder: Path, rows: int) -> tuple[str, str]:
    """Write responses and a dataset of yes/no questions; return their paths."""
    rng = np.random.default_rng(0)
    names = [CLASSES[row % len(CLASSES)] for row in range(rows)]
    texts = [QUESTION.format(name) for name in names]
    table = {
        "question_id": list(range(rows)),
        "image_id": [row // len(CLASSES) for row in range(rows)],
        "object": names,
        "question": texts,
        "answer": list(np.where(rng.random(rows) < 0.5, "yes", "no")),
    }
    dataset = folder / f"{rows}.parquet"
    parquet.write_table(pa.table(table), dataset)
    responses = folder / f"{rows}.jsonl"
    says_yes = rng.random(rows) < 0.5
    with responses.open("w") as file:
        for row in range(rows):
            answer = "No, there is no"
            if says_yes[row]:
                answer = "Yes, there is a"
            text = f"{answer} {names[row]} in image {row}."
            line = {"question_id": row, "question": texts[row], "text": text}
            file.write(json.dumps(line) + "\n")
    return str(responses), str(dataset)


def descriptions(folder: Path) -> tuple[str, str]:
    """Write descriptions and a dataset of objects; return their paths."""
    rng = random.Random(0)
    dataset = folder / "images.parquet"
    objects = [rng.sample(CLASSES, 4) for _ in range(DESCRIPTIONS)]
    table = {"image_id": list(range(DESCRIPTIONS)), "objects": objects}
    parquet.write_table(pa.table(table), dataset)
    responses = folder / "descriptions.jsonl"
    with responses.open("w") as file:
        for row in range(DESCRIPTIONS):
            file.write(json.dumps({"image_id": row, "text": description(rng)}) + "\n")
    return str(responses), str(dataset)


if __name__ == "__main__":
    main()
