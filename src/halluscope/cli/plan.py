"""Says what scoring would ask judges, and asks nothing: `score --plan`."""

import warnings
from collections.abc import Sequence
from contextlib import closing

from halluscope import scoring
from halluscope.cli.printing import Output
from halluscope.cli.responses import Chosen
from halluscope.judging.cache import Cache
from halluscope.judging.client import ENDPOINT, sending_nothing
from halluscope.judging.planning import VerdictPlan, VotePlan
from halluscope.options import Option
from halluscope.reporting import requests as tables

PLAN = Option(
    "plan",
    "say what judges would be asked (prompts, how many are cached, tokens), and ask nothing",
    flag=True,
)

# What every plan sets: nothing is resampled, and no missing reply is an error
NOTING = {"bootstrap": 0, "max_failed": 1, "progress": False}


def plan_judges(
    choice: Chosen, responses: Sequence[str], dataset: Sequence[str], output: Output, is_fresh: bool
) -> None:
    """Score the files of responses one after the other without a judge, and note what it would be asked.

    If it `is_fresh`, what the cache has will be asked again.
    """
    benchmark = choice.benchmark
    assert benchmark.judges, "only benchmarks with judges have the option"
    cache = Cache(choice.options.get("store"), "refresh" if is_fresh else "read")
    with closing(cache), sending_nothing():
        noting: VerdictPlan | VotePlan
        if benchmark.is_graded:
            judge = choice.options.get("judge", benchmark.judges.default)
            if not judge or judge in benchmark.judges.rules:
                raise ValueError(
                    f"--judge is {judge or 'missing'}; expected a language model: {ENDPOINT}MODEL[@URL], or a local "
                    "model."
                )
            noting = VerdictPlan(judge, cache, choice.options.get("device"))
            choice.options["judge"] = noting.grader
        else:
            noting = VotePlan(cache)
        ready = choice.ready(responses, dataset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scoring gives these warnings
            for model in ready:
                for variant in scoring.variants(benchmark, choice.options):
                    scoring.compute(benchmark, model, variant | NOTING | {"store": noting})
        plan = noting.plan()
    output.show(tables.listed_plan(plan), lambda: tables.plan_report(plan))
