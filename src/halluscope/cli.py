"""The command `halluscope`: build a dataset, score responses, show a demo."""

import argparse
import json
import runpy
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from halluscope import __version__

DONE, FAILED, INTERRUPTED = 0, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; bad input ends in one line on standard error and the exit status 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["build"]:
            return build(arguments[1:])
        options = parser().parse_args(arguments)
        return int(options.run(options))
    except (ValueError, OSError, ImportError) as error:
        print(f"halluscope: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(
            "halluscope: interrupted; answers given so far are kept, and the same command goes on.",
            file=sys.stderr,
        )
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    top = argparse.ArgumentParser(
        prog="halluscope", description="Hallucination benchmarks for vision-language models."
    )
    top.add_argument("--version", action="version", version=f"halluscope {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    demo_ = commands.add_parser("demo", help="score eight embedded descriptions with the lexical judge")
    demo_.set_defaults(run=demo)
    commands.add_parser("build", help="build a dataset: halluscope build NAME --help", add_help=False)
    score = commands.add_parser("score", help="score an LVLM's responses").add_subparsers(
        required=True, metavar="NAME"
    )
    _add_throne(score.add_parser("throne", help="object hallucination in free-form descriptions"))
    return top


def build(arguments: Sequence[str]) -> int:
    """Run a builder script with the rest of the command line."""
    from halluscope.share import share

    known = sorted(script.stem for script in share("builders").glob("*.py"))
    if not arguments or arguments[0] not in known:
        usage = f"usage: halluscope build NAME [options]; NAME is one of {', '.join(known)}"
        if arguments and not arguments[0].startswith("-"):
            raise ValueError(f"There is no dataset {arguments[0]!r} to build. {usage}")
        print(usage)
        return DONE
    script = runpy.run_path(str(share("builders", f"{arguments[0]}.py")))
    return int(script["main"](arguments[1:]) or DONE)


def score_throne(options: argparse.Namespace) -> int:
    """Score one or more files of responses with THRONE."""
    from halluscope import report
    from halluscope.metrics import throne
    from halluscope.records import match, read_labels, read_responses

    sets = [read_responses(path, options.limit) for path in options.responses]
    labels = read_labels(options.labels)
    references = [match(responses, labels) for responses in sets]
    results: list[tuple[str, dict[str, Any]]] = []
    for responses, objects in zip(sets, references, strict=True):
        result = throne.compute(
            responses.texts,
            objects,
            vocabulary=options.vocabulary,
            judges=_judges(options.judges),
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
        results.append((responses.name, result))
        if len(objects) < len(labels):
            print(
                f"{responses.name}: {len(objects)} of {len(labels)} labelled images are scored.",
                file=sys.stderr,
            )
    if options.per_image:
        with Path(options.per_image).open("w", encoding="utf-8") as file:
            for responses, (name, result) in zip(sets, results, strict=True):
                for image_id, row in zip(responses.image_ids, result.pop("per_image"), strict=True):
                    file.write(json.dumps({"responses": name, "image_id": image_id} | row) + "\n")
    if options.json:
        print(report.to_json(results))
        return DONE
    print(report.throne_table(results, options.style))
    for name, result in results:
        print(f"\n{name}")
        print("\n".join(f"  {line}" for line in report.remarks(result)))
        if options.per_class:
            print(report.class_table(result, options.style))
    return DONE


def demo(_: argparse.Namespace) -> int:
    """Score the embedded descriptions, and say what was found wrong in each."""
    from halluscope import report
    from halluscope.metrics import throne

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
    return DONE


def _add_throne(throne: argparse.ArgumentParser) -> None:
    throne.set_defaults(run=score_throne)
    add = throne.add_argument
    add(
        "--responses",
        nargs="+",
        required=True,
        metavar="FILE",
        help="JSON lines with image_id and the LVLM's text",
    )
    add(
        "--labels",
        required=True,
        help="a dataset, a COCO annotation file, or a JSON file of image id -> class names",
    )
    add(
        "--judges",
        nargs="+",
        default=["flan-t5"],
        help="flan-t5, lexical, replay:FILE, models (Hub ids, folders)",
    )
    add("--questions", nargs="+", default=["paper"], help="paper, released, or templates with {a/an} {x}")
    add("--agreement", default="unanimous", help="unanimous, majority, or how many votes must agree")
    add("--vocabulary", default="coco", help="whose classes are asked about (default: coco)")
    add("--beta", type=float, default=0.5, help="the weight of recall against precision in F (default: 0.5)")
    add(
        "--ask",
        default="needed",
        choices=["needed", "all"],
        help="ask only what can move a score, or everything",
    )
    add(
        "--class-f",
        default="of_means",
        choices=["of_means", "mean"],
        help="F of class averages, or averaged F",
    )
    add("--all-average", default="pooled", choices=["pooled", "image"], help="over all cells, or over images")
    add("--bootstrap", type=int, default=1000, metavar="N", help="resamples for the interval; 0 for none")
    add("--seed", type=int, default=0, help="of the bootstrap")
    add("--limit", type=int, metavar="N", help="score only the first N responses of each file")
    add("--device", help="where language models run, such as cuda:1 (default: a GPU if there is one)")
    add(
        "--store",
        metavar="FILE",
        help="where answers are kept (default: $HALLUSCOPE_STORE or the user's cache)",
    )
    add("--per-class", action="store_true", help="also a table of the classes")
    add("--per-image", metavar="FILE", help="write what was found, hallucinated and missed in each image")
    add("--json", action="store_true", help="print JSON instead of tables")
    add("--style", default="simple", help="of the tables, as tabulate names them: simple, github, ...")
    add("--quiet", action="store_true", help="no progress bars")


def _judges(names: Sequence[str]) -> list[Any]:
    from halluscope.judges.replay import ReplayJudge

    return [
        ReplayJudge.read(name.removeprefix("replay:")) if name.startswith("replay:") else name
        for name in names
    ]


if __name__ == "__main__":
    sys.exit(main())
