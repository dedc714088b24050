"""Times whole commands as a user types them, in processes of their own, and says how they grow.

    python perf/bench_commands.py [--rows 10000 100000 1000000]

The baseline of `halluscope score` on yes/no questions is a short script that reads the same two files with json and
pyarrow, joins them by id, and counts by POPE's rule. That of the descriptions is the plain search of bench_lexical.py
over the same file. An import is compared with numpy's, after `import halluscope`.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bench_lexical import SENTENCES
from halluscope.vocabularies import load
from timing import record, seconds

ROWS, DESCRIPTIONS, ROUNDS = (9_000, 400_000), 5_000, 3
CLASSES = load("coco").classes
QUESTION = "Is there a {} in the image?"

PLAIN = """
import json, sys
from pyarrow import parquet
table = parquet.read_table(sys.argv[2], columns=["question_id", "answer"])
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS, help="numbers of yes/no questions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in options.rows:
            responses, dataset = questions(folder, rows)
            against(
                f"score pope, {rows:,} rows",
                ["score", "pope", "--responses", responses, "--dataset", dataset],
                ["-c", PLAIN, responses, dataset],
                "a script that reads and counts",
            )
        responses, dataset = descriptions(folder)
        against(
            f"score throne, {DESCRIPTIONS:,} descriptions, lexical judge",
            ["score", "throne", "--responses", responses, "--dataset", dataset, "--judges", "lexical"],
            ["-c", SEARCH, responses],
            "one regular expression per class and text",
        )
    against("list", ["list"], ["-c", "import numpy"], "starting Python with numpy")
    for module in ("pope", "throne", "chair"):
        metric = f"import halluscope, halluscope.benchmarks.{module}.metric"
        ratio(
            "import of the metric " + module,
            ["-c", metric],
            ["-c", "import halluscope, numpy"],
            "numpy's import",
        )


def against(name: str, command: list[str], baseline: list[str], what: str) -> None:
    """Compare a command of halluscope with a baseline."""
    ratio(name, ["-m", "halluscope", *command], baseline, what)


def ratio(name: str, command: list[str], baseline: list[str], what: str) -> None:
    """Run two Python processes in turn; print the best times, their ratio, and the peak memory so far."""
    pairs = [(seconds(partial(start, command)), seconds(partial(start, baseline))) for _ in range(ROUNDS)]
    mine, theirs = (min(times) for times in zip(*pairs, strict=True))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    print(
        f"{name}: {mine:.2f} s; {what}: {theirs:.2f} s; {theirs / mine:.2f} times as fast; at most {peak:.2f} GB"
    )
    record(name, theirs / mine, what)


def start(arguments: list[str]) -> None:
    """Run Python with these arguments, without its output."""
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


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
            many = rng.randint(4, 14)
            text = " ".join(rng.choice(SENTENCES).format(*rng.sample(CLASSES, 2)) for _ in range(many))
            file.write(json.dumps({"image_id": row, "text": text}) + "\n")
    return str(responses), str(dataset)


if __name__ == "__main__":
    main()
