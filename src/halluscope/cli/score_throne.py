"""`halluscope score throne`: free-form descriptions against the objects of their images."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope import report
from halluscope.judges.replay import ReplayJudge
from halluscope.metrics import throne
from halluscope.records import Responses, match, read_labels, read_responses


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    option = parser.add_argument
    option(
        "--responses",
        nargs="+",
        required=True,
        metavar="FILE",
        help="JSON lines with image_id and the LVLM's text",
    )
    option(
        "--labels",
        required=True,
        help="a dataset, a COCO annotation file, or a JSON file of image id -> class names",
    )
    option(
        "--judges",
        nargs="+",
        default=["flan-t5"],
        help="flan-t5, lexical, replay:FILE, models (Hub ids, folders)",
    )
    option("--questions", nargs="+", default=["paper"], help="paper, released, or templates with {a/an} {x}")
    option("--agreement", default="unanimous", help="unanimous, majority, or how many votes must agree")
    option("--vocabulary", default="coco", help="whose classes are asked about (default: coco)")
    option(
        "--beta", type=float, default=0.5, help="the weight of recall against precision in F (default: 0.5)"
    )
    option(
        "--ask",
        default="needed",
        choices=["needed", "all"],
        help="ask only what can move a score, or everything",
    )
    option(
        "--class-f",
        default="of_means",
        choices=["of_means", "mean"],
        help="F of class averages, or averaged F",
    )
    option(
        "--all-average", default="pooled", choices=["pooled", "image"], help="over all cells, or over images"
    )
    option("--bootstrap", type=int, default=1000, metavar="N", help="resamples for the interval; 0 for none")
    option("--seed", type=int, default=0, help="of the bootstrap")
    option("--limit", type=int, metavar="N", help="score only the first N responses of each file")
    option("--device", help="where language models run, such as cuda:1 (default: a GPU if there is one)")
    option(
        "--store",
        metavar="FILE",
        help="where answers are kept (default: $HALLUSCOPE_STORE or the user's cache)",
    )
    option("--per-class", action="store_true", help="also a table of the classes")
    option("--per-image", metavar="FILE", help="write what was found, hallucinated and missed in each image")
    option("--json", action="store_true", help="print JSON instead of tables")
    option("--style", default="simple", help="of the tables, as tabulate names them: simple, github, ...")
    option("--quiet", action="store_true", help="no progress bars")


def run(options: argparse.Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is judged."""
    sets = [read_responses(path, options.limit) for path in options.responses]
    labels = read_labels(options.labels)
    references = [match(responses, labels) for responses in sets]
    results: list[tuple[str, dict[str, Any]]] = []
    for responses, objects in zip(sets, references, strict=True):
        if len(objects) < len(labels):
            print(
                f"{responses.name}: {len(objects)} of {len(labels)} labelled images are scored.",
                file=sys.stderr,
            )
        results.append((responses.name, _score(responses, objects, options)))
    if options.per_image:
        _write_images(Path(options.per_image), sets, results)
    if options.json:
        print(report.to_json(results))
        return
    print(report.throne_table(results, options.style))
    for name, result in results:
        print("\n".join([f"\n{name}", *(f"  {line}" for line in report.remarks(result))]))
        if options.per_class:
            print(report.class_table(result, options.style))


def _score(responses: Responses, objects: list[Sequence[str]], options: argparse.Namespace) -> dict[str, Any]:
    return throne.compute(
        responses.texts,
        objects,
        vocabulary=options.vocabulary,
        judges=[_judge(name) for name in options.judges],
        questions=options.questions if "{x}" in options.questions[0] else options.questions[0],
        agreement=int(options.agreement) if options.agreement.isdigit() else options.agreement,
        beta=options.beta,
        ask=options.ask,
        class_f=options.class_f,
        all_average=options.all_average,
        bootstrap=options.bootstrap,
        seed=options.seed,
        image_ids=responses.image_ids,
        per_class=options.per_class,
        per_image=bool(options.per_image),
        device=options.device,
        store=options.store,
        progress=not options.quiet,
    )


def _judge(name: str) -> str | ReplayJudge:
    return ReplayJudge.read(name.removeprefix("replay:")) if name.startswith("replay:") else name


def _write_images(path: Path, sets: list[Responses], results: list[tuple[str, dict[str, Any]]]) -> None:
    """Move the per-image rows out of the results into a file of JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for responses, (name, result) in zip(sets, results, strict=True):
            for image_id, row in zip(responses.image_ids, result.pop("per_image"), strict=True):
                file.write(json.dumps({"responses": name, "image_id": image_id} | row) + "\n")
