"""`halluscope score chair`: captions against the objects of their images, word by word."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabulate import tabulate

from halluscope.captions import synonyms
from halluscope.cli import common
from halluscope.cli.common import Results
from halluscope.metrics import chair
from halluscope.records.presence import read_labels
from halluscope.report import percent, to_json

COLUMNS = ("chair_s", "chair_i", "recall")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    common.add_responses(parser, ("throne_coco",))
    option = parser.add_argument
    option("--labels", help="a dataset, or a JSON file of image id -> class names; or else:")
    option("--instances", metavar="FILE", help="COCO's instances_*.json, with --captions")
    option("--captions", metavar="FILE", help="COCO's captions_*.json, of the same images")
    option(
        "--synonyms", metavar="FILE", help="the official synonym list (default: fetched once, and checked)"
    )
    option("--allow-other-synonyms", action="store_true", help="accept a list with another checksum")
    common.add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is scored."""
    matched = common.read(options, _labels(options))
    results: Results = []
    for responses, objects in matched:
        result = chair.compute(
            responses.texts,
            objects,
            synonyms=options.synonyms,
            allow_other_synonyms=options.allow_other_synonyms,
            bootstrap=options.bootstrap,
            seed=options.seed,
            image_ids=responses.image_ids,
            per_image=bool(options.per_image),
        )
        results.append((responses.name, result))
    if options.per_image:
        common.write_images(
            Path(options.per_image), [responses.image_ids for responses, _ in matched], results
        )
    print(to_json(results) if options.json else _table(results, options.style))


def _labels(options: argparse.Namespace) -> Mapping[int, list[str]]:
    """The objects of the images, from one of the two ways to name them."""
    files = [options.instances, options.captions]
    if bool(options.labels) == any(files) or any(files) != all(files):
        raise ValueError("Expected either --labels, or both --instances and --captions.")
    if options.labels:
        return read_labels(options.labels)
    from halluscope.building.ground_truth import ground_truth

    listed = synonyms.load(options.synonyms, options.allow_other_synonyms)
    return ground_truth(options.instances, options.captions, listed)


def _table(results: Results, style: str) -> str:
    """One row a file, in percent, and the signatures below; with the interval where there is one."""
    header = [
        "responses",
        *COLUMNS,
        "words",
        *(f"{name} interval" for name in COLUMNS if _has_interval(results)),
    ]
    rows = [
        [
            name,
            *(percent(result[column]) for column in COLUMNS),
            f"{result['mean_words']:.1f}",
            *_intervals(result),
        ]
        for name, result in results
    ]
    alignment = ["left"] + ["right"] * (len(header) - 1)
    table = tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=alignment)
    signatures = {name: [f"signature: {result['signature']}"] for name, result in results}
    return f"{table}\n{common.below(signatures)}"


def _has_interval(results: Results) -> bool:
    return "interval" in results[0][1]


def _intervals(result: Mapping[str, Any]) -> list[str]:
    return [" to ".join(map(percent, result["interval"][name])) for name in COLUMNS if "interval" in result]
