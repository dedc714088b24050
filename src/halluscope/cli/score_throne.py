"""`halluscope score throne`: free-form descriptions against the objects of their images."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope import published, report, vocabularies
from halluscope.cli import common
from halluscope.judges.engine import ENGINES
from halluscope.judges.replay import ReplayJudge
from halluscope.metrics import throne
from halluscope.records.object_questions import ObjectQuestion, cells
from halluscope.records.presence import Responses, read_labels
from halluscope.records.question_answers import read_questions


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    common.add_responses(parser, ("throne_coco", "throne_objects365"))
    option = parser.add_argument
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
    option("--vocabulary", default="coco", help="whose classes are asked about: coco (default) or objects365")
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
    option(
        "--cells", nargs="+", metavar="QUESTIONS", help="also score only what these POPE questions ask about"
    )
    option("--compare", action="store_true", help="among the paper's results (Tables 1 and 2)")
    option("--per-class", action="store_true", help="also a table of the classes")
    option(
        "--engine", default="torch", choices=ENGINES, help="what runs language models; int8 changes answers"
    )
    option(
        "--recheck",
        type=float,
        default=0.0,
        metavar="LOGITS",
        help="ask int8 answers by a smaller lead than this again in float32",
    )
    option("--workers", type=int, default=0, help="how many processes share the work, each on its own GPU")
    common.add_running(parser)
    common.add_output(parser)


def run(options: argparse.Namespace) -> None:
    """Score one or more files of responses; all are read and matched before the first is judged."""
    matched = common.read(options, read_labels(options.labels))
    asked = [question for source in options.cells or () for question in read_questions(source)]
    results = [(responses.name, _score(responses, objects, asked, options)) for responses, objects in matched]
    if options.per_image:
        common.write_images(
            Path(options.per_image), [responses.image_ids for responses, _ in matched], results
        )
    shown = published.among(results, f"throne_{options.vocabulary}") if options.compare else results
    if options.json:
        print(report.to_json(shown))
        return
    print(report.throne_table(shown, options.style))
    print(common.below({name: report.remarks(result) for name, result in results}))
    for name, result in results if options.per_class else ():
        print(f"\n{name}\n{report.class_table(result, options.style)}")


def judging(options: argparse.Namespace) -> dict[str, Any]:
    """Who is asked what, and how: what scoring and planning have in common."""
    return {
        "vocabulary": options.vocabulary,
        "judges": [_judge(name) for name in options.judges],
        "questions": _questions(options.questions),
        "agreement": int(options.agreement) if options.agreement.isdecimal() else options.agreement,
        "ask": options.ask,
        "engine": options.engine,
        "recheck": options.recheck,
        "workers": options.workers,
    }


def _score(
    responses: Responses,
    objects: list[Sequence[str]],
    asked: list[ObjectQuestion],
    options: argparse.Namespace,
) -> dict[str, Any]:
    return throne.compute(
        responses.texts,
        objects,
        **judging(options),
        beta=options.beta,
        class_f=options.class_f,
        all_average=options.all_average,
        bootstrap=options.bootstrap,
        seed=options.seed,
        cells=cells(asked, responses.image_ids, vocabularies.load(options.vocabulary)) if asked else None,
        image_ids=responses.image_ids,
        per_class=options.per_class,
        per_image=bool(options.per_image),
        **common.running(options),
    )


def _questions(given: list[str]) -> str | list[str]:
    """The name of a set, or templates."""
    return given[0] if len(given) == 1 and "{x}" not in given[0] else given


def _judge(name: str) -> str | ReplayJudge:
    return ReplayJudge.read(name.removeprefix("replay:")) if name.startswith("replay:") else name
