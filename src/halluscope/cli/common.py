"""What the score commands share: options, the scored images' count, per-image files."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.records.presence import Responses, match, read_responses

Results = list[tuple[str, dict[str, Any]]]
"""The name of what was scored, and its result."""


def add_responses(parser: argparse.ArgumentParser) -> None:
    """Options that name files of responses, one text an image."""
    option = parser.add_argument
    option(
        "--responses",
        nargs="+",
        required=True,
        metavar="FILE",
        help="JSON lines with image_id and the LVLM's text",
    )
    option("--limit", type=int, metavar="N", help="score only the first N responses of each file")
    option("--per-image", metavar="FILE", help="write what is right and wrong in each image, as JSON lines")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Options of intervals and of what is printed."""
    option = parser.add_argument
    option("--bootstrap", type=int, default=1000, metavar="N", help="resamples for the interval; 0 for none")
    option("--seed", type=int, default=0, help="of the bootstrap")
    option("--json", action="store_true", help="print JSON instead of tables")
    option("--style", default="simple", help="of the tables, as tabulate names them: simple, github, ...")


def read(
    files: Sequence[str], limit: int | None, labels: Mapping[int, Sequence[str]]
) -> list[tuple[Responses, list[Sequence[str]]]]:
    """Read and match all files before the first is scored; say where not all labelled images are."""
    sets = [read_responses(file, limit) for file in files]
    matched = [(responses, match(responses, labels)) for responses in sets]
    for responses, objects in matched:
        if len(objects) < len(labels):
            print(
                f"{responses.name}: {len(objects)} of {len(labels)} labelled images are scored.",
                file=sys.stderr,
            )
    return matched


def write_images(path: Path, image_ids: Sequence[Sequence[int]], results: Results) -> None:
    """Move the per-image rows out of the results into a file of JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for ids, (name, result) in zip(image_ids, results, strict=True):
            for image_id, row in zip(ids, result.pop("per_image"), strict=True):
                file.write(json.dumps({"responses": name, "image_id": image_id} | row) + "\n")


def below(remarks: Mapping[str, Sequence[str]]) -> str:
    """What stands below a table: the remarks on each result, those that are the same once."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, lines in remarks.items():
        names.setdefault(tuple(lines), []).append(name)
    return "\n".join(
        "\n".join([f"\n{', '.join(of)}", *(f"  {line}" for line in lines)]) for lines, of in names.items()
    )
