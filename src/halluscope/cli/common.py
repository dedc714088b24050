"""What the score commands share: options, the scored images' count, per-image files."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope.judges.chat import MAX_TOKENS
from halluscope.records import samples
from halluscope.records.files import Read, json_rows
from halluscope.records.presence import Responses, match, read_responses

Results = list[tuple[str, dict[str, Any]]]
"""The name of what was scored, and its result."""


def add_files(parser: argparse.ArgumentParser, what: str, tasks: Sequence[str]) -> None:
    """The options that name files: of responses, with `what` in one, or of a harness' samples of these `tasks`."""
    parser.set_defaults(tasks=tasks)
    files = parser.add_mutually_exclusive_group(required=True)
    files.add_argument("--responses", nargs="+", metavar="FILE", help=what)
    files.add_argument(
        "--samples", nargs="+", metavar="FILE", help="what lm-eval or lmms-eval wrote with --log_samples"
    )


def files(options: argparse.Namespace) -> tuple[list[str], Read]:
    """The files that are named, and how their rows are read."""
    if options.samples:
        return options.samples, samples.reader(*options.tasks)
    return options.responses, json_rows


def add_responses(parser: argparse.ArgumentParser, tasks: Sequence[str]) -> None:
    """Options that name files of responses, one text an image."""
    add_files(parser, "JSON lines with image_id and the LVLM's text", tasks)
    option = parser.add_argument
    option("--limit", type=int, metavar="N", help="score only the first N responses of each file")
    option("--per-image", metavar="FILE", help="write what is right and wrong in each image, as JSON lines")


def add_running(parser: argparse.ArgumentParser) -> None:
    """Options of language models that are asked: where they run, and where their answers are kept."""
    option = parser.add_argument
    option("--device", help="where language models run, such as cuda:1 (default: a GPU if there is one)")
    option(
        "--store",
        metavar="FILE",
        help="where their answers are kept (default: $HALLUSCOPE_STORE or the user's cache)",
    )
    option("--quiet", action="store_true", help="no progress bars")


def running(options: argparse.Namespace) -> dict[str, Any]:
    """What `add_running` asked for, as a metric's options."""
    return {"device": options.device, "store": options.store, "progress": not options.quiet}


def add_asking(parser: argparse.ArgumentParser, max_tokens: int = MAX_TOKENS) -> None:
    """Options of language models that give verdicts."""
    option = parser.add_argument
    option("--repeats", type=int, default=1, help="how often a language model judges")
    option("--max-failed", type=float, default=0.02, help="the share of unreadable verdicts that is an error")
    option("--max-tokens", type=int, default=max_tokens, help="how long a language model's reply may be")
    add_running(parser)


def asking(options: argparse.Namespace) -> dict[str, Any]:
    """What `add_asking` asked for, as a metric's options."""
    return running(options) | {
        "repeats": options.repeats,
        "max_failed": options.max_failed,
        "max_tokens": options.max_tokens,
    }


def add_output(parser: argparse.ArgumentParser) -> None:
    """Options of intervals and of what is printed."""
    option = parser.add_argument
    option("--bootstrap", type=int, default=1000, metavar="N", help="resamples for the interval; 0 for none")
    option("--seed", type=int, default=0, help="of the bootstrap")
    option("--json", action="store_true", help="print JSON instead of tables")
    option("--style", default="simple", help="of the tables, as tabulate names them: simple, github, ...")


def read(
    options: argparse.Namespace, labels: Mapping[int, Sequence[str]]
) -> list[tuple[Responses, list[Sequence[str]]]]:
    """Read and match all files before the first is scored; say where not all labelled images are.

    Raises:
        ValueError: also for a harness' samples of a part, unless only so many are to be scored.
    """
    named, reading = files(options)
    sets = [read_responses(file, options.limit, reading) for file in named]
    matched = [(responses, match(responses, labels)) for responses in sets]
    for responses, objects in matched:
        if len(objects) < len(labels):
            if options.samples and not options.limit:
                raise ValueError(
                    f"{responses.name} holds samples of {len(objects)} of the {len(labels)} labelled images: of a run "
                    f"with a limit, or cut off. Pass --limit {len(objects)} to score them all the same."
                )
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
