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
        for rows in (10_000, 100_000, 1_000_000) if is_full else (10_000, 1_000_000):
            score_questions(
                f"score pope, {rows:,} rows", *questions(folder, rows), 3 if rows < 1_000_000 else 1
            )
        if is_full:
            responses, dataset = descriptions(folder)
            command = [
                "score",
                "throne",
                "--responses",
                responses,
                "--dataset",
                dataset,
                "--judges",
                "lexical",
            ]
            baseline = ["-c", SEARCH, responses]
            what = "one regular expression per class and text"
            ratio(f"score throne, {DESCRIPTIONS:,} descriptions, lexical judge", command, baseline, what)
    for words in ("--help", "list"):
        ratio(words, [words], ["-c", "import numpy"], "starting Python with numpy", 5)
    for benchmark in list_benchmarks() if is_full else ("pope", "throne", "chair", "amber", "hallusionbench"):
        metric = ["-c", f"import halluscope, halluscope.benchmarks.{benchmark}.metric"]
        bare = ["-c", "import halluscope, numpy"]
        ratio(f"import of the metric {benchmark}", metric, bare, "numpy's import", 5, is_command=False)


def score_questions(
    name: str, responses: str, dataset: str, rounds: int = 3, benchmark: str = "pope"
) -> None:
    """Compare scoring yes/no questions with the plain script."""
    command = ["score", benchmark, "--responses", responses, "--dataset", dataset]
    files = f"{dataset}/**/questions/*.parquet" if Path(dataset).is_dir() else dataset
    ratio(name, command, ["-c", PLAIN, responses, files], "a script that reads and counts", rounds)


def ratio(
    name: str,
    command: Sequence[str],
    baseline: Sequence[str],
    what: str,
    rounds: int = 3,
    is_command: bool = True,
) -> None:
    """Run two Python processes in turn, and record the ratio of their best times, and the peak memory of the first."""
    command = ["-m", "halluscope", *command] if is_command else command
    pairs = [(process(command), process(baseline)) for _ in range(rounds)]
    mine, theirs = (min(took for took, _ in times) for times in zip(*pairs, strict=True))
    record(name, mine, theirs, what, max(memory for (_, memory), _ in pairs))


def questions(folder: Path, rows: int) -> tuple[str, str]:
    """Write responses and a dataset of yes/no questions; return their paths."""
    rng = np.random.default_rng(0)
    names = [CLASSES[row % len(CLASSES)] for row in range(rows)]
    table = {
        "question_id": range(rows),
        "image_id": [row // len(CLASSES) for row in range(rows)],
        "object": names,
        "question": [QUESTION.format(name) for name in names],
        "answer": np.where(rng.random(rows) < 0.5, "yes", "no"),
    }
    dataset, responses = folder / f"{rows}.parquet", folder / f"{rows}.jsonl"
    parquet.write_table(pa.table({name: list(values) for name, values in table.items()}), dataset)
    with responses.open("w") as file:
        for row, (name, yes) in enumerate(zip(names, rng.random(rows) < 0.5, strict=True)):
            text = f"{'Yes, there is a' if yes else 'No, there is no'} {name} in image {row}."
            file.write(
                json.dumps({"question_id": row, "question": QUESTION.format(name), "text": text}) + "\n"
            )
    return str(responses), str(dataset)


def descriptions(folder: Path) -> tuple[str, str]:
    """Write descriptions and a dataset of objects; return their paths."""
    rng = random.Random(0)
    dataset, responses = folder / "images.parquet", folder / "descriptions.jsonl"
    objects = [rng.sample(CLASSES, 4) for _ in range(DESCRIPTIONS)]
    table = {"image_id": range(DESCRIPTIONS), "objects": objects}
    parquet.write_table(pa.table({name: list(values) for name, values in table.items()}), dataset)
    with responses.open("w") as file:
        for row in range(DESCRIPTIONS):
            file.write(json.dumps({"image_id": row, "text": description(rng)}) + "\n")
    return str(responses), str(dataset)


if __name__ == "__main__":
    main()
