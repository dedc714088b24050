"""Asks an LVLM a benchmark's questions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from halluscope.cli.parameters import Decimal, File, Whole
from halluscope.cli.responses import words_of_judge
from halluscope.judging.client import ENDPOINT
from halluscope.judging.judge import AT_ONCE
from halluscope.sanitize import one_line, typed
from halluscope.terminal import is_quiet, tell

if TYPE_CHECKING:
    from halluscope.answering.answer import Outlook, Sample
    from halluscope.answering.models import Model


@dataclass(frozen=True)
class Draws:
    """Whether responses are drawn at random, how many, and how. None is for what the user left open."""

    is_wanted: bool
    seed: int | None
    temperature: float | None
    count: int | None

    def runs(self, out: Path) -> dict[Path, "Sample | None"]:
        """Return the draws by the files of their responses; None for the likeliest response."""
        from halluscope.answering.answer import Sample

        if not self.is_wanted:
            return {out: None}
        first = Sample()
        if self.seed is not None:
            first = replace(first, seed=self.seed)
        if self.temperature is not None:
            first = replace(first, temperature=self.temperature)
        if not self.count:
            return {out: first}
        runs: dict[Path, Sample | None] = {}
        for seed in range(first.seed, first.seed + self.count):
            runs[out.with_stem(f"{out.stem}-seed{seed}")] = replace(first, seed=seed)
        return runs


def answer(
    *,
    model: Annotated[str, Parameter(metavar="MODEL")],
    dataset: Annotated[str, Parameter(metavar="DATASET")],
    out: File,
    images: Annotated[str | None, Parameter(metavar="FOLDER")] = None,
    prompt: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    first: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    max_new_tokens: Whole | None = None,
    limit: Whole | None = None,
    sample: bool = False,
    samples: Whole | None = None,
    seed: Whole | None = None,
    temperature: Annotated[Decimal | None, Parameter(metavar="T")] = None,
    batch_size: Whole = 8,
    device: Annotated[str | None, Parameter(metavar="DEVICE")] = None,
    workers: Whole | None = None,
    at_once: Whole | None = None,
    plan: bool = False,
) -> None:
    """Ask an LVLM a benchmark's questions. Everything is checked before the model is loaded or asked.

    Args:
        model: the model, which takes images and text: a folder or a Hub id (org/name@revision), or openai:NAME@URL for
            one behind a server (vLLM, SGLang, llama.cpp, ...)
        dataset: a built dataset's folder or a Hub id; name:config picks a config
        out: write the responses here; if the file exists, go on with it
        images: the image files, if the dataset was built without them
        prompt: what to ask instead, with {question} for the question; or the name of a prompt (`halluscope list NAME`
            shows them)
        first: ask this in a turn before the question; the response is shown to the model, and kept as `first`
        max_new_tokens: how long a response may be (default: by benchmark)
        limit: ask only the first N questions
        sample: draw responses at random (default: the likeliest one)
        samples: draw N responses to each question, with N seeds, each in a file of its own
        seed: seed of the draws (default: 0); another seed is another run
        temperature: temperature of the draws (default: 1)
        batch_size: how many prompts run at a time (default: 8)
        device: where the model runs: cuda:1, cpu, auto for all GPUs, ... (default: a GPU if any)
        workers: run the model in N processes, each on a GPU if there are any (extra `ray`)
        at_once: the most requests to a server at a time (default: 32)
        plan: say how many requests and tokens this will take, and ask nothing
    """
    from halluscope.answering import answer as answering
    from halluscope.answering.models import ServedVlm
    from halluscope.answering.sources import open_source

    if samples is not None and samples < 1:
        raise ValueError(f"--samples is {samples}; expected how many responses to each question, 1 or more.")
    draws = Draws(bool(sample or samples), seed, temperature, samples)
    is_served = model.startswith(ENDPOINT)
    if not draws.is_wanted:
        use = "drawn responses only; expected --sample with it"
        _refuse({"seed": seed, "temperature": temperature}, use)
    if is_served:
        _refuse({"device": device, "workers": workers}, "models on this machine")
    else:
        _refuse({"at_once": at_once}, "models behind a server ('openai:NAME@URL')")
    runs = draws.runs(out)
    source = open_source(dataset, images, keep=batch_size)
    questions: dict[str, Any] = {
        "prompt": prompt,
        "max_new_tokens": max_new_tokens,
        "first": first,
        "limit": limit,
    }
    if plan:
        for file, draw in runs.items():
            outlook = answering.plan(source, file, sample=draw, **questions)
            tell(f"{one_line(file)}: {_told(outlook)}")
        return
    load = cache(lambda: _model(model, device, workers, at_once, draws.is_wanted))
    for file, draw in runs.items():
        added = answering.answer(
            load, source, file, sample=draw, batch_size=batch_size, progress=not is_quiet(), **questions
        )
        tell(f"{one_line(file)}: {added:,} responses added.")
    loaded = load()
    if isinstance(loaded, ServedVlm):
        loaded.check_complete()
    command = ["score", source.dataset.name, "--responses"]
    command += [str(file) for file in runs]
    command += ["--dataset", dataset, "--out", "runs/mine"]
    command += words_of_judge(source.benchmark)
    if limit:
        command += ["--limit", str(limit)]
    step = f"Next: `{typed(command)}` scores the responses."
    if samples:
        step += " Each file is scored as a model of its own."
    tell(step)


def _refuse(options: Mapping[str, Any], use: str) -> None:
    """Refuse options that cannot matter, because they are for another `use`."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for {use}.")


def _told(outlook: "Outlook") -> str:
    basis = "by the server's counts so far"
    if not outlook.is_measured:
        basis = "4 characters a token, without the images' tokens, and each response as long as it may be"
    return (
        f"{outlook.requests:,} requests to send, {outlook.done:,} responses there; about {outlook.read:,.0f} tokens "
        f"read and {outlook.said:,.0f} generated ({basis})"
    )


def _model(name: str, device: str | None, workers: int | None, at_once: int | None, draws: bool) -> "Model":
    from halluscope.answering.models import ServedVlm, Vlm, Workers

    if name.startswith(ENDPOINT):
        if at_once is None:
            at_once = AT_ONCE
        return ServedVlm(name, at_once).probe(draws)
    if workers:
        return Workers(name, device, workers)
    return Vlm(name, device)
