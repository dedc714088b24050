"""`halluscope demo`: the main job on embedded descriptions."""

import argparse
import json
from importlib import resources

from halluscope import report
from halluscope.metrics import throne


def add(parser: argparse.ArgumentParser) -> None:
    """There are no options."""
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Score the embedded descriptions, and say what was found wrong in each."""
    lines = resources.files("halluscope").joinpath("demo.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    result = throne.compute(
        [row["response"] for row in rows],
        [row["objects"] for row in rows],
        judges="lexical",
        bootstrap=1000,
        per_image=True,
    )
    print("THRONE on eight descriptions, in percent\n")
    print(report.throne_table([("demo", result)]))
    print()
    for row, seen in zip(rows, result["per_image"], strict=True):
        said = ", ".join(
            f"{kind} {', '.join(seen[kind])}" for kind in ("hallucinated", "missed") if seen[kind]
        )
        print(f"image {row['image_id']}: {said or 'nothing wrong'}")
    print()
    print("\n".join(report.remarks(result)))
