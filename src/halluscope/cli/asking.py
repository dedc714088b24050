"""Commands that ask models: `answer` an LVLM, `plan` what asking judges will take."""

import warnings
from argparse import ArgumentParser, Namespace
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from halluscope import registry, scoring
from halluscope.benchmark import Benchmark
from halluscope.cli import common
from halluscope.judging.cache import Cache
from halluscope.judging.client import ENDPOINT, sending_nothing
from halluscope.judging.judge import AT_ONCE
from halluscope.judging.planning import VerdictPlan, VotePlan
from halluscope.reporting import requests as tables
from halluscope.reporting.tables import Values
from halluscope.sanitize import one_line
from halluscope.terminal import is_quiet, tell

if TYPE_CHECKING:
    from halluscope.answering.answer import Outlook
    from halluscope.answering.models import Model

# answer


def parser_answer(parser: ArgumentParser, _: None) -> None:
    named = ", ".join(f"{name} ({one.name})" for one in registry.benchmarks() for name in one.prompts)
    parser._option_string_actions["--prompt"].help += f": {named}"  # type: ignore[operator]


def answer(args: Namespace) -> None:
    """Ask an LVLM a benchmark's questions. Everything is checked before the model is loaded or asked."""
    from halluscope.answering import answer as answering
    from halluscope.answering.models import ServedVlm
    from halluscope.answering.sources import open_source

    draws, served = bool(args.sample or args.samples), args.model.startswith(ENDPOINT)
    for name, fits, use in (
        ("seed", draws, "drawn responses only; expected --sample with it"),
        ("temperature", draws, "drawn responses only; expected --sample with it"),
        ("at_once", served, "models behind a server ('openai:NAME@URL')"),
        ("device", not served, "models on this machine"),
        ("workers", not served, "models on this machine"),
    ):
        if getattr(args, name) is not None and not fits:
            raise ValueError(f"--{name.replace('_', '-')} is for {use}.")
    drawn = {name: getattr(args, name) for name in ("seed", "temperature")}
    first = answering.Sample(**{name: value for name, value in drawn.items() if value is not None})
    runs = {args.out: first if draws else None}
    if args.samples:
        seeds = range(first.seed, first.seed + args.samples)
        runs = {args.out.with_stem(f"{args.out.stem}-seed{n}"): replace(first, seed=n) for n in seeds}
    source = open_source(args.dataset, args.images, keep=args.batch_size)
    asked = {name: getattr(args, name) for name in ("prompt", "max_new_tokens", "first", "limit")}
    if args.plan:
        for out, sample in runs.items():
            outlook = answering.plan(source, out, sample=sample, **asked)
            tell(f"{one_line(out)}: {_told(outlook)}")
        return
    model = cache(lambda: _model(args, draws))
    for out, sample in runs.items():
        added = answering.answer(
            model, source, out, sample=sample, batch_size=args.batch_size, progress=not is_quiet(), **asked
        )
        tell(f"{one_line(out)}: {added:,} responses added")
    if args.samples:
        files, dataset = (one_line(" ".join(map(str, names))) for names in (runs, [args.dataset]))
        command = f"halluscope score {source.benchmark.name} --responses {files} --dataset {dataset}"
        tell(f"Each file is scored as a model of its own: {command}")
    if isinstance(asked_of := model(), ServedVlm):
        asked_of.check_complete()


def _told(outlook: "Outlook") -> str:
    how = "by the server's counts so far"
    if not outlook.is_measured:
        how = "4 characters a token, without the images' tokens, and each response as long as it may be"
    return (
        f"{outlook.requests:,} requests to send, {outlook.done:,} responses there; about {outlook.read:,.0f} tokens "
        f"read and {outlook.said:,.0f} generated ({how})"
    )


def _model(args: Namespace, draws: bool) -> "Model":
    from halluscope.answering.models import ServedVlm, Vlm, Workers

    if args.model.startswith(ENDPOINT):
        return ServedVlm(args.model, args.at_once or AT_ONCE).probe(draws)
    if args.workers:
        return Workers(args.model, args.device, args.workers)
    return Vlm(args.model, args.device)


def _judges(benchmark: Benchmark, options: Values) -> list[str]:
    """Return the names of the benchmark's judges, the user's or the default ones."""
    assert benchmark.judges, "only benchmarks with judges have the command"
    named = options.get(benchmark.judges.option, benchmark.judges.default)
    return [named] if isinstance(named, str) else [*named]


# plan


def plan(args: Namespace) -> None:
    """Score the files of responses one after the other without a judge, and note what it would be asked."""
    benchmark = registry.benchmark(args.name)
    assert benchmark.judges, "only benchmarks with judges have the command"
    options = common.options_of(args, benchmark)
    judges, fresh = _judges(benchmark, options), options.pop("fresh", False)
    noting = {"bootstrap": 0, "max_failed": 1, "progress": False}
    kept = Cache(getattr(args, "store", None), "refresh" if fresh else "read")
    with closing(kept), sending_nothing():
        noted: VerdictPlan | VotePlan
        if benchmark.is_graded:
            (judge,) = judges
            if not judge or judge in benchmark.judges.rules:
                raise ValueError(
                    f"--judge is {judge or 'missing'}; expected a language model: {ENDPOINT}MODEL[@URL], or a local "
                    "model."
                )
            noted = VerdictPlan(judge, kept, options.get("device"))
            options["judge"] = noted.grader
        else:
            noted = VotePlan(kept)
        ready = common.ready(args, benchmark, options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scoring gives these warnings
            for one, chosen in product(ready, scoring.variants(benchmark, options)):
                scoring.compute(benchmark, one, chosen | noting | {"store": noted})
        found = noted.plan()
    common.output(args, tables.listed_plan(found), lambda: tables.plan_report(found))
