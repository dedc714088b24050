"""Counts how often the lexical judge is wrong, against labels made without knowledge of its rules.

`lexical_labels.jsonl` lists, for 100 real descriptions by five LVLMs, the COCO classes that each text implies to be
in the image, and the unclear ones, which are left out. One reader (a language model that read each text twice, with no
access to the rules or their word table) made the labels; the texts are not in this repository.

`lexical_cases*.jsonl` hold hard cases by writers who did not know the rules: a text, a class, whether the text says
that the class is in the image, and what makes the case hard. The rules were developed on the 750 cases of
`lexical_cases.jsonl`, in five batches of 150. Each batch was scored before anyone looked at it: 131 cases of the second
batch were right, 131 of the third, 122 of the fourth (whose writer was asked for harder cases) and 138 of the fifth.
The 150 cases of `lexical_cases_unread.jsonl` have never been looked at: only their totals are known. The present rules
judge 139 correctly; those before them judged 138.

    python perf/lexical_errors.py FOLDER      # FOLDER holds the response files that the labels name
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass
class Counts:
    """Objects in all descriptions together."""

    named: int = 0  # by a way of reading
    implied: int = 0  # by the labels
    both: int = 0

    def add(self, named: set[str], implied: set[str]) -> None:
        self.named += len(named)
        self.implied += len(implied)
        self.both += len(named & implied)

    def line(self, way: str) -> str:
        """Say how often a way of reading is right."""
        precision = self.both / self.named
        recall = self.both / self.implied
        return (
            f"- {way}: {self.named - self.both} false yes, {self.implied - self.both} false no; "
            f"precision {100 * precision:.1f} %, recall {100 * recall:.1f} %"
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Print precision and recall of the judge's yes votes, and those of plain word matching."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="name each error")
    options = parser.parse_args(argv)
    print_errors(read_lines(LABELS), options.folder, options.show)
    for name, path in CASES.items():
        print(f"\nHard cases read correctly, out of all in the {name} set:")
        print_right_cases(read_lines(path))


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def print_errors(rows: Sequence[dict[str, Any]], folder: Path, show: bool = False) -> None:
    """Print how often each way of reading is right."""
    judge = LexicalJudge(COCO)
    by_rules = Counts()
    by_words = Counts()
    errors = []
    for row in rows:
        mentions = judge.mentions(text_of(row, folder))
        unsure = set(row["unsure"])
        implied = set(row["objects"])
        read_by_rules = {mention.object for mention in mentions if mention.implied} - unsure
        by_rules.add(read_by_rules, implied)
        by_words.add({mention.object for mention in mentions} - unsure, implied)
        for name in sorted(read_by_rules ^ implied):
            errors.append(f"  {row['file']}, line {row['line']}: {name}")
    print(f"The lexical judge on {len(rows)} descriptions with {by_rules.implied} implied objects:")
    print(by_rules.line("rules"))
    print(by_words.line("words alone"))
    if show:
        print("\n".join(errors))


def print_right_cases(cases: Sequence[dict[str, str]]) -> None:
    """Print for each kind of hard case how many are read correctly."""
    judge = LexicalJudge(COCO)
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case in cases:
        mentions = judge.mentions(case["text"])
        is_yes = any(mention.implied and mention.object == case["class"] for mention in mentions)
        right[case["kind"]] += is_yes == (case["answer"] == "yes")
        total[case["kind"]] += 1
    for kind in sorted(total):
        print(f"- {kind}: {right[kind]}/{total[kind]}")
    print(f"- all: {right.total()}/{total.total()}")


def text_of(row: dict[str, Any], folder: Path) -> str:
    """Return the text that a label is about."""
    lines = (folder / row["file"]).read_text(encoding="utf-8").split("\n")
    text = str(json.loads(lines[row["line"] - 1])["caption"])
    if hashlib.sha256(text.encode()).hexdigest() != row["text_sha256"]:
        raise SystemExit(
            f"{row['file']}, line {row['line']}: not the labelled text (another sha256). See docs/results.md."
        )
    return text


if __name__ == "__main__":
    main()
