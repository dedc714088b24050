"""`halluscope answer`: asks a vision-language model a benchmark's questions, without a harness."""

import argparse

from halluscope import registry
from halluscope.arguments import number
from halluscope.cli import common
from halluscope.sanitize import one_line
from halluscope.terminal import is_quiet, tell


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    option = parser.add_argument
    named = ", ".join(f"{name} ({one.name})" for one in registry.benchmarks() for name in one.prompts)
    option(
        "--model",
        required=True,
        help="the model, which takes images and text: a folder or a Hub id (org/name@revision)",
    )
    option(
        "--dataset", required=True, help="a built dataset's folder or a Hub id; name:config picks a config"
    )
    option(
        "--out",
        required=True,
        **common.FILE,
        help="write the responses here; if the file exists, go on with it",
    )
    option("--images", metavar="FOLDER", help="the image files, if the dataset was built without them")
    option(
        "--prompt",
        metavar="TEXT",
        help=f"what to ask instead, with {{question}} for the question; or a prompt's name: {named}",
    )
    option("--max-new-tokens", **common.COUNT, help="how long a response may be (default: by benchmark)")
    option("--sample", action="store_true", help="draw responses at random (default: the likeliest one)")
    option("--seed", **common.COUNT, help="seed of the draws (default: 0); another seed is another run")
    option("--temperature", type=number, metavar="T", help="temperature of the draws (default: 1)")
    option(
        "--first",
        metavar="TEXT",
        help="ask this in a turn before the question; the response is shown to the model, and kept as `first`",
    )
    option("--batch-size", **common.COUNT, default=8, help="how many prompts run at a time (default: 8)")
    option("--limit", **common.COUNT, help="ask only the first N questions")
    option(
        "--device", help="where the model runs: cuda:1, cpu, auto for all GPUs, ... (default: a GPU if any)"
    )


def run(options: argparse.Namespace) -> None:
    """Check everything before the model is loaded."""
    from halluscope.answering.answer import answer
    from halluscope.answering.sources import open_source
    from halluscope.answering.vlm import Sample, Vlm

    drawn = {"seed": options.seed, "temperature": options.temperature}
    given = {name: value for name, value in drawn.items() if value is not None}
    if given and not options.sample:
        raise ValueError(f"--{next(iter(given))} is for drawn responses only; expected --sample with it.")
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
    tell(f"{one_line(options.out)}: {added:,} responses added")
