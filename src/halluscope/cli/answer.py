"""`halluscope answer`: a vision-language model's answers to a benchmark, without a harness."""

import argparse
from pathlib import Path

from halluscope import registry
from halluscope.arguments import number, whole
from halluscope.foreign import one_line
from halluscope.terminal import is_quiet, tell


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    option = parser.add_argument
    named = ", ".join(f"{name} ({one.name})" for one in registry.benchmarks() for name in one.prompts)
    option("--model", required=True, help="a folder or a Hub id (org/name@revision), for images and text")
    option(
        "--dataset", required=True, help="a built dataset's folder or a Hub id; name:config picks a config"
    )
    option(
        "--out", required=True, type=Path, metavar="FILE", help="the answers; if it is there, go on with it"
    )
    option("--images", metavar="FOLDER", help="the image files, if the dataset was built without them")
    option(
        "--prompt",
        metavar="TEXT",
        help=f"what to ask instead; {{question}} stands for the question; or a name: {named}",
    )
    option(
        "--max-new-tokens", type=whole, metavar="N", help="how long an answer may be (default: by benchmark)"
    )
    option("--sample", action="store_true", help="draw answers, where otherwise each is the likeliest")
    option("--seed", type=whole, metavar="N", help="of the draws (default: 0); another one is another run")
    option("--temperature", type=number, metavar="T", help="of the draws (default: 1)")
    option(
        "--first",
        metavar="TEXT",
        help="ask this in a turn before the question; the reply is shown to the model, and kept as `first`",
    )
    option("--batch-size", type=whole, default=8, metavar="N", help="prompts at a time (default: 8)")
    option("--limit", type=whole, metavar="N", help="ask only the first N questions")
    option("--device", help="cuda:1, cpu, auto for all GPUs, ... (default: a GPU if there is one)")


def run(options: argparse.Namespace) -> None:
    """Answer; the dataset, the options and the file are checked before the model is loaded."""
    from halluscope.answering.answer import answer
    from halluscope.answering.drawing import Sample
    from halluscope.answering.sources import open_source
    from halluscope.answering.vlm import Vlm

    drawn = {"seed": options.seed, "temperature": options.temperature}
    given = {name: value for name, value in drawn.items() if value is not None}
    if given and not options.sample:
        raise ValueError(f"--{next(iter(given))} is of answers that are drawn; expected --sample with it.")
    sample = Sample(**given) if options.sample else None
    source = open_source(options.dataset, options.images, keep=options.batch_size)
    added = answer(
        lambda: Vlm(options.model, options.device),
        source,
        options.out,
        prompt=options.prompt,
        max_new_tokens=options.max_new_tokens,
        sample=sample,
        first=options.first,
        batch_size=options.batch_size,
        limit=options.limit,
        progress=not is_quiet(),
    )
    tell(f"{one_line(options.out)}: {added:,} answers added")
