"""Counts how often the lexical judge is wrong, against labels made without knowledge of its rules.

`lexical_labels.jsonl` lists, for 100 real descriptions by five LVLMs, the COCO classes that each text implies to be
in the image, and the unclear ones, which are left out. One reader (a language model that read each text twice, with no
access to the rules or their word table) made the labels; the texts are not in this repository.

`lexical_cases*.jsonl` hold hard cases by writers who did not know the rules: a text, a class, whether the text says
that the class is in the image, and what makes the case hard. The rules were developed on the 750 cases of
`lexical_cases.jsonl`, in five batches of 150. Each batch was scored before anyone looked at it: 131 cases of the second
batch were right, 131 of the third, 122 of the fourth (whose writer was asked for harder cases) and 138 of the fifth.
The 150 cases of `lexical_cases_unread.jsonl` have never been looked at: only their totals are known. The present rules
judge 138 correctly, as those before them did.

    python perf/lexical_errors.py FOLDER      # FOLDER holds the response files that the labels name
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope.judging.lexical import LexicalJudge
from halluscope.vocabularies import load

LABELS = Path(__file__).with_name("lexical_labels.jsonl")
CASES = {
    "development": Path(__file__).with_name("lexical_cases.jsonl"),
    "unread": Path(__file__).with_name("lexical_cases_unread.jsonl"),
}
COCO = load("coco")


def main(argv: Sequence[str] | None = None) -> None:
    """Print precision and recall of the judge's yes votes, and those of plain word matching."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="name each error")
    options = parser.parse_args(argv)
    rows = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    print("\n".join(measure(rows, options.folder, options.show)))
    for name, path in CASES.items():
        print(f"\nHard cases read correctly, out of all in the {name} set:")
        print("\n".join(right_of_all([json.loads(line) for line in path.read_text("utf-8").splitlines()])))


def measure(rows: list[dict[str, Any]], folder: Path, show: bool = False) -> list[str]:
    """Return lines that say how often each way of reading is right."""
    judge = LexicalJudge(COCO)
    counts: dict[str, Counter[str]] = {"rules": Counter(), "words alone": Counter()}
    errors = []
    for row in rows:
        mentions = judge.mentions(_text(row, folder))
        said = {
            "rules": {mention.object for mention in mentions if mention.implied},
            "words alone": {mention.object for mention in mentions},
        }
        for way, found in said.items():
            found = found - set(row["unsure"])
            counts[way] += Counter(
                true=len(found & set(row["objects"])), said=len(found), implied=len(row["objects"])
            )
        wrong = (said["rules"] ^ set(row["objects"])) - set(row["unsure"])
        errors += [f"  {row['file']}, line {row['line']}: {name}" for name in sorted(wrong)]
    lines = [
        f"The lexical judge on {len(rows)} descriptions with {counts['rules']['implied']} implied objects:"
    ]
    for way, count in counts.items():
        precision, recall = count["true"] / count["said"], count["true"] / count["implied"]
        lines.append(
            f"- {way}: {count['said'] - count['true']} false yes, {count['implied'] - count['true']} false no; "
            f"precision {100 * precision:.1f} %, recall {100 * recall:.1f} %"
        )
    return lines + (errors if show else [])


def right_of_all(rows: list[dict[str, str]]) -> list[str]:
    """Return lines that say, for each kind of hard case, how many are read correctly."""
    judge = LexicalJudge(COCO)
    right: Counter[str] = Counter()
    for row in rows:
        said = any(found.implied and found.object == row["class"] for found in judge.mentions(row["text"]))
        right[row["kind"]] += said == (row["answer"] == "yes")
    of = Counter(row["kind"] for row in rows)
    return [f"- {kind}: {right[kind]}/{of[kind]}" for kind in sorted(of)] + [
        f"- all: {right.total()}/{of.total()}"
    ]


def _text(row: dict[str, Any], folder: Path) -> str:
    with (folder / row["file"]).open(encoding="utf-8") as file:
        line = next(line for number, line in enumerate(file, 1) if number == row["line"])
    text = str(json.loads(line)["caption"])
    if hashlib.sha256(text.encode()).hexdigest() != row["text_sha256"]:
        raise SystemExit(
            f"{row['file']}, line {row['line']}: not the labelled text (another sha256). See docs/results.md."
        )
    return text


if __name__ == "__main__":
    main()
