"""The demo: eight embedded descriptions, read by rules, and what was found wrong in each."""

import json
from importlib import resources

from halluscope.benchmarks.throne import report
from halluscope.benchmarks.throne.metric import compute
from halluscope.reporting.formats import TABLE, written


def show() -> str:
    """Score the embedded descriptions; the result as text."""
    lines = resources.files(__package__).joinpath("demo.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    result = compute(
        [row["response"] for row in rows],
        [row["objects"] for row in rows],
        judges="lexical",
        bootstrap=1000,
        per_image=True,
    )
    found = [
        ", ".join(f"{kind} {', '.join(seen[kind])}" for kind in ("hallucinated", "missed") if seen[kind])
        for seen in result["per_image"]
    ]
    return "\n".join(
        [
            "THRONE on eight descriptions, in percent\n",
            written([report.table([("demo", result)])], TABLE)[0],
            "",
            *(
                f"image {row['image_id']}: {said or 'nothing wrong'}"
                for row, said in zip(rows, found, strict=True)
            ),
            "",
            *report.remarks(result),
        ]
    )
