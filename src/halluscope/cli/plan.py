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


def plan_judges(choice: Chosen, responses: Sequence[str], dataset: Sequence[str], output: Output) -> None:
    """Score the files of responses one after the other without a judge, and note what it would be asked."""
    benchmark = choice.benchmark
    if benchmark.judges is None:
        raise ValueError(
            f"--plan says what judges will be asked, but {benchmark.title} has none; leave it out."
        )
    is_fresh = choice.options.pop("fresh", False)
    kept = Cache(choice.options.get("store"), "refresh" if is_fresh else "read")
    with closing(kept), sending_nothing():
        noted: VerdictPlan | VotePlan = VotePlan(kept)
        if benchmark.is_graded:
            judge = choice.options.get("judge", benchmark.judges.default)
            if not judge or judge in benchmark.judges.rules:
                raise ValueError(
                    f"--judge is {judge or 'missing'}; expected a language model: {ENDPOINT}MODEL[@URL], or a local "
                    "model."
                )
            noted = VerdictPlan(judge, kept, choice.options.get("device"))
            choice.options["judge"] = noted.grader
        ready = choice.ready(responses, dataset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scoring gives these warnings
            for model in ready:
                for variant in scoring.variants(benchmark, choice.options):
                    scoring.compute(benchmark, model, variant | NOTING | {"store": noted})
        found = noted.plan()
    output.show(tables.listed_plan(found), lambda: tables.plan_report(found))
